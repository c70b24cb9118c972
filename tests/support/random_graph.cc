#include "support/random_graph.h"

#include <cmath>

#include "weft/small_float.h"

namespace weft::test {
namespace {

class Generator {
 public:
  Generator(unsigned seed, DType dtype) : random_(seed), dtype_(dtype) {}

  RandomGraph run() {
    for (int i = 1 + up_to(2); i >= 0; --i) values_.push_back(leaf(shape(up_to(4))));
    for (int i = 4 + up_to(20); i > 0; --i) grow();
    const int outputs = 1 + up_to(3);
    for (int i = 0; i < outputs; ++i) {
      // The last value is always wanted, or most of the graph would be dead.
      Value v = i == 0 ? values_.back() : any();
      if (up_to(4) == 0 && v.rank() >= 2) v = v.T();
      result_.graph.output(std::format("y{}", i), cast(v, DType::f32));
    }
    return std::move(result_);
  }

 private:
  int up_to(int n) { return std::uniform_int_distribution<int>(0, n)(random_); }
  template <class T>
  const T& pick(const std::vector<T>& list) { return list[static_cast<std::size_t>(up_to(static_cast<int>(list.size()) - 1))]; }
  Value any() { return pick(values_); }

  std::int64_t size() { return up_to(60) == 0 ? 0 : pick(std::vector<std::int64_t>{1, 1, 2, 3, 4, 5, 8, 12}); }
  Shape shape(int rank) {
    Shape s;
    for (int i = 0; i < rank; ++i) s.push_back(size());
    return s;
  }

  TensorData random_data(DType dtype, const Shape& shape, int bound = 1) {
    const auto n = static_cast<std::size_t>(element_count(shape));
    if (dtype == DType::boolean) {
      std::vector<std::uint8_t> v(n);
      for (auto& x : v) x = static_cast<std::uint8_t>(up_to(1));
      return TensorData::copy_of(dtype, shape, std::as_bytes(std::span(v)));
    }
    if (dtype == DType::i32) {
      std::vector<std::int32_t> v(n);
      for (auto& x : v) x = up_to(bound - 1);
      return TensorData::of<std::int32_t>(dtype, shape, v);
    }
    std::vector<float> v(n);
    std::uniform_real_distribution<float> d(-1.5f, 1.5f);
    for (auto& x : v) x = d(random_);
    if (dtype == DType::f32) return TensorData::of<float>(dtype, shape, v);
    std::vector<std::uint16_t> narrow;
    for (const float x : v) narrow.push_back(dtype == DType::f16 ? float16(x).bits : bfloat16(x).bits);
    return TensorData::of<std::uint16_t>(dtype, shape, narrow);
  }

  // An input or a constant.
  Value leaf(const Shape& shape) { return leaf(shape, dtype_); }
  Value leaf(const Shape& shape, DType dtype, int bound = 1) {
    TensorData data = random_data(dtype, shape, bound);
    if (up_to(2) == 0) return result_.graph.constant(std::move(data));
    const std::string name = std::format("x{}", result_.inputs.size());
    result_.inputs.emplace(name, data);
    return result_.graph.input(name, dtype, shape);
  }

  // Something that broadcasts with x.
  Value companion(Value x) {
    for (int attempt = 0; attempt < 4; ++attempt) {
      const Value v = any();
      try {
        if (element_count(broadcast(v.shape(), x.shape())) <= 4096) return v;
      } catch (const std::exception&) {
      }
    }
    Shape s;
    for (int i = up_to(x.rank()); i < x.rank(); ++i) s.push_back(up_to(2) ? x.shape()[i] : 1);
    return up_to(5) == 0 ? result_.graph.scalar(up_to(6) * 0.5 - 1, dtype_) : leaf(s);
  }

  std::vector<int> order(int rank) {
    std::vector<int> o;
    for (int i = 0; i < rank; ++i) o.push_back(i);
    std::shuffle(o.begin(), o.end(), random_);
    return o;
  }

  Value elementwise(Value x) {
    using enum ScalarOp;
    // Continuous functions only: a step would turn rounding into a difference.
    static const std::vector<ScalarOp> kUnary = {neg, abs, tanh, erf, sigmoid, relu, gelu_erf, gelu_tanh, silu, softplus,
                                                 sin, cos};
    static const std::vector<ScalarOp> kBinary = {add, add, sub, mul, mul, min, max};
    switch (up_to(5)) {
      case 0:
      case 1: return unary(pick(kUnary), x);
      case 2: return x / (unary(abs, companion(x)) + 1.0);
      case 3: return weft::select(leaf(x.rank() ? Shape{x.shape()[-1]} : Shape{}, DType::boolean), x, companion(x));
      default: return binary(pick(kBinary), x, companion(x));
    }
  }

