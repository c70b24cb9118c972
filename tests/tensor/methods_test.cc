// Methods of tensors: the functions of these names, updates in place, and what a handle says of its data. Numbers
// beside what a comment says are NumPy's (2.4).
#include <gmock/gmock.h>

#include <concepts>

#include "compiler/device_data.h"
#include "support/on_device.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/compile.h"
#include "weft/error.h"
#include "weft/indexing.h"

namespace weft::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// What was an update once is no reduction now, which keeps its axes: it does not compile.
template <class T, class At, class Value>
concept TakesMax = requires(T x, At at, Value value) { x.max(at, value); };
template <class T, class At, class Value>
concept TakesMin = requires(T x, At at, Value value) { x.min(at, value); };
static_assert(TakesMax<Tensor&, int, bool> && TakesMax<const Tensor&, Axes, bool> && TakesMax<Tensor, int, bool>);
static_assert(!TakesMax<Tensor&, int, int> && !TakesMax<const Tensor&, int, double> && !TakesMax<Tensor, int, float>);
static_assert(!TakesMax<Tensor&, int, Tensor> && !TakesMax<Tensor&, Slice, int> && !TakesMax<Tensor&, Tensor, Tensor>);
static_assert(TakesMin<Tensor&, int, bool> && !TakesMin<Tensor&, int, int> && !TakesMin<Tensor&, Tensor, float>);
template <class T>
concept HasUpdates = requires(T x) {
  { x.set(0, 1).add_at(0, 1).max_at(0, 1).min_at(0, 1) } -> std::same_as<Tensor&>;
};
static_assert(HasUpdates<Tensor&>);
// In NumPy True is a mask of rank 0.
static_assert(!std::convertible_to<bool, Index> && std::convertible_to<int, Index>);

class MethodsTest : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, MethodsTest, testing::ValuesIn(all_devices()), [](const auto& i) { return i.param; });

