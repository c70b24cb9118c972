// The functions of the array API standard against NumPy (tests/reference/arrays.py), and what they refuse.
#include "weft/array.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "support/array_functions.h"
#include "support/on_device.h"
#include "support/quick.h"
#include "support/reference_cases.h"
#include "support/throws.h"
#include "weft/call.h"
#include "weft/error.h"
#include "weft/indexing.h"

namespace weft::test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

// The same elements in memory of another layout.
Tensor dense(const Tensor& x) { return x; }
Tensor transposed(const Tensor& x) {
  std::vector<int> back(static_cast<std::size_t>(x.rank()));
  for (int i = 0; i < x.rank(); ++i) back[static_cast<std::size_t>(i)] = x.rank() - 1 - i;
  const Tensor stored = contiguous(permute(x, back));
  eval(stored);
  return permute(stored, back);
}
// Every second element of the last axis, from the last to the first.
Tensor reversed(const Tensor& x) {
  if (x.rank() == 0 || x.size() == 0) return x;
  const int last = x.rank() - 1;
  const std::int64_t n = x.shape()[last];
  const Tensor stored = contiguous(flip(repeat(x, 2, last), {last}));
  eval(stored);
  return slice(stored, last, 2 * n - 1, -1, -2);
}

// Functions of which the sign of a zero result is compared, too. (Of sums, and of the least of zeros of both signs, a
// device may give either.)
bool keeps_signs_of_zero(const std::string& name) {
  static const std::set<std::string> all{
      "negative", "abs",     "positive", "add",    "subtract", "multiply", "divide",      "copysign",       "ceil",
      "floor",    "trunc",   "round",    "sqrt",   "where",    "concat",   "stack",       "unstack",        "roll",
      "flip",     "reshape", "flatten",  "tile",   "repeat",   "moveaxis", "expand_dims", "permute_dims",   "take",
      "diagonal", "squeeze", "compress", "astype", "sin",      "sinh",     "tanh",        "broadcast_to",   "sort",
      "tan",      "atan",    "expm1",    "log1p",  "asinh",    "atanh",    "asin",        "take_along_axis"};
  return all.contains(name);
}

void expect_signs_of_zero(const View& actual, const View& expected, const std::string& what) {
  for (std::int64_t i = 0; i < expected.count(); ++i) {
    const double a = value(actual, i), e = value(expected, i);
    if (a != 0 || e != 0) continue;
    EXPECT_EQ(std::signbit(a), std::signbit(e)) << what << ": element " << i;
  }
}

class ArrayTest : public OnDevice {
 protected:
  bool has_f64(const json& c) const { return c.dump().find("\"f64\"") != std::string::npos; }
  ReferenceCases data{"arrays"};
};

INSTANTIATE_TEST_SUITE_P(Devices, ArrayTest, testing::ValuesIn(all_devices()), [](const auto& i) { return i.param; });

