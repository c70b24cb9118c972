// What the generators of random graphs share: the values that there are, and leaves to begin from.
#pragma once

#include <algorithm>
#include <format>
#include <random>
#include <span>
#include <vector>

#include "support/random_graph.h"
#include "weft/small_float.h"

namespace weft::test {

class RandomGraphValues {
 public:
  RandomGraphValues(unsigned seed, DType dtype) : random_(seed), dtype_(dtype) {}

  int up_to(int n) { return std::uniform_int_distribution<int>(0, n)(random_); }
  template <class T>
  const T& pick(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(up_to(static_cast<int>(list.size()) - 1))];
  }
  Tensor any() { return pick(values_); }

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
  Tensor leaf(const Shape& shape) { return leaf(shape, dtype_); }
  Tensor leaf(const Shape& shape, DType dtype, int bound = 1) {
    TensorData data = random_data(dtype, shape, bound);
    if (up_to(2) == 0) return result_.graph.constant(std::move(data));
    const std::string name = std::format("x{}", result_.inputs.size());
    result_.inputs.emplace(name, data);
    return result_.graph.input(name, dtype, shape);
  }

  // A value that broadcasts with x.
  Tensor companion(const Tensor& x) {
    for (int attempt = 0; attempt < 4; ++attempt) {
      const Tensor v = any();
      try {
        if (element_count(broadcast(v.shape(), x.shape())) <= 4096) return v;
      } catch (const std::exception&) {
      }
    }
    Shape s;
    for (int i = up_to(x.rank()); i < x.rank(); ++i) s.push_back(up_to(2) ? x.shape()[i] : 1);
    return up_to(5) == 0 ? result_.graph.scalar(up_to(6) * 0.5 - 1, dtype_) : leaf(s);
  }

  // Integers: exact on every device, so comparisons may depend on them.
  Tensor whole(const Shape& shape) {
    using enum ScalarOp;
    Tensor i = leaf(shape, DType::i32, 40);
    for (int n = up_to(2); n > 0; --n) {
      const Tensor k = leaf(up_to(1) ? shape : Shape{}, DType::i32, 9);
      i = binary(pick(std::vector<ScalarOp>{add, sub, mul, min, max, bitwise_and, bitwise_xor, div, rem}), i, k);
    }
    return i;
  }
  // Multiples of 1/8 from -1.5 to 1.5, which are exact in every type, so that functions that are not continuous may
  // depend on them.
  Tensor exact(const Shape& shape) { return cast(leaf(shape, DType::i32, 25), dtype_) * 0.125 - 1.5; }
  DType dtype() const { return dtype_; }

 protected:
  std::mt19937 random_;
  DType dtype_;
  RandomGraph result_;
  std::vector<Tensor> values_;
};

// Convolutions, pooling and resampling of x, if it is an image, or of a leaf.
Tensor random_image(RandomGraphValues& g, const Tensor& x);
// Quantised numbers and their products, as floats again.
Tensor random_quantized(RandomGraphValues& g);
// A recurrent network over x, if it is a sequence, or over a leaf.
Tensor random_recurrent(RandomGraphValues& g, const Tensor& x);

}  // namespace weft::test