TEST_P(MethodsTest, AreTheFunctionsOfTheirNames) {
  if (device.is_gpu()) GTEST_SKIP() << "the functions have tests of their own there";
  const Tensor x = tensor({2, 3}, {1, -2, 3, -4, 5, -6}), positive = abs(x);
  const auto same_values = [](const Tensor& a, const Tensor& b) {
    EXPECT_EQ(to_string(a.type()), to_string(b.type()));
    EXPECT_EQ(a.to_vector<float>(), b.to_vector<float>());
  };
  // Of a tensor, and of what a function returned.
#define EXPECT_METHOD(method, ...)    \
  same_values(x.method, __VA_ARGS__); \
  same_values((x * 1).method, __VA_ARGS__)
  EXPECT_METHOD(sum(0, true), sum(x, 0, true));
  EXPECT_METHOD(mean(1), mean(x, 1));
  EXPECT_METHOD(prod(), prod(x));
  EXPECT_METHOD(max(), tensor(5.0f));
  EXPECT_METHOD(max(0), tensor({3}, {1, 5, 3}));
  EXPECT_METHOD(max(0, true), tensor({1, 3}, {1, 5, 3}));
  EXPECT_METHOD(min({0, 1}), tensor(-6.0f));
  EXPECT_METHOD(min(-1, true), tensor({2, 1}, {-2, -6}));
  EXPECT_METHOD(argmax(1), argmax(x, 1));
  EXPECT_METHOD(argmin(), argmin(x));
  EXPECT_METHOD(count_nonzero(0), count_nonzero(x, 0));
  EXPECT_METHOD(variance(1, 1), variance(x, 1, 1));
  EXPECT_METHOD(deviation(0, 0, true), deviation(x, 0, 0, true));
  EXPECT_METHOD(cumsum(1), cumsum(x, 1));
  EXPECT_METHOD(sort(), sort(x));
  EXPECT_METHOD(argsort(0, true), argsort(x, 0, true));
  EXPECT_METHOD(softmax(), softmax(x));
  EXPECT_METHOD(log_softmax(0), log_softmax(x, 0));
  EXPECT_METHOD(flatten(), flatten(x));
  EXPECT_METHOD(permute({1, 0}), x.T());
  EXPECT_METHOD(moveaxis(0, 1), x.T());
  EXPECT_METHOD(broadcast_to({2, 2, 3}), broadcast_to(x, {2, 2, 3}));
  EXPECT_METHOD(expand_dims(1), expand_dims(x, 1));
  EXPECT_METHOD(expand_dims(1).squeeze(1), x);
  EXPECT_METHOD(flip(), flip(x));
  EXPECT_METHOD(flip(1), tensor({2, 3}, {3, -2, 1, -6, 5, -4}));
  EXPECT_METHOD(roll(1), roll(x, 1));
  EXPECT_METHOD(roll({1}, 0), roll(x, {1}, 0));
  EXPECT_METHOD(tile({2}), tile(x, {2}));
  EXPECT_METHOD(repeat(2), repeat(x, 2));
  EXPECT_METHOD(repeat(2, 1), repeat(x, 2, 1));
  EXPECT_METHOD(diagonal(1), tensor({2}, {-2, -6}));
  EXPECT_METHOD(tril(), tril(x));
  EXPECT_METHOD(triu(1), triu(x, 1));
  EXPECT_METHOD(matmul(x.T()), matmul(x, x.T()));
  EXPECT_METHOD(pow(2), pow(x, 2));
  EXPECT_METHOD(clamp(-1, 2.5), clamp(x, -1, 2.5));
  EXPECT_METHOD(abs(), positive);
  EXPECT_METHOD(sign(), sign(x));
  EXPECT_METHOD(square(), square(x));
  EXPECT_METHOD(abs().sqrt(), sqrt(positive));
  EXPECT_METHOD(abs().rsqrt(), rsqrt(positive));
  EXPECT_METHOD(reciprocal(), reciprocal(x));
  EXPECT_METHOD(exp(), exp(x));
  EXPECT_METHOD(abs().log(), log(positive));
  EXPECT_METHOD(sin(), sin(x));
  EXPECT_METHOD(cos(), cos(x));
  EXPECT_METHOD(tan(), tan(x));
  EXPECT_METHOD(tanh(), tanh(x));
  EXPECT_METHOD(sigmoid(), sigmoid(x));
  EXPECT_METHOD(relu(), relu(x));
  EXPECT_METHOD(floor(), floor(x));
  EXPECT_METHOD(ceil(), ceil(x));
  EXPECT_METHOD(trunc(), trunc(x));
  EXPECT_METHOD(round(), round(x));
#undef EXPECT_METHOD
  EXPECT_TRUE((x > -7).all().item<bool>());
  EXPECT_TRUE((x > 4).any().item<bool>());
}

TEST_P(MethodsTest, SeveralAreEvaluatedWithoutBraces) {
  const Tensor x = tensor({3}, {1, 2, 3}), a = x + 1, b = a * 2, c = x.sum();
  eval(a, b);
  EXPECT_TRUE(a.has_data() && b.has_data());
  EXPECT_FALSE(c.has_data());
  eval(a, b, c);
  EXPECT_TRUE(c.has_data());
}

TEST_P(MethodsTest, AFailedUpdateLeavesTheHandle) {
  Tensor i = tensor({1, 2, 3}), u = i.cast(DType::u8), b = i > 1, h = i.cast(DType::f16);
  // NumPy: "Cannot cast ufunc 'add' output … with casting rule 'same_kind'".
  EXPECT_THROW(i += 0.5, TypeError);
  EXPECT_THROW(i *= full({3}, 2.0f), TypeError);
  EXPECT_THROW(i /= 0.5, TypeError);
  EXPECT_THROW(u -= full({3}, 1, DType::i8), TypeError);
  EXPECT_THROW(b += 1, TypeError);
  EXPECT_THROW(h += full({2, 3}, 1), ShapeError);
  EXPECT_THAT(refused_by([&] { i += 0.5; }),
              AllOf(StartsWith("+=: i32 [3] += 0.5 is f32"), HasSubstr("x = x + 0.5 changes the handle's type")));
  EXPECT_THAT(i.read<int>(), ElementsAre(1, 2, 3));
  i += full({3}, true, DType::boolean);
  i -= full({}, std::int64_t{1} << 32, DType::i64);
  EXPECT_EQ(to_string(i.type()), "i32 [3]");
  EXPECT_THAT(i.read<int>(), ElementsAre(2, 3, 4));
  h *= full({3}, 0.5f);
  EXPECT_EQ(to_string(h.type()), "f16 [3]");
  EXPECT_THAT(h.to_vector<float>(), ElementsAre(0.5f, 1, 1.5f));
}