// A scalar that is a number of its kernel, not memory, looks like memory once it has axes of size 1.
TEST_P(ArrayTest, EveryOperationOfANumber) {
  using Numbers = std::vector<std::int64_t>;
  // Of those with attributes that must be given. Others that do not take this operand are left out.
  const auto attributes = [](const std::string& name, std::size_t rank) -> AttributeMap {
    if (name == "pad") return {{"before", Numbers(rank, 0)}, {"after", Numbers(rank, 7)}};
    if (name == "tile") return {{"counts", Numbers(rank, 5)}};
    if (name == "broadcast") return {{"shape", Numbers(rank, 9)}};
    if (name == "repeat") return {{"count", Number(8)}, {"axis", Number(0)}};
    if (name == "roll") return {{"shifts", Numbers(rank, 3)}};
    if (name == "concat" || name == "top_k") return {{"axis", Number(0)}, {"k", Number(1)}};
    return {};
  };
  const auto compute = [&](const Schema& schema, std::size_t rank) {
    const Shape ones(std::span<const std::int64_t>(Numbers(rank, 1)));
    std::vector<Tensor> operands;
    for (const OperandSchema& o : schema.inputs) {
      if (o.arity != Arity::optional) operands.push_back(reshape(full({}, 0.75), ones));
    }
    if (schema.name == "concat") operands.push_back(reshape(full({}, 0.25), ones));
    AttributeMap given;
    for (auto& [name, value] : attributes(schema.name, rank)) {
      if (schema.attribute(name)) given.emplace(name, value);
    }
    std::vector<std::vector<double>> values;
    for (const Tensor& y : call(schema.name, operands, given)) {
      if (is_floating(y.dtype()) || is_integer(y.dtype())) values.push_back(y.to_vector<double>());
    }
    return values;
  };
  int ran = 0;
  for (const Schema& schema : op_schemas()) {
    if (schema.inputs.empty() || schema.family == "random" || schema.family == "linalg") continue;
    for (std::size_t rank = 1; rank <= 4; ++rank) {
      std::vector<std::vector<double>> expected;
      try {
        const Device here = default_device();
        set_default_device(Device::cpu());
        struct Back {
          Device device;
          ~Back() { set_default_device(device); }
        } back{here};
        expected = compute(schema, rank);
      } catch (const Error&) {
        continue;  // it takes other operands
      }
      ++ran;
      const auto got = compute(schema, rank);
      ASSERT_EQ(got.size(), expected.size()) << schema.name;
      for (std::size_t k = 0; k < got.size(); ++k) {
        ASSERT_EQ(got[k].size(), expected[k].size()) << schema.name;
        for (std::size_t i = 0; i < got[k].size(); ++i) {
          const bool same = std::isnan(expected[k][i])
                                ? std::isnan(got[k][i])
                                : got[k][i] == expected[k][i] || std::abs(got[k][i] - expected[k][i]) <= 1e-5;
          EXPECT_TRUE(same) << schema.name << " rank " << rank << " element " << i << ": " << got[k][i] << ", expected "
                            << expected[k][i];
        }
      }
    }
  }
  EXPECT_GT(ran, 400);
}

TEST_P(ArrayTest, EveryFunctionIsNumPys) {
  constexpr Tensor (*kLayouts[])(const Tensor&) = {dense, transposed, reversed};
  const std::size_t share = 3;
  std::map<std::string, std::size_t> called;
  for (const json& c : data.list("cases.json")) {
    const auto name = c.at("function").get<std::string>();
    ASSERT_TRUE(array_functions().contains(name)) << name << " is in tests/reference/arrays.py alone";
    const std::size_t own = called[name]++;
    // A software GPU spends most of its time on compiling shaders: it takes some of each function's cases.
    if (device.is_gpu() && (own % share != 0 || has_f64(c))) continue;
    for (std::size_t layout = 0; layout < std::size(kLayouts); ++layout) {
      if ((device.is_gpu() && layout != own / share % std::size(kLayouts)) || leave_out_problem()) continue;
      ArrayCall call{{}, c.at("inputs"), c.value("attributes", json::object())};
      const std::vector<View> expected = data.operands(c, "outputs");
      const std::string what = std::format("layout {} of {}", layout, c.dump());
      try {
        for (const json& i : call.inputs) {
          call.tensors.push_back(i.contains("number") ? Tensor() : kLayouts[layout](tensor_of(data.operand(i))));
        }
        const std::vector<Tensor> results = array_functions().at(name)(call);
        ASSERT_EQ(results.size(), expected.size()) << what;
        eval(results);
        for (std::size_t k = 0; k < results.size(); ++k) {
          const View actual = read_view(results[k]);
          expect_close(actual, expected[k], data.tolerance(c), what);
          if (keeps_signs_of_zero(name)) expect_signs_of_zero(actual, expected[k], what);
        }
      } catch (const std::exception& e) {
        ADD_FAILURE() << what << "\n" << e.what();
      }
    }
  }
  for (const auto& [name, f] : array_functions())
    EXPECT_TRUE(called.contains(name)) << name << " has no case in tests/reference/arrays.py";
}

TEST(Promotion, TableOfAllTypes) {
  const json table = ReferenceCases("arrays").list("promotion.json");
  const auto type = [](const json& name) { return *dtype_from_name(name.get<std::string>()); };
  int pairs = 0;
  for (const json& row : table.at("types")) {
    const DType a = type(row[0]), b = type(row[1]);
    if (row[2].is_null()) {
      EXPECT_THAT(refused_by([&] { result_type(a, b); }), HasSubstr("no type in common")) << name(a) << " " << name(b);
      EXPECT_THROW(result_type(a, b), TypeError);
    } else {
      EXPECT_EQ(result_type(a, b), type(row[2])) << name(a) << " " << name(b);
    }
    ++pairs;
  }
  EXPECT_EQ(pairs, kDTypeCount * kDTypeCount);
  for (const json& row : table.at("numbers")) {
    const Tensor x = zeros({2}, type(row[0]));
    const TensorLike number = number_of({{"number", row[1]}});
    EXPECT_EQ(result_type({x, number}), type(row[2])) << row;
    EXPECT_EQ(result_type({number, x}), type(row[2])) << row;
  }
}

