// Softmax and its logarithm.
#include <cmath>
#include <limits>
#include <optional>

#include "cpu/executor.h"
#include "kernels/operands.h"
#include "kernels/softmax/softmax_split.h"
#include "kernels/split_form.h"
#include "support/chunks.h"
#include "support/differential.h"
#include "weft/error.h"
#include "weft/kernels/copy.h"
#include "weft/kernels/softmax.h"

namespace weft::test {
namespace {

// WGSL's exp may have an error of 3 + 2|x| ULP, which for x = -20, where e^x is 2e-9, is 5e-6 of it; the division and
// the sum add a few ULP. Narrow outputs are rounded once more, perhaps to the other neighbour.
constexpr Tolerance kTolerance{.ulp = 1, .absolute = 1e-9, .relative = 1e-5};
// Logarithms near 0 have the absolute error of the sum, those far below 0 the error of exp, 3 + 2|x| ULP.
constexpr Tolerance kLogTolerance{.ulp = 1, .absolute = 1e-6, .relative = 1e-5};

void softmax_of(Stream& s, bool log, const View& x, const View& y, int axis) {
  if (log) return kernels::log_softmax(s, x, y, axis);
  kernels::softmax(s, x, y, axis);
}

kernels::RowViews plain(const View& x, const View& y) { return kernels::row_views("softmax", x, y); }

// Forces a form that a GPU would choose for other sizes; the CPU has only one.
void softmax_in_form(Stream& s, const View& x, const View& y, int axis, bool log, const kernels::RowForm& form) {
  if (!s.gpu()) return softmax_of(s, log, x, y, axis);
  kernels::softmax_in_form(s, plain(x, y), axis, log, form);
}
void softmax_split_rows(Stream& s, const View& x, const View& y, int axis, bool log, const kernels::SplitForm& form) {
  if (!s.gpu()) return softmax_of(s, log, x, y, axis);
  const kernels::RowViews views = plain(x, y);
  kernels::softmax_split_rows(s, views, axis, log, form);
}

class SoftmaxTest : public testing::TestWithParam<std::string> {
 protected:
  void check(const Shape& shape, int axis, DType x, DType y, Kind x_kind, Kind y_kind,
             const ValueOf& value = normal(7, 0, 3)) {
    run(view_of(x, shape, x_kind, value), output(y, shape, y_kind), axis);
  }
  void run(const View& x, const View& y, int axis) {
    run_both(
        device, std::array{x}, std::array{y},
        [axis](Stream& s, auto inputs, auto outputs) { kernels::softmax(s, inputs[0], outputs[0], axis); }, kTolerance,
        std::format("softmax axis {}: {} to {}", axis, weft::to_string(x), weft::to_string(y)));
  }
  gpu::Device& device = test::device(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Devices, SoftmaxTest, testing::ValuesIn(device_names()),
                         [](const auto& i) { return i.param; });

TEST_P(SoftmaxTest, Types) {
  constexpr std::pair<DType, DType> kTypes[] = {
      {DType::f16, DType::f16}, {DType::bf16, DType::bf16}, {DType::f16, DType::f32}, {DType::f32, DType::bf16}};
  for (const auto& [x, y] : kTypes) {
    check({5, 24}, -1, x, y, Kind::dense, Kind::dense);
    check({5, 13}, -1, x, y, Kind::dense, Kind::dense);
    check({13, 12}, 0, x, y, Kind::dense, Kind::dense);
  }
}

TEST_P(SoftmaxTest, Layouts) {
  for (Kind x : kInputKinds) {
    for (Kind y : {Kind::dense, Kind::transposed}) {
      for (int axis = 0; axis < 3; ++axis) check({4, 5, 8}, axis, DType::f32, DType::f32, x, y);
    }
  }
  for (Kind y : kOutputKinds) {
    check({3, 4, 5, 8}, 1, DType::f16, DType::f16, Kind::dense, y);
    check({3, 4, 5, 8}, 3, DType::f32, DType::f32, Kind::dense, y);
  }
  for (int axis = 0; axis < 3; ++axis) {
    for (DType type : {DType::f32, DType::f16}) {
      run(in_fours(type, {4, 8, 12}, normal(1)), in_fours(type, {4, 8, 12}, normal(2)), axis);
    }
  }
}

TEST_P(SoftmaxTest, RowLengths) {
  for (std::int64_t n : {1, 2, 3, 31, 32, 33, 384, 1023, 1024, 1025, 20000}) {
    check({3, n}, 1, DType::f32, DType::f32, Kind::dense, Kind::dense);
    check({n, 3}, 0, DType::f32, DType::f32, Kind::dense, Kind::dense);
    check({n, 4}, 0, DType::f32, DType::f32, Kind::dense, Kind::dense);
  }
}

TEST_P(SoftmaxTest, ManyRowsAndLongRows) {
  check({70000, 5}, 1, DType::f32, DType::f32, Kind::dense, Kind::dense);
  check({5, 70000}, 0, DType::f32, DType::f32, Kind::dense, Kind::dense);
  check({1, 1000000}, 1, DType::f32, DType::f32, Kind::dense, Kind::dense);
  check({2, 99999}, 1, DType::f32, DType::f32, Kind::dense, Kind::dense);
}

TEST_P(SoftmaxTest, NoElements) {
  check({0, 5}, 1, DType::f32, DType::f32, Kind::dense, Kind::dense);
  check({5, 0}, 1, DType::f32, DType::f32, Kind::dense, Kind::dense);
}

TEST_P(SoftmaxTest, SpecialValues) {
  for (std::int64_t n : {4, 5, 20000}) {
    const auto value = softmax_rows(n);
    check({8, n}, 1, DType::f32, DType::f32, Kind::dense, Kind::dense, value);
    check({8, n}, 1, DType::f32, DType::f32, Kind::transposed, Kind::dense, value);
    cpu::Executor executor;
    const View x = view_of(DType::f32, {8, n}, Kind::dense, value), y = output(DType::f32, {8, n}, Kind::dense);
    kernels::softmax(executor, x, y, 1);
    const std::vector<double> v = values(y);
    for (std::int64_t j = 0; j < 3 * n; ++j) ASSERT_TRUE(std::isnan(v[j])) << j;
    for (std::int64_t j = 3 * n; j < 8 * n; ++j) ASSERT_TRUE(v[j] >= 0 && v[j] <= 1) << j;
    EXPECT_EQ(v[6 * n], 1);
    EXPECT_NEAR(v[5 * n], 1.0 / static_cast<double>(n), 1e-7);
  }
}

// Exponentials far below the maximum, in units in the last place of the formula in doubles: 3n + 3 is what the
// conformance tests of WebNN allow for n elements. Neither the product with log2 e nor the difference, whose
// rounding error near 80 is up to 2^-18, may lose digits.
TEST_P(SoftmaxTest, SmallResultsKeepTheirDigits) {
  struct Case {
    Shape shape;
    int axis = 1;
    std::optional<kernels::RowForm> form = {};
    std::optional<kernels::SplitForm> split = {};
  };
  const kernels::RowForm loops{.threads_per_row = 16, .interleave = 1, .register_steps = 0};
  const Case cases[] = {
      {{4096, 2}},
      {{4096, 3}},
      {{512, 8}},
      {{3, 1024}, 0},
      {{8, 300}, 1, loops},
      {{8, 1200}, 1, {}, kernels::SplitForm{.threads = 128, .register_steps = 2, .interleave = 8}},
      {{300, 12}, 0, {}, kernels::SplitForm{.threads = 64, .register_steps = 3, .interleave = 2}},
      {{300, 12}, 0, {}, kernels::SplitForm{.threads = 64, .register_steps = 4, .interleave = 4, .look_back = true}}};
  for (const Case& c : cases) {
    for (const double top : {0.0, 10.3, -71.9, 1000.1}) {
      const std::int64_t n = c.shape[c.axis];
      const auto element = [&](std::int64_t row, std::int64_t i) {
        return i == 0 ? top : top - 86.0 * static_cast<double>((row * n + i) * 7919 % 8191) / 8191;
      };
      const auto of = [&](std::int64_t k) {
        return c.axis == 1 ? element(k / n, k % n) : element(k % c.shape[1], k / c.shape[1]);
      };
      const View x = view_of(DType::f32, c.shape, Kind::dense, of), y = output(DType::f32, c.shape);
      const View in = to_device(device, x), out = to_device(device, y);
      gpu::Encoder encoder(device);
      if (c.split)
        kernels::softmax_split_rows(encoder, plain(in, out), c.axis, false, *c.split);
      else if (c.form)
        kernels::softmax_in_form(encoder, plain(in, out), c.axis, false, *c.form);
      else
        kernels::softmax(encoder, in, out, c.axis);
      encoder.submit();
      const std::vector<double> got = values(to_host(device, out)), given = values(x);
      const std::int64_t rows = c.shape[1 - c.axis];
      const auto at = [&](std::int64_t row, std::int64_t i) {
        return static_cast<std::size_t>(c.axis == 1 ? row * n + i : i * c.shape[1] + row);
      };
      double worst = 0;
      for (std::int64_t row = 0; row < rows; ++row) {
        double sum = 0;
        for (std::int64_t i = 0; i < n; ++i) sum += std::exp(given[at(row, i)] - given[at(row, 0)]);
        for (std::int64_t i = 0; i < n; ++i) {
          const double want = std::exp(given[at(row, i)] - given[at(row, 0)]) / sum;
          if (want < 0x1p-125) continue;
          worst = std::max(worst, std::abs(got[at(row, i)] - want) / std::ldexp(1.0, std::ilogb(want) - 23));
        }
      }
      EXPECT_LE(worst, 3 * static_cast<double>(std::min<std::int64_t>(n, 4)) + 3)
          << weft::to_string(c.shape) << " along axis " << c.axis << ", maximum " << top;
    }
  }
}

TEST_P(SoftmaxTest, InPlace) {
  for (std::int64_t n : {16, 17, 20000}) {
    const View x = view_of(DType::f32, {4, n}, Kind::dense, normal(3)), y = output(DType::f32, {4, n});
    const View both = to_device(device, x);
    gpu::Encoder encoder(device);
    kernels::softmax(encoder, both, both, 1);
    encoder.submit();
    cpu::Executor executor;
    kernels::softmax(executor, x, y, 1);
    kernels::softmax(executor, x, x, 1);
    expect_close(x, y, {});
    expect_close(to_host(device, both), y, kTolerance);
  }
}

TEST_P(SoftmaxTest, FormsOfWholeRows) {
  for (const kernels::RowForm& form : {kernels::RowForm{.threads_per_row = 64, .interleave = 2, .register_steps = 8},
                                       {.threads_per_row = 16, .interleave = 1, .register_steps = 0}}) {
    for (const auto& [shape, kind] :
         {std::pair{Shape{3, 2, 1200}, Kind::dense}, {Shape{4, 2, 1200}, Kind::transposed}}) {
      for (const bool log : {false, true}) {
        const View x = view_of(DType::f32, shape, kind, normal(7, 0, 3));
        run_both(
            device, std::array{x}, std::array{output(DType::f32, shape, kind)},
            [&](Stream& s, auto in, auto out) { softmax_in_form(s, in[0], out[0], 2, log, form); }, kLogTolerance,
            std::format("softmax, log {}: {}", log, weft::to_string(x)));
      }
    }
  }
}

// Rows of 16-bit elements that start and end within a 32-bit word, the other half of which is another row's; by one
// thread and by many, which take one step or several.
TEST_P(SoftmaxTest, UnalignedRows) {
  for (const DType type : {DType::f16, DType::bf16}) {
    for (const std::int64_t n : {1, 2, 3, 5, 6, 7, 10, 33, 50, 77, 197, 258, 1001, 2047}) {
      const bool even = n % 2 == 0;
      const Kind x_kind = even ? Kind::offset : Kind::dense, y_kind = n % 3 ? x_kind : Kind::offset;
      const Shape shape{12, n};
      const View x = view_of(type, shape, x_kind, softmax_rows(n));
      const View wide = view_of(DType::f32, shape, x_kind, normal(n));
      const std::string what = std::format("{} rows of {}", name(type), n);
      const auto softmax = [&](const View& from, bool log, const std::optional<kernels::RowForm>& form) {
        run_both(
            device, std::array{from}, std::array{output(type, shape, y_kind)},
            [&](Stream& s, auto in, auto out) {
              if (form) return softmax_in_form(s, in[0], out[0], 1, log, *form);
              softmax_of(s, log, in[0], out[0], 1);
            },
            kLogTolerance, what + (log ? ", log" : ""));
      };
      softmax(x, even, {});
      softmax(wide, !even, {});
      for (const std::uint32_t threads_per_row : {1, 4, 32}) {
        if (n <= 64 * threads_per_row) softmax(x, !even, kernels::RowForm{threads_per_row, 1, 16});
      }
      // In place: one half of a word is read while the other is stored.
      const View both = view_of(type, shape, x_kind, normal(6));
      run_both(
          device, std::array{both}, std::array{both},
          [&](Stream& s, auto in, auto out) { kernels::softmax(s, in[0], out[0], 1); }, kLogTolerance,
          what + ", in place");
    }
  }
}

// Columns of 16-bit elements, an even number of them but no multiple of four, loaded as packed pairs: the last four
// overlap the four before.
TEST_P(SoftmaxTest, ColumnsOfPackedPairs) {
  for (const DType type : {DType::f16, DType::bf16}) {
    for (const Shape& shape : {Shape{33, 6}, {200, 10}, {70, 30}, {9, 1002}, {5000, 14}}) {
      const View x = view_of(type, shape, Kind::dense, normal(3, 0, 2));
      const std::string what = weft::to_string(x);
      for (const bool log : {false, true}) {
        run_both(
            device, std::array{x}, std::array{output(type, shape)},
            [&](Stream& s, auto in, auto out) { softmax_of(s, log, in[0], out[0], 0); }, kLogTolerance, what);
        // In place they must not overlap.
        const View both = view_of(type, shape, Kind::dense, normal(4));
        run_both(
            device, std::array{both}, std::array{both},
            [&](Stream& s, auto in, auto out) { softmax_of(s, log, in[0], out[0], 0); }, kLogTolerance,
            what + " in place");
      }
      // An odd number of columns: all but one.
      View most = x, most_of_y = output(type, shape);
      most.layout.shape[1] -= 1;
      most_of_y.layout.shape[1] -= 1;
      run_both(
          device, std::array{most}, std::array{most_of_y},
          [&](Stream& s, auto in, auto out) { softmax_of(s, false, in[0], out[0], 0); }, kLogTolerance,
          what + " but one column");
      for (const kernels::SplitForm& form : {kernels::SplitForm{32, 3, 2, false}, {64, 4, 4, true}}) {
        for (const bool log : {false, true}) {
          run_both(
              device, std::array{x}, std::array{output(type, shape)},
              [&](Stream& s, auto in, auto out) { softmax_split_rows(s, in[0], out[0], 0, log, form); }, kLogTolerance,
              what + " in parts");
        }
      }
    }
  }
}

// Split columns of packed pairs: in place, backwards, and with x and y in one buffer.
TEST_P(SoftmaxTest, PackedPairsInPlaceAndBackwards) {
  const kernels::SplitForm form{.threads = 64, .register_steps = 3, .interleave = 4, .look_back = true};
  const auto softmax = [&](Stream& s, auto in, auto out) { softmax_split_rows(s, in[0], out[0], 1, false, form); };
  const Shape shape{1, 400, 48};
  for (const DType type : {DType::f16, DType::bf16}) {
    const auto both = [&](const View& x, const View& y, const std::string& what) {
      run_both(device, std::array{x}, std::array{y}, softmax, kTolerance, what);
    };
    const View x = view_of(type, shape, Kind::dense, normal(4)), y = output(type, shape);
    both(x, x, "in place");
    both(kernels::slice(x, 1, -1, kernels::kToEnd, -1), y, "backwards");
    both(x, kernels::slice(y, 1, -1, kernels::kToEnd, -1), "to backwards");
    // x and y in one buffer, against y in one of its own.
    gpu::Encoder encoder(device);
    const std::uint64_t bytes = 400 * 48 * 2;
    const Buffer two = device.allocate(2 * bytes), one = device.allocate(bytes);
    const View from(two, 0, type, shape), beside(two, bytes, type, shape), alone(one, 0, type, shape);
    kernels::copy(encoder, to_device(device, x), from);
    for (const View& to : {beside, alone}) softmax(encoder, std::array{from}, std::array{to});
    encoder.submit();
    expect_close(to_host(device, beside), to_host(device, alone), {});
  }
}

// Rounding to bf16 must keep NaN with any bits.
TEST_P(SoftmaxTest, NaNsOfAnyBits) {
  const kernels::SplitForm form{.threads = 64, .register_steps = 3, .interleave = 4, .look_back = true};
  for (const std::int64_t columns : {48, 50}) {
    const View x = view_of(DType::f16, {400, columns}, Kind::dense, normal(4));
    for (const std::int64_t column : {3, 20, 47}) {
      set_element_bits(x, column * 8 * columns + column, column == 20 ? 0xffff : 0x7fff);
    }
    for (const bool log : {false, true}) {
      run_both(
          device, std::array{x}, std::array{output(DType::bf16, {400, columns})},
          [&](Stream& s, auto in, auto out) { softmax_split_rows(s, in[0], out[0], 0, log, form); }, kLogTolerance,
          std::format("{} columns, log {}", columns, log));
    }
  }
}

// One split has a large element and another many small ones: the precision with which the small ones' sum is exchanged
// shows in the result.
TEST_P(SoftmaxTest, LogSoftmaxOfTailsInOtherSplits) {
  for (const kernels::SplitForm& form :
       {kernels::SplitForm{256, 32, 32, true}, {256, 46, 32, true}, {256, 46, 16, true}}) {
    for (const double tail : {-4.0, -8.0, -10.4, -12.0}) {
      const View x = view_of(DType::f16, {1472, 128}, Kind::dense, [=](std::int64_t i) {
        const std::int64_t row = i / 128, column = i % 128;
        return row == 0 ? 0.0 : row < 736 ? -30.0 : tail - static_cast<double>(column) / 128;
      });
      run_both(
          device, std::array{x}, std::array{output(DType::f16, x.shape())},
          [&](Stream& s, auto in, auto out) { softmax_split_rows(s, in[0], out[0], 0, true, form); },
          {.ulp = 1, .absolute = 5e-7, .relative = 0}, std::format("tail {}, {} beside", tail, form.interleave));
    }
  }
}

// Split columns of packed pairs, whose splits exchange maximum and sum in one word: as wide as on an H200 and narrower;
// also with a spin limit that is reached.
TEST_P(SoftmaxTest, SplitColumnsOfPackedPairs) {
  for (const kernels::SplitForm& form :
       {kernels::SplitForm{64, 3, 4, true}, {256, 47, 32, true}, {128, 5, 8, true, 2}, {128, 5, 8, true, 0}}) {
    for (const DType x : {DType::f16, DType::bf16}) {
      for (const DType y : {DType::f16, DType::bf16}) {
        const bool few = form.register_steps == 3;
        if (!few && (x == y) != (form.register_steps == 47)) continue;
        for (const auto& [columns, n] : {std::pair<std::int64_t, std::int64_t>{48, 1000}, {132, 801}}) {
          if (!few && columns == 48) continue;
          const View from = view_of(x, {columns, n}, Kind::transposed, softmax_rows(n));
          for (const bool log : {false, true}) {
            run_both(
                device, std::array{from}, std::array{output(y, from.shape(), Kind::transposed)},
                [&](Stream& s, auto in, auto out) { softmax_split_rows(s, in[0], out[0], 1, log, form); },
                log ? kLogTolerance : kTolerance,
                std::format("{} to {}, log {}, {} threads, {} kept", weft::to_string(from), name(y), log, form.threads,
                            form.register_steps));
          }
        }
      }
    }
  }
}

// Rows of one element that lie beside each other are packed by fours after exp: llvmpipe once got signs wrong here.
TEST_P(SoftmaxTest, SplitRowsOfOneElement) {
  const View wide = view_of(DType::bf16, {3, 7, 1, 352}, Kind::dense, normal(5));
  const View x = kernels::slice(wide, 3, 0, 176), whole = output(DType::f16, {7, 3, 1, 176});
  const View y = kernels::slice(whole.permuted(std::array{1, 0, 2, 3}), 0, -1, kernels::kToEnd, -1);
  for (const std::uint32_t interleave : {1, 4}) {
    run_both(
        device, std::array{x}, std::array{y},
        [&](Stream& s, auto in, auto out) { softmax_split_rows(s, in[0], out[0], 2, false, {8, 4, interleave}); },
        kTolerance, std::format("softmax: {} to {}", weft::to_string(x), weft::to_string(y)));
  }
}

TEST_P(SoftmaxTest, SplitRows) {
  const auto check = [&](const kernels::SplitForm& form, bool log, const View& x, DType y, Kind kind) {
    run_both(
        device, std::array{x}, std::array{output(y, x.shape(), kind)},
        [&](Stream& s, auto in, auto out) { softmax_split_rows(s, in[0], out[0], 1, log, form); },
        log ? kLogTolerance : kTolerance, std::format("softmax, log {}: {}", log, weft::to_string(x)));
  };
  for (const kernels::SplitForm& form : kSplitForms) {
    for (const bool log : {false, true}) {
      for (const Kind kind : {Kind::dense, Kind::transposed}) {
        for (const std::int64_t n : {5000, 4999}) {
          for (const DType type : {DType::f32, DType::f16}) {
            if ((n + 2 * (kind == Kind::dense) + (type == DType::f16) + log + form.register_steps) % 4)
              continue;  // every fourth
            check(form, log, view_of(type, {11, n}, kind, softmax_rows(n)), type, kind);
          }
        }
        // Packed pairs stay in registers, in rows that end within a tile or with it.
        for (const DType type : {DType::f16, DType::bf16}) {
          if (!form.look_back) continue;
          check(form, log, view_of(type, {12, 5000}, kind, softmax_rows(5000)), type, kind);
          check(form, log, view_of(type, {16, 4096}, kind, softmax_rows(4096)), log ? type : DType::f32, kind);
          // Columns that are packed pairs in y only.
          const View x = view_of(type, {13, 5000}, Kind::transposed, softmax_rows(5000));
          if (kind == Kind::transposed) check(form, log, kernels::slice(x, 0, 0, 12), type, kind);
        }
      }
    }
    // In place, twice.
    const View x = view_of(DType::f32, {3, 5000}, Kind::dense, normal(3)), y = output(DType::f32, {3, 5000});
    const View both = to_device(device, x);
    gpu::Encoder encoder(device);
    for (int i = 0; i < 2; ++i) kernels::softmax_split_rows(encoder, plain(both, both), 1, false, form);
    encoder.submit();
    device.wait();
    cpu::Executor executor;
    kernels::softmax(executor, x, y, 1);
    kernels::softmax(executor, y, y, 1);
    expect_close(to_host(device, both), y, kTolerance);
  }
}

TEST_P(SoftmaxTest, LogSoftmax) {
  const auto log_softmax = [&](const View& x, const View& y, int axis) {
    run_both(
        device, std::array{x}, std::array{y},
        [axis](Stream& s, auto in, auto out) { kernels::log_softmax(s, in[0], out[0], axis); }, kLogTolerance,
        std::format("log_softmax axis {}: {}", axis, weft::to_string(x)));
  };
  for (std::int64_t n : {1, 3, 32, 1000, 1024, 20000}) {
    log_softmax(view_of(DType::f32, {3, n}, Kind::dense, normal(7, 0, 3)), output(DType::f32, {3, n}), 1);
    log_softmax(view_of(DType::f32, {n, 4}, Kind::dense, normal(7, 0, 3)), output(DType::f32, {n, 4}), 0);
  }
  for (Kind kind : kInputKinds)
    log_softmax(view_of(DType::f16, {4, 5, 8}, kind, normal(1)), output(DType::f16, {4, 5, 8}), 1);
  for (std::int64_t n : {4, 5, 20000}) {
    log_softmax(view_of(DType::f32, {11, n}, Kind::dense, softmax_rows(n)), output(DType::f32, {11, n}), 1);
  }
  // In place.
  const View x = view_of(DType::f32, {4, 50}, Kind::dense, normal(3)), y = output(DType::f32, {4, 50});
  cpu::Executor executor;
  kernels::log_softmax(executor, x, y, 1);
  kernels::log_softmax(executor, x, x, 1);
  expect_close(x, y, {});
}

constexpr DType kFloats[] = {DType::f32, DType::f32, DType::f16, DType::bf16};

bool register_softmax(const std::string& name, bool log) {
  return differential(name, [log](Rng& rng) {
    const Shape shape = random_shape(rng, 1);
    const int axis = random_int(rng, 0, shape.rank() - 1);
    Problem p;
    p.inputs = {random_view(rng, shape, pick(rng, kFloats), random_input_kind(rng),
                            rng() % 4 ? Values::ordinary : Values::special)};
    p.outputs = {random_view(rng, shape, pick(rng, kFloats), random_output_kind(rng))};
    p.tolerance = log ? Tolerance{.ulp = 1, .absolute = 4e-6, .relative = 1e-5}
                      : Tolerance{.ulp = 1, .absolute = 1e-6, .relative = 1e-5};
    p.what = std::format("softmax, log {}, axis {}: {}", log, axis, weft::to_string(p.inputs[0]));
    const auto which = rng() % 3;
    const kernels::SplitForm form = random_split_form(rng);
    const kernels::RowForm whole = random_row_form(rng);
    p.call = [=](Stream& s, auto in, auto out) { softmax_of(s, log, in[0], out[0], axis); };
    if (which == 0) return p;
    p.form = [=](Stream& s, auto in, auto out) {
      if (which == 1) return softmax_in_form(s, in[0], out[0], axis, log, whole);
      softmax_split_rows(s, in[0], out[0], axis, log, form);
    };
    return p;
  });
}
const bool registered_softmax[] = {register_softmax("softmax", false), register_softmax("log_softmax", true)};

TEST(SoftmaxArguments, AreChecked) {
  cpu::Executor executor;
  const View x = output(DType::f32, {2, 3}, Kind::dense), i = output(DType::i32, {2, 3}, Kind::dense);
  EXPECT_THROW(kernels::softmax(executor, x, output(DType::f32, {3, 2}, Kind::dense), 1), InvalidArgument);
  EXPECT_THROW(kernels::softmax(executor, i, x, 1), InvalidArgument);
  EXPECT_THROW(kernels::softmax(executor, x, x, 2), InvalidArgument);
  EXPECT_THROW(kernels::log_softmax(executor, i, x, 1), InvalidArgument);
}

// Tensors that exceed a binding.
using SoftmaxChunks = ChunksTest;
using SoftmaxChunksOnDevice = ChunksOnDevice;
INSTANTIATE_TEST_SUITE_P(Devices, SoftmaxChunksOnDevice, testing::ValuesIn(device_names()),
                         [](const auto& i) { return i.param; });

TEST_F(SoftmaxChunks, Rows) {
  const View x = random_view(rng, {5, 90, 128}, DType::f32), y = random_view(rng, {5, 90, 128}, DType::f32);
  both({x}, {y}, [](Stream& s, auto in, auto out) { kernels::softmax(s, in[0], out[0], 1); },
       {.ulp = 64, .absolute = 1e-6});
  both({x}, {y}, [](Stream& s, auto in, auto out) { kernels::softmax(s, in[0], out[0], -1); },
       {.ulp = 64, .absolute = 1e-6});
}

TEST_F(SoftmaxChunks, LongRows) {
  struct Case {
    Shape shape;
    int axis;
    DType type;
  };
  for (const Case& c :
       {Case{{100000}, 0, DType::f32}, Case{{3, 40000}, 1, DType::f16}, Case{{30000, 4}, 0, DType::f32}}) {
    for (const bool log : {false, true}) {
      const View x = random_view(rng, c.shape, c.type), y = random_view(rng, c.shape, c.type);
      both({x}, {y},
           [&](Stream& s, auto in, auto out) {
             log ? kernels::log_softmax(s, in[0], out[0], c.axis) : kernels::softmax(s, in[0], out[0], c.axis);
           },
           {.ulp = 64, .absolute = log ? 1e-4 : 1e-9});
    }
  }
}

// Rows of few elements with large strides, among others like them.
TEST_P(SoftmaxChunksOnDevice, RowsFarAmongOthers) {
  for (const auto& [shape, axis, kind] : {std::tuple{Shape{30, 701, 40}, 1, Kind::dense},
                                          {Shape{40, 701, 30}, 1, Kind::transposed},
                                          {Shape{3, 5, 9001}, 0, Kind::sliced}}) {
    for (const DType type : {DType::f32, DType::f16}) {
      const View x = random_view(rng, shape, type, kind), y = random_view(rng, shape, type, kind);
      both({x}, {y}, [&, axis = axis](Stream& s, auto in, auto out) { kernels::softmax(s, in[0], out[0], axis); },
           {.ulp = 64, .absolute = 1e-9});
    }
  }
}

// Many rows, each longer than a binding: the partial results of their chunks must fit a binding, too.
TEST_F(SoftmaxChunks, ManyLongRows) {
  const View x = random_view(rng, {3, 40000}, DType::f32), y = random_view(rng, {3, 40000}, DType::f32);
  both({x}, {y}, [&](Stream& s, auto in, auto out) { kernels::softmax(s, in[0], out[0], 0); },
       {.ulp = 64, .absolute = 1e-9});
}

}  // namespace
}  // namespace weft::test