TEST_P(MethodsTest, HandlesOfViewsAndConstantsKnowTheirData) {
  const Tensor x = tensor({2, 3}, {1, 2, 3, 4, 5, 6}) * 2, t = x.T(), row = x[1], wide = broadcast_to(row, {4, 3});
  EXPECT_FALSE(t.has_data());
  EXPECT_THAT(refused_by([&] { (void)t.device(); }), StartsWith("device: f32 [3, 2] has no data"));
  eval(t);
  for (const Tensor& view : {x, t, row, wide, t.reshape({6})}) {
    EXPECT_TRUE(view.has_data()) << to_string(view.type());
    EXPECT_EQ(view.device(), device);
  }
  EXPECT_EQ(to_string(t.view()), "f32 [3, 2] strides [1, 3]");
  EXPECT_EQ(t.view().buffer, x.view().buffer);
  EXPECT_EQ(row.view().offset, x.view().offset + 12);
  EXPECT_EQ(to_string(wide.view()), "f32 [4, 3] strides [0, 1]");
  EXPECT_THAT(refused_by([&] { (void)t.reshape({6}).view(); }), HasSubstr("contiguous() copies them"));
  EXPECT_EQ(t.on_host(), !device.is_gpu());
  const Tensor none = zeros({2, 2}), number = full({}, 3), ones = full({3}, 1, DType::u8).reshape({1, 3});
  for (const Tensor& constant : {none, number, ones}) {
    eval(constant);
    EXPECT_TRUE(constant.has_data()) << to_string(constant.type());
    EXPECT_EQ(constant.device(), device);
    EXPECT_EQ(constant.view().dtype, constant.dtype());
  }
}

TEST_P(MethodsTest, ViewsAndConstantsAreNotWritten) {
  const Tensor x = tensor({2, 2}, {1, 2, 3, 4});
  Tensor view = x.T(), constant = zeros({}), filled = zeros({2, 2}), copy = contiguous(zeros({2, 2}));
  eval(view, constant, filled, copy);
  const std::vector<float> values{5, 6, 7, 8};
  const auto bytes = std::as_bytes(std::span(values));
  EXPECT_THAT(refused_by([&] { view.write(bytes); }), HasSubstr("write: f32 [2, 2] is a view"));
  EXPECT_THAT(refused_by([&] { filled.write(bytes); }), HasSubstr("is a view"));
  EXPECT_THAT(refused_by([&] { constant.write(bytes.first(4)); }), HasSubstr("is a constant"));
  copy.write(bytes);
  EXPECT_EQ(copy.read<float>(), values);
  EXPECT_EQ(constant.item<float>(), 0);
}

// An executable takes memory of its own.
TEST_P(MethodsTest, AViewIsNoOperandOfARun) {
  Graph graph;
  graph.output("y", graph.input("x", DType::f32, {3, 2}) + 1.0);
  Executable exe = compile(graph, device);
  const Tensor x = tensor({2, 3}, {1, 2, 3, 4, 5, 6}), t = x.T(), y(device, DType::f32, {3, 2});
  eval(t);
  EXPECT_THAT(refused_by([&] { exe.run({{"x", t}}, {{"y", y}}); }), HasSubstr("a view: contiguous() copies it"));
  const Tensor dense = contiguous(t);
  eval(dense);
  exe.run({{"x", dense}}, {{"y", y}});
  EXPECT_THAT(y.read<float>(), ElementsAre(2, 5, 3, 6, 4, 7));
}

