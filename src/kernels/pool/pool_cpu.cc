// Pooling on the CPU's cores, a row of results at a time: along the channels, where these are adjacent, so that each
// step of a window is vector work on rows; else along the last spatial axis. A prologue makes the rows that are read,
// one at a time.
#include <cmath>

#include "cpu/kernel_form.h"
#include "kernels/common/prologue.h"
#include "kernels/common/rows_cpu.h"
#include "kernels/cpu_loops.h"
#include "kernels/elementwise/expression_cpu.h"
#include "kernels/pool/problem.h"
#include "weft/kernels/copy.h"

namespace weft::kernels {
namespace {

// What a step does to a result so far.
enum class Step : std::uint8_t { max, place_of_max, sum, magnitude, square, power, chosen, divided };

Step step_of(const PoolProblem& p) {
  if (p.kind == PoolKind::max) return p.backward ? Step::chosen : p.indices ? Step::place_of_max : Step::max;
  if (p.kind == PoolKind::average) return p.backward && p.counts() ? Step::divided : Step::sum;
  return p.norm == 1 ? Step::magnitude : p.norm == 2 ? Step::square : Step::power;
}

// A step of all but the last spatial axes, or of all of them.
struct Tap {
  std::array<std::int64_t, 3> step{};  // along each axis
  std::int64_t position = 0;           // of the element, forward
  std::int64_t count = 1;              // elements of the window, backward
};

// The same step of `count` results from elements that are `stride` apart.
template <class Sum, Step kStep>
WEFT_VECTOR_CLONES void add_row(const Sum* from, std::int64_t stride, std::int64_t count, Sum* results) {
  const auto add = [](Sum& result, Sum v) {
    if constexpr (kStep == Step::max) result = (v > result) | (v != v) ? v : result;
    if constexpr (kStep == Step::sum) result += v;
    if constexpr (kStep == Step::magnitude) result += v < 0 ? -v : v;
    if constexpr (kStep == Step::square) result += v * v;
  };
  if (stride == 1) {
    for (std::int64_t i = 0; i < count; ++i) add(results[i], from[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) add(results[i], from[i * stride]);
  }
}
constexpr bool has_rows(Step step) {
  return step == Step::max || step == Step::sum || step == Step::magnitude || step == Step::square;
}

template <class Sum, Step kStep>
class Pool {
 public:
  Pool(const PoolProblem& p, const Expression& epilogue) : p_(p), expression_(epilogue) {
    for (int d = 0; d < p.spatial(); ++d) {
      const PoolAxis& a = p.axes[static_cast<std::size_t>(d)];
      auto& steps = steps_.emplace_back();
      for (std::int64_t i = 0; i < p.to.shape()[PoolProblem::kSpatial + d]; ++i) {
        steps.push_back(p.steps(d, a.to_begin + i));
      }
      auto& counts = counts_.emplace_back();
      if (!p.counts()) continue;
      for (std::int64_t i = 0; i < a.y_size; ++i) counts.push_back(counted_elements(a, i));
    }
    if (p.prologue) prologue_.emplace(*p.prologue, p.result_type());
    const std::int64_t channels = p.to.shape()[1];
    const bool adjacent = channels >= 4 && p.to.strides()[1] == 1 &&
                          std::ranges::any_of(p.inputs, [](const View& v) { return v.strides()[1] == 1; });
    inner_ = adjacent ? 1 : p.to.rank() - 1;
    window_ = adjacent ? p.spatial() : p.spatial() - 1;
    for (int d = 0; d < p.to.rank(); ++d) {
      if (d != inner_) outer_.push_back(d), outer_shape_.push_back(p.to.shape()[d]);
    }
  }

  void run(cpu::Executor& executor) const {
    cpu::say_form([&] {
      return inner_ == 1 ? std::pair(std::string("channels"), std::string("channels are adjacent: rows lie along them"))
                         : std::pair(std::string("pixels"), std::string("rows lie along the last spatial axis"));
    });
    const std::int64_t length = p_.to.shape()[inner_];
    const double work = static_cast<double>(length) * p_.taps();
    parallel(executor, element_count(outer_shape_), static_cast<std::int64_t>(32768 / std::max(work, 1.0)) + 1,
             [&](std::int64_t begin, std::int64_t end) {
               std::vector<Sum> results(static_cast<std::size_t>(length));
               std::vector<std::int32_t> places(kStep == Step::place_of_max ? results.size() : 0);
               std::vector<Tap> taps;
               CpuExpression::Registers registers(expression_);
               std::optional<Source> source;
               if (prologue_) source.emplace(prologue_->registers(), std::vector<Sum>(row_of_x()));
               for (std::int64_t r = begin; r < end; ++r) row(r, results, places, taps, registers, source);
             });
  }

 private:
  using Place = std::array<std::int64_t, kMaxRank>;
  // A row of x as the prologue makes it.
  struct Source {
    CpuExpression::Registers registers;
    std::vector<Sum> row;
  };
  struct FromRow {
    const Sum* data;
    std::int64_t stride;
  };
  // The elements of a row of x.
  std::size_t row_of_x() const {
    return static_cast<std::size_t>(inner_ == 1 ? p_.to.shape()[1] : p_.from_shape()[-1]);
  }

  void row(std::int64_t r, std::vector<Sum>& results, std::vector<std::int32_t>& places, std::vector<Tap>& taps,
           CpuExpression::Registers& registers, std::optional<Source>& source) const {
    Place at{};
    for (int k = outer_.rank() - 1; k >= 0; --k) {
      at[static_cast<std::size_t>(outer_[k])] = r % outer_shape_[k];
      r /= outer_shape_[k];
    }
    const bool maximum = kStep == Step::max || kStep == Step::place_of_max;
    std::ranges::fill(results, maximum ? static_cast<Sum>(p_.least()) : Sum(0));
    std::ranges::fill(places, -1);
    find_taps(at, taps);
    for (const Tap& t : taps) {
      const FromRow from = from_row(t, at, source);
      if (inner_ == 1)
        along_channels(from, t, at, results, places);
      else
        along_pixels(from, t, at, results, places);
    }
    finish(at, results);
    store(at, results, places, registers);
  }

  // The row of a tap, from position 0 of the whole on.
  FromRow from_row(const Tap& t, const Place& at, std::optional<Source>& source) const {
    if (!source) {
      const View& x = p_.inputs[0];
      return {data<const Sum>(x) + offset_of(x, t, at), x.strides()[inner_]};
    }
    std::vector<CpuExpression::Row> rows;
    for (const View& v : p_.inputs) {
      rows.push_back({v.buffer.data() + v.offset, offset_of(v, t, at), v.strides()[inner_]});
    }
    (*prologue_)(source->registers, rows, static_cast<std::int64_t>(source->row.size()), source->row.data());
    return {source->row.data(), 1};
  }
  std::int64_t offset_of(const View& v, const Tap& t, const Place& at) const {
    std::int64_t offset = at[0] * v.strides()[0] + (inner_ == 1 ? 0 : at[1] * v.strides()[1]);
    for (int d = 0; d < window_; ++d) {
      offset += t.step[static_cast<std::size_t>(d)] * v.strides()[PoolProblem::kSpatial + d];
    }
    return offset;
  }

  void find_taps(const Place& at, std::vector<Tap>& taps) const {
    taps.assign(1, {});
    for (int d = 0; d < window_; ++d) {
      const int axis = PoolProblem::kSpatial + d;
      const Steps& s =
          steps_[static_cast<std::size_t>(d)][static_cast<std::size_t>(at[static_cast<std::size_t>(axis)])];
      std::vector<Tap> more;
      for (const Tap& t : taps) {
        for (std::int64_t k = s.first; k < s.end; k += s.step) {
          Tap tap = t;
          tap.step[static_cast<std::size_t>(d)] = k;
          tap.position += k * p_.index_stride(d);
          if (kStep == Step::divided) tap.count *= counts_[static_cast<std::size_t>(d)][static_cast<std::size_t>(k)];
          more.push_back(tap);
        }
      }
      taps.swap(more);
    }
  }

  // The index of the element of `to`, in the whole.
  std::int64_t own_position(const Place& at) const {
    std::int64_t position = 0;
    for (int d = 0; d < p_.spatial(); ++d) {
      position +=
          (p_.axes[static_cast<std::size_t>(d)].to_begin + at[static_cast<std::size_t>(PoolProblem::kSpatial + d)]) *
          p_.index_stride(d);
    }
    return position;
  }

  void add(Sum& result, std::int32_t* place, Sum v, std::int64_t position, std::int64_t count, bool chosen) const {
    if constexpr (kStep == Step::max) {
      result = (v > result) | (v != v) ? v : result;
    } else if constexpr (kStep == Step::place_of_max) {
      if (v > result || v != v || *place < 0) result = v, *place = static_cast<std::int32_t>(position);
    } else if constexpr (kStep == Step::sum) {
      result += v;
    } else if constexpr (kStep == Step::magnitude) {
      result += v < 0 ? -v : v;
    } else if constexpr (kStep == Step::square) {
      result += v * v;
    } else if constexpr (kStep == Step::power) {
      if constexpr (std::is_floating_point_v<Sum>) result += std::pow(std::abs(v), static_cast<Sum>(p_.norm));
    } else if constexpr (kStep == Step::chosen) {
      if (chosen) result += v;
    } else if (count > 0) {
      result += v / static_cast<Sum>(count);
    }
  }

  void along_channels(const FromRow& row, const Tap& t, const Place& at, std::vector<Sum>& results,
                      std::vector<std::int32_t>& places) const {
    const Sum* from = row.data;
    const auto n = static_cast<std::int64_t>(results.size());
    if constexpr (has_rows(kStep)) {
      add_row<Sum, kStep>(from, 1, n, results.data());
    } else if constexpr (kStep == Step::chosen) {
      const std::int32_t* indices = data<const std::int32_t>(*p_.indices) + offset_of(*p_.indices, t, at);
      const std::int64_t own = own_position(at), stride = p_.indices->strides()[1];
      for (std::int64_t c = 0; c < n; ++c) {
        add(results[static_cast<std::size_t>(c)], nullptr, from[c], 0, 1, indices[c * stride] == own);
      }
    } else {
      Sum* to = results.data();
      std::int32_t* place = places.data();
      for (std::int64_t c = 0; c < n; ++c) {
        add(to[c], kStep == Step::place_of_max ? place + c : nullptr, from[c], t.position, t.count, true);
      }
    }
  }

  void along_pixels(const FromRow& row, const Tap& t, const Place& at, std::vector<Sum>& results,
                    std::vector<std::int32_t>& places) const {
    const Sum* from = row.data;
    const auto last = static_cast<std::size_t>(window_);
    const std::int64_t stride = row.stride;
    if constexpr (has_rows(kStep)) {
      const PoolAxis& a = p_.axes.back();
      if (!p_.backward && !a.adaptive && a.window <= a.x_size) {
        // Element k of all windows that have it in x.
        const auto n = static_cast<std::int64_t>(results.size());
        for (std::int64_t k = 0; k < a.window; ++k) {
          const std::int64_t at = a.to_begin * a.stride - a.before + k * a.dilation;
          if (at >= a.x_size) break;
          const std::int64_t low = std::min(n, at >= 0 ? 0 : (a.stride - 1 - at) / a.stride);
          const std::int64_t high = std::clamp((a.x_size - at + a.stride - 1) / a.stride, low, n);
          if (low == high) continue;
          add_row<Sum, kStep>(from + (at + low * a.stride) * stride, a.stride * stride, high - low,
                              results.data() + low);
        }
        return;
      }
    }
    const std::int64_t own = kStep == Step::chosen ? own_position(at) : 0;
    const std::int32_t* indices = nullptr;
    if constexpr (kStep == Step::chosen)
      indices = data<const std::int32_t>(*p_.indices) + offset_of(*p_.indices, t, at);
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Steps& s = steps_[last][i];
      Sum result = results[i];
      std::int32_t place = kStep == Step::place_of_max ? places[i] : 0;
      for (std::int64_t k = s.first; k < s.end; k += s.step) {
        bool chosen = true;
        if constexpr (kStep == Step::chosen) {
          chosen = indices[k * p_.indices->strides()[-1]] == own + static_cast<std::int64_t>(i);
        }
        const std::int64_t count =
            kStep == Step::divided ? t.count * counts_[last][static_cast<std::size_t>(k)] : std::int64_t{1};
        add(result, &place, from[k * stride], t.position + k, count, chosen);
      }
      results[i] = result;
      if constexpr (kStep == Step::place_of_max) places[i] = place;
    }
  }

  // What is done to sums at the end.
  void finish(Place at, std::vector<Sum>& results) const {
    if constexpr (std::is_floating_point_v<Sum>) {
      if (p_.kind == PoolKind::lp && p_.norm != 1) {
        for (Sum& v : results) {
          v = p_.norm == 2 ? std::sqrt(v) : std::pow(v, static_cast<Sum>(1 / p_.norm));
        }
      }
      if (kStep != Step::sum) return;
      if (!p_.counts()) {
        for (Sum& v : results) v /= static_cast<Sum>(p_.divisor);
        return;
      }
      for (std::size_t i = 0; i < results.size(); ++i) {
        at[static_cast<std::size_t>(inner_)] = static_cast<std::int64_t>(i);
        std::int64_t count = 1;
        for (int d = 0; d < p_.spatial(); ++d) {
          const std::int64_t window =
              p_.axes[static_cast<std::size_t>(d)].to_begin + at[static_cast<std::size_t>(PoolProblem::kSpatial + d)];
          count *= counts_[static_cast<std::size_t>(d)][static_cast<std::size_t>(window)];
        }
        results[i] /= static_cast<Sum>(std::max<std::int64_t>(count, 1));
      }
    }
  }

  void store(const Place& at, std::vector<Sum>& results, const std::vector<std::int32_t>& places,
             CpuExpression::Registers& registers) const {
    const auto offset = [&](const View& v) {
      std::int64_t o = 0;
      for (int d = 0; d < v.rank(); ++d) o += d == inner_ ? 0 : at[static_cast<std::size_t>(d)] * v.strides()[d];
      return o;
    };
    const auto row_of = [&](const View& v) {
      return CpuExpression::Row{v.buffer.data() + v.offset, offset(v), v.strides()[inner_]};
    };
    std::vector<CpuExpression::Row> inputs{{reinterpret_cast<std::byte*>(results.data()), 0, 1}};
    for (const View& v : p_.operands) inputs.push_back(row_of(v));
    const CpuExpression::Row output = row_of(p_.to);
    expression_.evaluate(registers, inputs, std::span(&output, 1), static_cast<std::int64_t>(results.size()));
    if constexpr (kStep == Step::place_of_max) {
      std::int32_t* to = data<std::int32_t>(*p_.indices) + offset(*p_.indices);
      for (std::size_t i = 0; i < places.size(); ++i) {
        to[static_cast<std::int64_t>(i) * p_.indices->strides()[inner_]] = places[i];
      }
    }
  }

  const PoolProblem& p_;
  CpuExpression expression_;
  std::optional<PrologueRows> prologue_;
  std::vector<std::vector<Steps>> steps_;          // of each result along a spatial axis
  std::vector<std::vector<std::int64_t>> counts_;  // of each window, if they are needed
  int inner_;                                      // the axis of rows
  int window_;                                     // how many spatial axes a tap tells the step of
  Dims outer_;                                     // the other axes
  Shape outer_shape_;
};

// The view in elements of another type: itself, or a copy in the same order.
View as_type(cpu::Executor& executor, const View& v, DType type) {
  if (v.dtype == type) return v;
  std::vector<int> order(static_cast<std::size_t>(v.rank())), back(order.size());
  for (std::size_t d = 0; d < order.size(); ++d) order[d] = static_cast<int>(d);
  std::ranges::stable_sort(order, std::greater(), [&](int d) { return std::abs(v.strides()[d]); });
  for (std::size_t d = 0; d < order.size(); ++d) back[static_cast<std::size_t>(order[d])] = static_cast<int>(d);
  Shape shape;
  for (const int d : order) shape.push_back(v.shape()[d]);
  const View copied =
      View(Buffer::host(byte_size(type, static_cast<std::uint64_t>(v.count()))), 0, type, shape).permuted(back);
  copy(executor, v, copied);
  return copied;
}

template <class Sum>
void run(cpu::Executor& executor, const PoolProblem& p, const Expression& epilogue) {
  switch (step_of(p)) {
    case Step::max:
      return Pool<Sum, Step::max>(p, epilogue).run(executor);
    case Step::place_of_max:
      return Pool<Sum, Step::place_of_max>(p, epilogue).run(executor);
    default:
      break;
  }
  if constexpr (std::is_floating_point_v<Sum>) {
    switch (step_of(p)) {
      case Step::sum:
        return Pool<Sum, Step::sum>(p, epilogue).run(executor);
      case Step::magnitude:
        return Pool<Sum, Step::magnitude>(p, epilogue).run(executor);
      case Step::square:
        return Pool<Sum, Step::square>(p, epilogue).run(executor);
      case Step::power:
        return Pool<Sum, Step::power>(p, epilogue).run(executor);
      case Step::chosen:
        return Pool<Sum, Step::chosen>(p, epilogue).run(executor);
      case Step::divided:
        return Pool<Sum, Step::divided>(p, epilogue).run(executor);
      default:
        break;
    }
  }
  throw InternalError("pool: no CPU form of it for {}", to_string(p.inputs[0]));
}

}  // namespace

void pool_cpu(cpu::Executor& executor, const PoolProblem& given, const Expression* epilogue) {
  PoolProblem p = given;
  const DType type = p.result_type();
  if (!p.prologue) p.inputs[0] = as_type(executor, given.inputs[0], type);
  Expression plain;
  if (!epilogue) {
    const int result = plain.input(type);
    plain.output(p.to.dtype == type ? result : plain.cast(result, p.to.dtype));
  }
  const Expression& e = epilogue ? *epilogue : plain;
  switch (type) {
    case DType::f64:
      return run<double>(executor, p, e);
    case DType::i32:
      return run<std::int32_t>(executor, p, e);
    case DType::u32:
      return run<std::uint32_t>(executor, p, e);
    default:
      return run<float>(executor, p, e);
  }
}

}  // namespace weft::kernels