TEST(Promotion, NumbersAreWeak) {
  const Tensor u8 = zeros({2}, DType::u8), i16 = zeros({2}, DType::i16), boolean = zeros({2}, DType::boolean);
  EXPECT_EQ(result_type({1, true}), DType::i32);
  EXPECT_EQ(result_type({1, 2.5}), DType::f32);
  EXPECT_EQ(result_type({true, false}), DType::boolean);
  EXPECT_EQ(result_type({u8, 1, i16, 2.5f}), DType::f32);
  EXPECT_EQ((u8 + 200u).dtype(), DType::u8);
  EXPECT_EQ((zeros({2}, DType::f16) * 1e-3).dtype(), DType::f16);
  EXPECT_EQ((1 - i16).dtype(), DType::i16);
  EXPECT_EQ((boolean + 1).dtype(), DType::i32);
  EXPECT_EQ((boolean & true).dtype(), DType::boolean);
  EXPECT_THAT((tensor({2}, {1, 2}) > 1).to_vector<int>(), ElementsAre(0, 1));
  EXPECT_THROW(u8 + 256, TypeError);
  EXPECT_THROW(u8 - -1, TypeError);
  EXPECT_THROW(minimum(i16, 32768), TypeError);
  EXPECT_THROW(select(boolean, u8, 300), TypeError);
  EXPECT_THAT(refused_by([&] { (void)(u8 * 1000); }), HasSubstr("mul: 1000 is not in the range of u8"));
  EXPECT_NO_THROW(minimum(i16, -32768));
  EXPECT_NO_THROW(zeros({2}, DType::u64) + std::uint64_t{0xffffffffffffffff});
  EXPECT_THROW(zeros({2}, DType::i64) + std::uint64_t{0xffffffffffffffff}, TypeError);
}

TEST(Promotion, Refusals) {
  const Tensor i32 = zeros({2}, DType::i32), u64 = zeros({2}, DType::u64), i4 = zeros({2}, DType::i4);
  EXPECT_THAT(refused_by([&] { (void)(u64 + i32); }), HasSubstr("add: u64 and i32 have no type in common"));
  EXPECT_THAT(refused_by([&] { divide(u64, i32); }), HasSubstr("divide: u64 and i32"));
  EXPECT_THAT(refused_by([&] { select(i32 == 0, u64, i32); }), HasSubstr("select: u64 and i32"));
  EXPECT_THAT(refused_by([&] { concat({i4, i32}); }), HasSubstr("concat: i4 and i32"));
  EXPECT_THROW(i4 + i32, TypeError);
  EXPECT_THROW(zeros({2}, DType::f8e4m3) + zeros({2}, DType::f8e5m2), TypeError);
  EXPECT_THROW(zeros({2}, DType::f64) + zeros({2}, DType::c64), TypeError);
  EXPECT_THROW(select(i32, 1, 2), TypeError);
  EXPECT_THROW(neg(zeros({2}, DType::boolean)), TypeError);
  EXPECT_THROW(bitwise_and(tensor({1}, {1}), 1), TypeError);
  EXPECT_THROW(cbrt(zeros({2}, DType::c64)), TypeError);
}