TEST_P(MethodsTest, ElementsAlongAnAxisBroadcast) {
  const Tensor x = arange(12).reshape({3, 4}), y = arange(24).reshape({2, 3, 4});
  // np.take_along_axis
  EXPECT_THAT(gather_elements(x, tensor({{0, 3}}), 1).read<int>(), ElementsAre(0, 3, 4, 7, 8, 11));
  EXPECT_THAT(gather_elements(x, tensor({{2}, {0}}), 0).read<int>(), ElementsAre(8, 9, 10, 11, 0, 1, 2, 3));
  EXPECT_THAT(gather_elements(arange(4).reshape({1, 4}), tensor({{0, 3}, {2, 1}}), -1).read<int>(),
              ElementsAre(0, 3, 2, 1));
  EXPECT_THAT(gather_elements(y, tensor({{{1, 0}}, {{3, 2}}}), 2).read<int>(),
              ElementsAre(1, 0, 5, 4, 9, 8, 15, 14, 19, 18, 23, 22));
  EXPECT_EQ(gather_elements(zeros({0, 4}), tensor({{1}}), 1).shape(), (Shape{0, 1}));
  // np.put_along_axis
  const auto put = [](const Tensor& t, const Tensor& at, const Tensor& values, int axis) {
    return scatter_elements(ScatterKind::assign, t, at, values, axis).read<int>();
  };
  EXPECT_THAT(put(x, tensor({{0, 3}}), full({}, -1, DType::i32), 1),
              ElementsAre(-1, 1, 2, -1, -1, 5, 6, -1, -1, 9, 10, -1));
  EXPECT_THAT(put(x, tensor({{2}, {0}}), tensor({{7}, {8}}), 0), ElementsAre(8, 8, 8, 8, 4, 5, 6, 7, 7, 7, 7, 7));
  EXPECT_THAT(put(x, tensor({{1}, {0}, {3}}), tensor({{10}, {20}, {30}}), 1),
              ElementsAre(0, 10, 2, 3, 20, 5, 6, 7, 8, 9, 10, 30));
  EXPECT_THAT(put(zeros({1, 4}, DType::i32), tensor({{0}, {3}, {1}}), tensor({{5}, {6}, {7}}), 1),
              ElementsAre(5, 7, 0, 6));
  EXPECT_THAT(put(zeros({2, 1, 3}, DType::i32), tensor({{{0}, {1}}, {{2}, {2}}}), tensor({{{1}, {2}}, {{3}, {3}}}), 2),
              ElementsAre(1, 2, 0, 0, 0, 3));
  EXPECT_THAT(
      scatter_elements(ScatterKind::add, zeros({1, 3}, DType::i32), tensor({{0}, {2}, {2}}), tensor({{1}, {2}, {4}}), 1)
          .read<int>(),
      ElementsAre(1, 0, 6));
  EXPECT_THROW(gather_elements(x, tensor({{0, 1}, {1, 0}}), 1), ShapeError);
  EXPECT_THROW(gather_elements(x, tensor({0, 1}), 1), ShapeError);
  EXPECT_THROW(scatter_elements(ScatterKind::assign, x, tensor({{0, 3}}), tensor({{1, 2}, {3, 4}}), 1), ShapeError);
}

