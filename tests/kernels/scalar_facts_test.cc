// The facts of the table of scalar operations (kernels/elementwise/scalar_ops.h), by the values that operations have on
// the CPU.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cpu/executor.h"
#include "kernels/elementwise/scalar_ops.h"
#include "scalar_cases.h"
#include "weft/small_float.h"

namespace weft::test {
namespace {

using kernels::Bound;
using kernels::Relation;
using kernels::ScalarOpInfo;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class ScalarFacts : public testing::Test {
 protected:
  // The operation's value for these operands.
  double apply(const ScalarOpInfo& row, DType type, std::vector<double> args) {
    args.resize(static_cast<std::size_t>(row.arity));
    const Expression e = one_op(row.op, type);
    std::vector<View> in;
    for (int k = 0; k < row.arity; ++k) {
      in.push_back(host_view(k < row.first_value() ? DType::boolean : type, {1}, std::span(&args[k], 1)));
    }
    const double none = 0;
    const View y = host_view(e.output_type(0), {1}, std::span(&none, 1));
    kernels::map(executor_, e, in, std::span(&y, 1));
    return value(y, 0);
  }
  static std::vector<double> numbers(DType type) {
    switch (kernels::type_set(type)) {
      case kernels::kFloat:
        return {0.0, -0.0, 1, -1, 0.5, -2.5, 3, 7.25, -100, kInfinity, -kInfinity, std::nan("")};
      case kernels::kSigned:
        return {0, 1, -1, 2, -3, 7, 100, -128};
      case kernels::kUnsigned:
        return {0, 1, 2, 3, 7, 100, 255};
      default:
        return {0, 1};
    }
  }
  // Calls check(row, type) for each operation and each type that it takes.
  template <class Check>
  static void for_each(const Check& check) {
    for (int i = static_cast<int>(ScalarOp::neg); i < kScalarOpCount; ++i) {
      const ScalarOpInfo& row = kernels::info(static_cast<ScalarOp>(i));
      for (const DType type : {DType::f32, DType::f64, DType::i8, DType::i32, DType::u8, DType::u32, DType::boolean}) {
        SCOPED_TRACE(std::string(row.name) + " of " + std::string(name(type)));
        if (takes(row.op, type)) check(row, type);
      }
    }
  }
  static bool same(double a, double b) {
    return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
  }

  cpu::Executor executor_;
};

TEST_F(ScalarFacts, LawsHold) {
  for_each([&](const ScalarOpInfo& row, DType type) {
    const auto f = [&](double a, double b = 0) { return apply(row, type, {a, b}); };
    for (const double x : numbers(type)) {
      SCOPED_TRACE(x);
      if (row.facts.neutral) {
        EXPECT_PRED2(same, f(x, *row.facts.neutral), x);
        if (row.facts.commutative) {
          EXPECT_PRED2(same, f(*row.facts.neutral, x), x);
        }
      }
      if (row.facts.idempotent) {
        EXPECT_PRED2(same, row.arity == 1 ? f(f(x)) : f(x, x), row.arity == 1 ? f(x) : x);
      }
      if (row.facts.involution) {
        EXPECT_PRED2(same, f(f(x)), x);
      }
      if (row.facts.cancels_itself && std::isfinite(x) && x != 0) {
        EXPECT_EQ(f(x, x), f(1, 1));
      }
      for (const double y : numbers(type)) {
        if (row.facts.commutative) {
          EXPECT_PRED2(same, f(x, y), f(y, x)) << y;
        }
      }
    }
  });
}

TEST_F(ScalarFacts, RelationsAreThoseOfTheNumbers) {
  for_each([&](const ScalarOpInfo& row, DType type) {
    for (const double x : numbers(type)) {
      for (const double y : numbers(type)) {
        const bool holds = [&] {
          switch (row.facts.relation) {
            case Relation::less:
              return x < y;
            case Relation::less_equal:
              return x <= y;
            case Relation::greater:
              return x > y;
            case Relation::greater_equal:
              return x >= y;
            case Relation::equal:
              return x == y;
            case Relation::not_equal:
              return x != y;
            case Relation::none:
              break;
          }
          return false;
        }();
        if (row.facts.relation != Relation::none) {
          EXPECT_EQ(apply(row, type, {x, y}), holds) << x << ' ' << y;
        }
      }
    }
  });
}

// Of values of f16 without the rounding to that type.
TEST_F(ScalarFacts, ExactResultsAreValuesOfTheType) {
  for_each([&](const ScalarOpInfo& row, DType type) {
    if (!row.facts.exact || type != DType::f32) return;
    for (const double x : numbers(type)) {
      for (const double y : numbers(type)) {
        const double r = apply(row, type, {x, y, 0.1 + y});
        if (row.op != ScalarOp::clamp && row.op != ScalarOp::select) {
          EXPECT_PRED2(same, static_cast<float>(float16(static_cast<float>(r))), r) << x << ' ' << y;
        }
        if (row.facts.rounds_to_integer) {
          EXPECT_PRED2(same, std::trunc(r), r);
        }
        if (row.facts.orders && !std::isnan(r)) {
          EXPECT_TRUE(r == x || r == y || r == static_cast<float>(0.1 + y));
        }
      }
    }
  });
}

TEST_F(ScalarFacts, ResultsKeepTheirWidthAndBits) {
  for_each([&](const ScalarOpInfo& row, DType type) {
    const bool wide = type == DType::i32 || type == DType::u32;
    for (const double x : numbers(type)) {
      for (const double y : numbers(type)) {
        const auto f = [&](double a, double b) { return apply(row, type, {a, b, y}); };
        if (wide && row.keeps_width()) {
          EXPECT_GE(f(x, y), type == DType::i32 ? -128 : 0) << x << ' ' << y;
          EXPECT_LE(f(x, y), type == DType::i32 ? 127 : 255) << x << ' ' << y;
        }
        if (row.facts.bitwise && type == DType::u8) {
          const auto lowest = [](double a) { return static_cast<double>(static_cast<int>(a) & 1); };
          EXPECT_EQ(lowest(f(x, y)), lowest(f(lowest(x), lowest(y)))) << x << ' ' << y;
        }
      }
    }
  });
}

TEST_F(ScalarFacts, BoundsHold) {
  for_each([&](const ScalarOpInfo& row, DType type) {
    if (type != DType::f32 || row.bound() == Bound::unknown) return;
    for (const double x : numbers(type)) {
      for (const double y : numbers(type)) {
        if (!std::isfinite(x) || !std::isfinite(y)) continue;
        const double c = row.facts.condition ? 1.5 : 3;  // operand 2
        const double r = std::abs(apply(row, type, {x, y, c}));
        const double a = std::abs(x), b = std::abs(y);
        const double bound = [&] {
          switch (row.bound()) {
            case Bound::unknown:
              break;
            case Bound::operand:
              return a;
            case Bound::operand_and_one:
              return a + 1;
            case Bound::one:
              return 1.0;
            case Bound::two:
              return 2.0;
            case Bound::larger:
              return row.facts.condition ? std::max(b, c) : std::max(a, b);
            case Bound::limits:
              return std::max(b, c);
            case Bound::sum:
              return a + b;
            case Bound::product:
              return a * b;
            case Bound::product_and_sum:
              return a * b + c;
            case Bound::quotient:
              return b == 0 ? kInfinity : a / b;
          }
          return kInfinity;
        }();
        if (!std::isnan(r)) {
          EXPECT_LE(r, bound * 1.000001) << x << ' ' << y;
        }
      }
    }
  });
}

}  // namespace
}  // namespace weft::test