// numpy.broadcast_shapes, expand_dims and squeeze.
TEST(ArrayFunctions, ShapesOfSeveralAxes) {
  EXPECT_EQ(broadcast_shapes({{2, 1}, {3}, {1, 1, 3}}), (Shape{1, 2, 3}));
  EXPECT_EQ(broadcast_shapes({{0, 1}, {1, 4}}), (Shape{0, 4}));
  EXPECT_EQ(broadcast_shapes(std::span<const Shape>()), Shape());
  EXPECT_THROW(broadcast_shapes({{2}, {3}}), ShapeError);
  EXPECT_THROW(broadcast_shapes({{0}, {2}}), ShapeError);
  EXPECT_THROW(broadcast_shapes({{-1}, {1}}), ShapeError);
  EXPECT_EQ(test::refused_by([] { broadcast_shapes({{2}, {3}}); }),
            "broadcast_shapes: shapes [2] and [3] do not broadcast: sizes 2 and 3 meet 1 from the end");
  const Tensor x = reshape(arange(0, 6), {2, 3});
  EXPECT_EQ(expand_dims(x, {0, -1}).shape(), (Shape{1, 2, 3, 1}));
  EXPECT_EQ(expand_dims(x, {3, 0, 2}).shape(), (Shape{1, 2, 1, 1, 3}));
  EXPECT_EQ(expand_dims(x, std::vector<int>()).shape(), (Shape{2, 3}));
  EXPECT_THROW(expand_dims(x, {0, -4}), ShapeError);
  EXPECT_THROW(expand_dims(x, {0, 4}), ShapeError);
  EXPECT_THROW(expand_dims(x, {0, 1, 2, 3, 4, 5, 6}), ShapeError);
  const Tensor y = expand_dims(x, {0, 2, 4});
  EXPECT_EQ(squeeze(y, {4, 0}).shape(), (Shape{2, 1, 3}));
  EXPECT_EQ(squeeze(y, {0, 2, -1}).to_vector<std::int32_t>(), x.to_vector<std::int32_t>());
  EXPECT_EQ(squeeze(y, std::vector<int>()).shape(), y.shape());
  EXPECT_THROW(squeeze(y, {0, 1}), ShapeError);
  EXPECT_THROW(squeeze(y, {0, 0}), ShapeError);
}

TEST(ArrayErrors, Shapes) {
  const Tensor x = zeros({2, 3}), v = zeros({4});
  EXPECT_THROW(x + v, ShapeError);
  EXPECT_THROW(sum(x, 2), ShapeError);
  EXPECT_THROW(sum(x, {0, -2}), ShapeError);
  EXPECT_THROW(flip(x, {0, 0}), ShapeError);
  EXPECT_THROW(moveaxis(x, {0, 1}, {0}), ShapeError);
  EXPECT_THROW(moveaxis(x, {3}, {0}), ShapeError);
  EXPECT_THROW(concat({x, v}), ShapeError);
  EXPECT_THROW(concat({x, zeros({3, 2})}), ShapeError);
  EXPECT_THROW(stack({x, v}), ShapeError);
  EXPECT_THROW(stack({x, zeros({3, 2})}), ShapeError);
  EXPECT_THROW(stack({x}, 4), ShapeError);
  EXPECT_THROW(unstack(zeros({})), ShapeError);
  EXPECT_THROW(roll(x, {1, 2, 3}, {0, 1}), ShapeError);
  EXPECT_THROW(diagonal(v), ShapeError);
  EXPECT_THROW(cumulative_sum(x), ShapeError);
  EXPECT_THROW(diff(x, 2), ShapeError);
  EXPECT_THROW(meshgrid({x}), ShapeError);
  EXPECT_THROW(searchsorted(x, v), ShapeError);
  EXPECT_THROW(compress(v == 0, x, 0), ShapeError);
  EXPECT_THROW(repeat(x, zeros({2}, DType::i32), 1), ShapeError);
  EXPECT_THROW(nonzero(zeros({})), ShapeError);
  EXPECT_THROW(vecdot(x, v), ShapeError);
  EXPECT_THROW(vecdot(x, v, 0), ShapeError);
  EXPECT_THROW(tensordot(x, v, 1), ShapeError);
  EXPECT_THROW(tensordot(x, v, 3), ShapeError);
  EXPECT_THROW(tensordot(x, v, {0, 1}, {0}), ShapeError);
  EXPECT_THROW(matmul(x, x), ShapeError);
  EXPECT_THROW(matmul(x, full({}, 2)), ShapeError);
  EXPECT_THROW(einsum("ij,jk->ik", {x, x}), ShapeError);
  EXPECT_THROW(einsum("ijk->i", {x}), ShapeError);
  EXPECT_THROW(einsum("ii", {x}), ShapeError);
  EXPECT_THROW(x.reshape({4}), ShapeError);
  EXPECT_THROW(x.reshape({-1, -1}), ShapeError);
  EXPECT_THROW(x.reshape({-1, 4}), ShapeError);
  EXPECT_THROW(broadcast_to(x, {3}), ShapeError);
  EXPECT_THROW(squeeze(x, 0), ShapeError);
  EXPECT_THROW(expand_dims(x, 4), ShapeError);
  EXPECT_THROW(permute(x, {0, 0}), ShapeError);
  EXPECT_THROW(permute(x, {0}), ShapeError);
  EXPECT_THROW(argmax(zeros({0})), ShapeError);
  EXPECT_THROW(full({2}, 1).item<float>(), ShapeError);
  EXPECT_THAT(refused_by([&] { stack({x, zeros({3, 2})}); }), HasSubstr("stack: parts are f32 [2, 3] and f32 [3, 2]"));
}