TEST_P(MethodsTest, SumsAndProductsOfBoolAreOrAndAnd) {
  // np.sum(…, dtype=bool) and its kin
  const Tensor x = tensor({0, 2, 0, 3});
  const auto is = [](const Tensor& t, std::vector<bool> expected) {
    EXPECT_EQ(t.dtype(), DType::boolean);
    EXPECT_EQ(t.to_vector<bool>(), expected);
  };
  is(sum(x, {}, false, DType::boolean), {true});
  is(prod(x, {}, false, DType::boolean), {false});
  is(prod(x[slice(1, 2)], {}, true, DType::boolean), {true});
  is(sum(tensor({{1, 0}, {0, 0}}), 1, false, DType::boolean), {true, false});
  is(sum(zeros({0}), {}, false, DType::boolean), {false});
  is(prod(zeros({0}), {}, false, DType::boolean), {true});
  is(cumulative_sum(x, 0, DType::boolean), {false, true, true, true});
  is(cumulative_prod(x, 0, DType::boolean), {false, false, false, false});
  is(cumulative_prod(tensor({2.5, 0.25, 0.0, 1.0}), 0, DType::boolean), {true, true, false, false});
  is(cumulative_sum(x, 0, DType::boolean, true), {false, false, true, true, true});
  is(cumulative_prod(x, 0, DType::boolean, true), {true, false, false, false, false});
}

TEST_P(MethodsTest, MoreDifferencesThanElementsLeaveNone) {
  EXPECT_THAT(diff(tensor({1, 4, 9, 16}), 0, 3).read<int>(), ElementsAre(0));
  EXPECT_EQ(diff(tensor({1, 4, 9, 16}), 0, 4).size(), 0);
  EXPECT_EQ(diff(zeros({2, 3}), 1, 1 << 30).shape(), (Shape{2, 0}));
}

// The type that is asked for is the result's, or refused.
TEST_P(MethodsTest, SumsHaveTheTypeThatIsAskedFor) {
  const Tensor x = tensor({{1, 2}, {0, 3}});
  for (int t = 0; t < kDTypeCount; ++t) {
    const auto type = static_cast<DType>(t);
    for (const auto& make : std::vector<std::function<Tensor()>>{
             [&] { return sum(x, 1, false, type); }, [&] { return prod(x, 1, false, type); },
             [&] { return cumulative_sum(x, 1, type, true); }, [&] { return cumulative_prod(x, 1, type); }}) {
      try {
        EXPECT_EQ(make().dtype(), type);
      } catch (const TypeError&) {
      }
    }
  }
}

TEST_P(MethodsTest, ComparisonsWithNumbersOutsideOfTheType) {
  const Tensor x = tensor(std::vector<std::uint8_t>{1, 200, 255}), i = tensor({-5, 7});
  const std::vector<bool> yes(3, true), no(3, false);
  const auto is = [](const Tensor& t, const std::vector<bool>& expected) {
    EXPECT_EQ(t.dtype(), DType::boolean);
    EXPECT_EQ(t.to_vector<bool>(), expected);
  };
  is(x < 300, yes);
  is(x <= 300, yes);
  is(x > 300, no);
  is(x >= 300, no);
  is(x == 300, no);
  is(x != 300, yes);
  is(x < -1, no);
  is(x <= -1, no);
  is(x > -1, yes);
  is(x >= -1, yes);
  is(x == -1, no);
  is(x != -1, yes);
  is(300 > x, yes);
  is(-1 >= x, no);
  is(300 < x, no);
  is(greater(-1, x), no);
  is(less(300, x), no);
  is(i < std::int64_t{1} << 40, {true, true});
  is(i >= -(std::int64_t{1} << 40), {true, true});
  is(tensor({3}, DType::i64) < ~std::uint64_t{0}, {true});
  is(tensor({3}, DType::u64) > -1, {true});
  is(tensor({3}, DType::i4) != 8, {true});
  is((x < 300) & (x > 100), {false, true, true});
  EXPECT_THAT(x[x < 256].read<std::uint8_t>(), ElementsAre(1, 200, 255));
}