  Value view(Value x) {
    switch (up_to(4)) {
      case 0: return permute(x, order(x.rank()));
      case 1: {  // a reshape that joins or splits
        Shape s = x.shape();
        if (s.rank() >= 2 && up_to(1)) {
          const int i = up_to(s.rank() - 2);
          s[i] *= s[i + 1];
          s.erase(i + 1);
        } else if (s.rank() >= 1 && s.rank() < 5) {
          const int i = up_to(s.rank() - 1);
          const std::int64_t f = s[i] % 4 == 0 ? 4 : s[i] % 3 == 0 ? 3 : s[i] % 2 == 0 ? 2 : 1;
          if (s[i] == 0) return x;
          s[i] /= f;
          s.insert(i + up_to(1), f);
        }
        return reshape(x, s);
      }
      case 2: {
        if (x.rank() == 0) return x;
        const int axis = up_to(x.rank() - 1);
        const std::int64_t n = x.shape()[axis];
        if (n == 0) return x;
        const std::int64_t begin = up_to(static_cast<int>(n) - 1);
        if (up_to(3) == 0) return slice(x, axis, begin, -1, -1 - up_to(1));
        const std::int64_t end = begin + 1 + up_to(static_cast<int>(n - begin) - 1);
        return slice(x, axis, begin, end, 1 + up_to(1));
      }
      case 3: {
        if (x.rank() >= 5) return x;
        Shape s = x.shape();
        s.insert(0, 1 + up_to(2));
        return element_count(s) <= 4096 ? broadcast_to(x, s) : x;
      }
      default: return x.rank() < 5 ? expand_dims(x, up_to(x.rank())) : x;
    }
  }

  Value product(Value x) {
    if (x.rank() < 2) return x;
    const std::int64_t k = x.shape()[-1];
    const double scale = 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(k, 1)));
    const std::int64_t n = std::max<std::int64_t>(size(), 1);
    const auto weights = [&] { return up_to(1) ? leaf({k, n}) : leaf({n, k}).T(); };
    switch (up_to(4)) {
      case 0: {  // several products of one operand
        std::vector<Value> parts;
        for (int i = 0; i < 3; ++i) {
          const Value w = result_.graph.constant(random_data(dtype_, {n, k}));
          const Value b = result_.graph.constant(random_data(dtype_, {n}));
          parts.push_back(matmul(x * scale, w.T()) + b);
        }
        return parts[0] * tanh(parts[1]) + parts[2];
      }
      case 1: return gelu(matmul(x, weights()) * scale + leaf({n}));
      case 2: {
        const Value y = matmul(x, weights()) * scale;
        return y + leaf(y.shape());
      }
      case 3: return matmul(x, x.T()) * scale;
      default: return matmul(x, weights()) * scale;
    }
  }

  Value attend() {
    const std::int64_t batch = 1 + up_to(1), heads = 1 + up_to(2), queries = 1 + up_to(5), keys = 1 + up_to(8);
    const std::int64_t dim = pick(std::vector<std::int64_t>{4, 8, 16});
    const auto operand = [&](std::int64_t length) {
      return permute(reshape(leaf({batch, length, heads * dim}), {batch, length, heads, dim}), {0, 2, 1, 3});
    };
    const Value q = operand(queries), k = operand(keys), v = operand(keys);
    const double scale = 1 / std::sqrt(static_cast<double>(dim));
    Value y;
    if (up_to(2) == 0) {
      y = attention(q, k, v, up_to(1) ? leaf({batch, 1, 1, keys}) : Value(), {.scale = static_cast<float>(scale)});
    } else {
      Value scores = matmul(q, k.T()) * scale;
      if (up_to(1)) scores = scores + leaf({batch, 1, 1, keys});
      y = matmul(softmax(scores), v);
    }
    return up_to(1) ? reshape(permute(y, {0, 2, 1, 3}), {batch, queries, heads * dim}) : y;
  }

  Value rows(Value x) {
    if (x.rank() == 0) return x;
    const int axis = up_to(x.rank() - 1);
    // Of nothing, only the sum is a number.
    switch (x.shape()[axis] == 0 ? 3 : up_to(4)) {
      case 0: return softmax(x, axis);
      case 1: {
        if (x.shape()[-1] < 2) return x;
        const Shape s{x.shape()[-1]};
        return layer_norm(x, up_to(1) ? leaf(s) : Value(), up_to(1) ? leaf(s) : Value(), 1e-3);
      }
      case 2: return x - reduce(ReduceOp::mean, x, {axis}, true);
      case 3: return reduce(ReduceOp::sum, x, std::vector<int>{axis}, up_to(1)) * 0.25;
      default: return reduce(pick(std::vector<ReduceOp>{ReduceOp::max, ReduceOp::min}), x, std::vector<int>{axis});
    }
  }

  Value pick_or_join(Value x) {
    if (x.rank() == 0) return x;
    const int axis = up_to(x.rank() - 1);
    const auto n = static_cast<int>(x.shape()[axis]);
    if (up_to(1) && n > 0 && x.rank() < 5) return gather(x, leaf(shape(up_to(2)), DType::i32, n), axis);
    std::vector<Value> parts;
    for (int i = 1 + up_to(2); i >= 0; --i) {
      Shape s = x.shape();
      s[axis] = size();
      parts.push_back(up_to(1) ? x : leaf(s));
    }
    return concat(parts, axis);
  }

  void grow() {
    const Value x = up_to(1) ? values_.back() : any();
    Value y;
    switch (up_to(9)) {
      case 0:
      case 1: y = view(x); break;
      case 2: y = product(x); break;
      case 3: y = rows(x); break;
      case 4: y = pick_or_join(x); break;
      case 5: y = up_to(2) ? elementwise(x) : attend(); break;
      default: y = elementwise(x); break;
    }
    if (element_count(y.shape()) > 4096 || y.rank() > 6) return;
    // A long chain of products must not overflow.
    if (up_to(3) == 0) y = tanh(y);
    values_.push_back(y);
  }

  std::mt19937 random_;
  DType dtype_;
  RandomGraph result_;
  std::vector<Value> values_;
};

}  // namespace

RandomGraph random_graph(unsigned seed, DType dtype) { return Generator(seed, dtype).run(); }

}  // namespace weft::test