// Numbers far out of any tensor's range.
TEST(ArrayErrors, Extremes) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(),
                         kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(diagonal(ones({2, 3}), kLeast).shape(), (Shape{0}));
  EXPECT_EQ(diagonal(ones({2, 3}), kMost).shape(), (Shape{0}));
  EXPECT_EQ(roll(arange(5), {kMost, kMost}, {0, 0}).to_vector<int>(), roll(arange(5), kMost % 5 * 2).to_vector<int>());
  const Tensor negative = full({2}, -1, DType::i64);
  EXPECT_EQ(repeat(arange(2), full({2}, 3, DType::u64), 0).size(), 6);
  EXPECT_THROW(repeat(arange(2), full({2}, std::uint64_t{1} << 62, DType::u64), 0), OutOfMemory);
  EXPECT_THROW(repeat(arange(2), negative, 0), InvalidArgument);
  // Numbers are converted as tensors are.
  for (const std::int64_t v : {300, -1, 255, -129}) {
    for (const DType to : {DType::u8, DType::i8, DType::u32, DType::u64, DType::i16}) {
      EXPECT_EQ(full({}, v, DType::i32).cast(to).item<std::int64_t>(),
                (full({}, v, DType::i32) * 1).cast(to).item<std::int64_t>())
          << v << " " << name(to);
    }
  }
}

// Positions and counts are i32, and i64 where that does not hold them: NumPy's are i64 always.
TEST(ArrayTypes, PositionsAmongManyElements) {
  const std::int64_t many = std::int64_t{1} << 31;
  const Tensor few = broadcast_to(zeros({1}, DType::u8), {3, many - 1}), far = broadcast_to(few[0][0], {3, many});
  for (const auto& [x, type] : {std::pair(few, DType::i32), {far, DType::i64}}) {
    EXPECT_EQ(argmax(x, {1}).dtype(), type);
    EXPECT_EQ(argmin(x, {1}).dtype(), type);
    EXPECT_EQ(argmax(x, {0}).dtype(), DType::i32);
    EXPECT_EQ(argsort(x).dtype(), type);
    EXPECT_EQ(argsort(x, 0).dtype(), DType::i32);
    EXPECT_EQ(top_k(x, 2).indices.dtype(), type);
    EXPECT_EQ(count_nonzero(x, {1}).dtype(), type);
    EXPECT_EQ(count_nonzero(x, {0}).dtype(), DType::i32);
    EXPECT_EQ(searchsorted(x[0], zeros({2}, DType::u8)).dtype(), type);
  }
  EXPECT_EQ(count_nonzero(few).dtype(), DType::i64);
  EXPECT_EQ(arange(many - 2, many).dtype(), DType::i32);
  EXPECT_EQ(arange(many - 2, many + 1).dtype(), DType::i64);
  EXPECT_EQ(arange(-many, -many - 2, -1).dtype(), DType::i64);
  EXPECT_EQ(arange(std::int64_t{1} << 33, (std::int64_t{1} << 33) + 3).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{8589934592, 8589934593, 8589934594}));
  EXPECT_EQ(arange(0, 10, 3).dtype(), DType::i32);
  EXPECT_EQ(arange(0, many * 4, many).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{0, many, 2 * many, 3 * many}));
  EXPECT_EQ(arange(0.0, 3.0).dtype(), DType::f32);
}