TEST_P(MethodsTest, VectorsBecomeAnyType) {
  const std::vector<int> whole{-1, 2, 300, 7};
  const std::vector<float> real{-1.5f, 0.25f, 300, 1e10f};
  EXPECT_EQ(to_string(tensor({2, 2}, whole, DType::f16).type()), "f16 [2, 2]");
  EXPECT_THAT(tensor({2, 2}, whole, DType::f16).to_vector<float>(), ElementsAre(-1, 2, 300, 7));
  // As tensor({-1, 2, 300, 7}, DType::u8) and full() convert numbers.
  EXPECT_THAT(tensor(whole, DType::u8).read<std::uint8_t>(), ElementsAre(0, 2, 255, 7));
  EXPECT_THAT(tensor({4}, whole, DType::i4).to_vector<int>(), ElementsAre(-1, 2, 7, 7));
  EXPECT_THAT(tensor(real, DType::i8).read<std::int8_t>(), ElementsAre(-1, 0, 127, 127));
  EXPECT_THAT(tensor(real, DType::boolean).to_vector<bool>(), ElementsAre(true, true, true, true));
  EXPECT_THAT(tensor({2, 1}, std::vector<bool>{true, false}, DType::f32).read<float>(), ElementsAre(1, 0));
  EXPECT_THAT(tensor({2, 2}, {1, -2, 3, 300}, DType::u8).read<std::uint8_t>(), ElementsAre(1, 0, 3, 255));
  EXPECT_THAT(tensor({1, 2}, {std::int64_t{1} << 62, 3}, DType::i64).read<std::int64_t>(),
              ElementsAre(std::int64_t{1} << 62, 3));
  EXPECT_THAT(tensor({2}, std::vector{0.5, 1e300}, DType::f64).read<double>(), ElementsAre(0.5, 1e300));
  EXPECT_THROW(tensor({3}, whole, DType::f16), InvalidArgument);
  EXPECT_THROW(tensor({3}, {1, 2}, DType::f16), InvalidArgument);
}

TEST_P(MethodsTest, MessagesNameTheFunction) {
  const Tensor none, x = zeros({2, 3}), b = zeros({2}, DType::boolean);
  const std::vector<std::pair<std::string, std::function<void()>>> undefined = {
      {"type", [&] { (void)none.type(); }},
      {"dtype", [&] { (void)none.dtype(); }},
      {"shape", [&] { (void)none.shape(); }},
      {"rank", [&] { (void)none.rank(); }},
      {"size", [&] { (void)none.size(); }},
      {"T", [&] { none.T(); }},
      {"sum", [&] { none.sum(); }},
      {"max", [&] { none.max(); }},
      {"min", [&] { none.min(0); }},
      {"all", [&] { none.all(); }},
      {"any", [&] { none.any(); }},
      {"count_nonzero", [&] { none.count_nonzero(); }},
      {"reshape", [&] { none.reshape({1}); }},
      {"index", [&] { (void)none[0]; }},
      {"set", [&] { Tensor(none).T(); }},
      {"device", [&] { (void)none.device(); }},
      {"view", [&] { (void)none.view(); }},
      {"read", [&] { (void)none.read<float>(); }},
      {"read_bytes", [&] { none.read_bytes({}); }},
      {"async_read", [&] { (void)none.async_read<float>(); }},
      {"to_vector", [&] { (void)none.to_vector<float>(); }},
      {"item", [&] { (void)none.item<float>(); }},
      {"set_label", [&] { Tensor(none).set_label("x"); }},
      {"graph", [&] { (void)none.graph(); }},
      {"eval", [&] { eval(none); }},
      {"to", [&] { to(none, device); }},
      {"contiguous", [&] { contiguous(none); }},
      {"broadcast_arrays", [&] { (void)broadcast_arrays(std::array{x, none}); }}};
  for (const auto& [name, call] : undefined) {
    if (name == "set") continue;
    EXPECT_THAT(refused_by(call), AllOf(StartsWith(name + ":"), HasSubstr("undefined Tensor")));
  }
  Tensor y;
  EXPECT_THAT(refused_by([&] { y.set(0, 1); }), StartsWith("set: the operand is an undefined Tensor"));
  EXPECT_THAT(refused_by([&] { y.max_at(0, 1); }), StartsWith("max_at: "));
  EXPECT_THAT(refused_by([&] { y.write({}); }), StartsWith("write: "));
  EXPECT_THAT(refused_by([&] { (void)broadcast_arrays(std::array{x, zeros({4})}); }),
              StartsWith("broadcast_arrays: shapes [2, 3] and [4]"));
  EXPECT_THAT(refused_by([&] { x.reshape({-2, 3}); }), StartsWith("reshape: [2, 3] to [-2, 3]: the size -2"));
  EXPECT_THAT(refused_by([&] { x.reshape({-1, -6}); }), StartsWith("reshape: "));
  EXPECT_THAT(refused_by([&] { broadcast_to(x, {-1, 3}); }), StartsWith("broadcast_to: shape [-1, 3]: negative size"));
  EXPECT_THAT(refused_by([&] { (void)(b + b); }),
              AllOf(StartsWith("add takes float or "), HasSubstr(", got bool; logical_or")));
  EXPECT_THAT(refused_by([&] { (void)-b; }), StartsWith("neg takes "));
  if (!device.is_gpu()) return;
  const auto message = [&](const Tensor& t) {
    try {
      t.read<double>();
    } catch (const Unsupported& e) {
      return std::string(e.what());
    }
    return std::string("no Unsupported");
  };
  EXPECT_THAT(message(tensor({3}, std::vector{1.0, 2.0, 3.0}) * 2), HasSubstr("mul: f64 cannot compute"));
  EXPECT_THAT(message(exp(tensor({3}, std::vector{1.0, 2.0, 3.0})) + 1), HasSubstr("exp: f64 cannot compute"));
}