// What would only be refused when it is computed is refused when it is described.
TEST(ArrayErrors, AttributesThatAreNoNumbers) {
  const Tensor x = zeros({2, 6, 4}), none, six = zeros({6}), key = zeros({2}, DType::u32);
  const double nan = std::nan(""), infinite = std::numeric_limits<double>::infinity();
  for (const double epsilon : {nan, -1.0}) {
    EXPECT_THAT(refused_by([&] { rms_norm(x, none, epsilon); }), HasSubstr("rms_norm: epsilon is"));
    EXPECT_THAT(refused_by([&] { layer_norm(x, none, none, epsilon); }), HasSubstr("layer_norm: epsilon is"));
    EXPECT_THAT(refused_by([&] { group_norm(x, none, none, 2, epsilon); }), HasSubstr("group_norm: epsilon is"));
    EXPECT_THAT(refused_by([&] { instance_norm(x, none, none, epsilon); }), HasSubstr("instance_norm: epsilon is"));
    EXPECT_THAT(refused_by([&] { batch_norm(x, six, six, none, none, epsilon); }), HasSubstr("batch_norm: epsilon is"));
  }
  EXPECT_THROW(random_uniform(key, DType::f32, {2}, 0, infinite), InvalidArgument);
  EXPECT_THROW(random_uniform(key, DType::f32, {2}, nan, 1), InvalidArgument);
  EXPECT_THROW(random_uniform(key, DType::f16, {2}, 0, 1e6), InvalidArgument);
  EXPECT_THROW(random_normal(key, DType::f32, {2}, infinite, 1), InvalidArgument);
  EXPECT_THROW(random_normal(key, DType::f32, {2}, 0, infinite), InvalidArgument);
}

TEST(ArrayErrors, Arguments) {
  const Tensor x = zeros({2, 3}), none;
  EXPECT_THROW(einsum("ij,jk", {x}), InvalidArgument);
  EXPECT_THROW(einsum("ij", {x, x}), InvalidArgument);
  EXPECT_THROW(einsum("i.j->i", {x}), InvalidArgument);
  EXPECT_THROW(einsum("i1->i", {x}), InvalidArgument);
  EXPECT_THROW(einsum("ij->ii", {x}), InvalidArgument);
  EXPECT_THROW(einsum("ij->ik", {x}), InvalidArgument);
  EXPECT_THROW(einsum("i...->i", {x}), InvalidArgument) << "as NumPy: the result has to name the ellipsis";
  EXPECT_THROW(diff(x, 0, -1), InvalidArgument);
  EXPECT_THROW(arange(0, 1, 0), InvalidArgument);
  EXPECT_THROW(arange(0.0, std::nan(""), 1), InvalidArgument);
  EXPECT_THROW(repeat(x, full({1}, -1, DType::i32), 0), InvalidArgument);
  EXPECT_THROW(repeat(x, zeros({2}), 0), TypeError);
  EXPECT_THROW(concat(std::initializer_list<Tensor>{}), InvalidArgument);
  EXPECT_THROW(gather(x, zeros({2}), 0), TypeError);
  for (const auto& call : std::vector<std::function<void()>>{[&] { sum(none); },
                                                             [&] { prod(none); },
                                                             [&] { mean(none); },
                                                             [&] { weft::max(none); },
                                                             [&] { any(none); },
                                                             [&] { all(none); },
                                                             [&] { count_nonzero(none); },
                                                             [&] { cumulative_sum(none); },
                                                             [&] { diff(none); },
                                                             [&] { (void)broadcast_arrays(std::array{x, none}); },
                                                             [&] { concat({x, none}); },
                                                             [&] { stack({none}); },
                                                             [&] { (void)unstack(none); },
                                                             [&] { flip(none); },
                                                             [&] { moveaxis(none, {0}, {0}); },
                                                             [&] { flatten(none); },
                                                             [&] { roll(none, 1); },
                                                             [&] { tile(none, {1}); },
                                                             [&] { repeat(none, 2); },
                                                             [&] { diagonal(none); },
                                                             [&] { outer(x, none); },
                                                             [&] { vecdot(none, x); },
                                                             [&] { tensordot(x, none); },
                                                             [&] { einsum("i", {none}); },
                                                             [&] { searchsorted(none, x); },
                                                             [&] { compress(none, x); },
                                                             [&] { nonzero(none); },
                                                             [&] { unique(none); },
                                                             [&] { full_like(none, 1); },
                                                             [&] { (void)meshgrid({none}); },
                                                             [&] { tril(none); },
                                                             [&] { divide(none, x); },
                                                             [&] { (void)(none + 1); },
                                                             [&] { (void)(x * none); },
                                                             [&] { select(none, 1, 2); },
                                                             [&] { weft::exp(none); },
                                                             [&] { variance(none); },
                                                             [&] { (void)none[{0}]; },
                                                             [&] { at_set(none, 0, 1); },
                                                             [&] { at_add(x, 0, none); }}) {
    EXPECT_THAT(refused_by(call), HasSubstr("undefined Tensor"));
  }
}

}  // namespace
}  // namespace weft::test