TEST_P(MethodsTest, MasksOfRankZeroAndEllipsesOfNoAxis) {
  const Tensor m = arange(6).reshape({2, 3}), yes = full({}, true, DType::boolean),
               no = full({}, false, DType::boolean);
  const auto is = [](const Tensor& t, const Shape& shape, const std::vector<int>& values) {
    EXPECT_EQ(t.shape(), shape);
    EXPECT_EQ(t.read<int>(), values);
  };
  is(m[yes], {1, 2, 3}, {0, 1, 2, 3, 4, 5});
  is(m[no], {0, 2, 3}, {});
  is(m[{all, yes}], {2, 1, 3}, {0, 1, 2, 3, 4, 5});
  is(m[{yes, 0}], {1, 3}, {0, 1, 2});
  is(m[{yes, tensor({0, 1, 1})}], {3, 3}, {0, 1, 2, 3, 4, 5, 3, 4, 5});
  is(m[{no, 0}], {0, 3}, {});
  is(full({}, 5, DType::i32)[yes], {1}, {5});
  is(at_set(m, yes, 9), {2, 3}, {9, 9, 9, 9, 9, 9});
  is(at_set(m, no, 9), {2, 3}, {0, 1, 2, 3, 4, 5});
  is(at_set(m, {yes, 1}, tensor({7, 8, 9})), {2, 3}, {0, 1, 2, 7, 8, 9});
  is(at_add(m, {all, yes}, 10), {2, 3}, {10, 11, 12, 13, 14, 15});
  const Tensor w = arange(120).reshape({2, 3, 4, 5}), t = tensor({0, 2});
  is(w[{slice(0, 2), t, ellipsis, -1, slice(1, 3)}], {2, 2, 2}, {16, 17, 76, 77, 56, 57, 116, 117});
  is(w[{slice(0, 2), t, -1, slice(1, 3)}], {2, 2, 2}, {16, 17, 56, 57, 76, 77, 116, 117});
  const Tensor u = arange(24).reshape({2, 3, 4}), v = tensor({3, 1});
  is(u[{all, t, ellipsis, v}], {2, 2}, {3, 15, 9, 21});
  is(u[{ellipsis, t, v}], {2, 2}, {3, 9, 15, 21});
  is(u[{all, t, v, ellipsis}], {2, 2}, {3, 9, 15, 21});
  is(m[{tensor({0, 1}), ellipsis, tensor({2, 0})}], {2}, {2, 3});
  const Tensor changed = at_set(u, {all, t, ellipsis, v}, tensor({{1, 2}, {3, 4}}));
  is(changed[{all, t, ellipsis, v}], {2, 2}, {1, 2, 3, 4});
}

}  // namespace
}  // namespace weft::test
