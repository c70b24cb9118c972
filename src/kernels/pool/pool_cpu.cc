// Pooling on the CPU's cores, a line of results along the last spatial axis at a time, with its channels where these
// are adjacent, so that each step of a window is vector work. The gradient of an average adds what its windows'
// averages are divided by; that of a maximum goes through the windows instead. A prologue makes the lines that are
// read, one at a time.
#include <cmath>

#include "core/format.h"
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
enum class Step : std::uint8_t { max, place_of_max, sum, magnitude, square, power, chosen };

Step step_of(const PoolProblem& p) {
  if (p.kind == PoolKind::max) return p.backward ? Step::chosen : p.indices ? Step::place_of_max : Step::max;
  if (p.kind == PoolKind::average) return Step::sum;
  return p.norm == 1 ? Step::magnitude : p.norm == 2 ? Step::square : Step::power;
}

// A step of all but the last spatial axis.
struct Tap {
  std::array<std::int64_t, 2> step{};  // along each axis
  std::int64_t position = 0;           // of the element, forward
};

template <Step kStep, class Sum>
WEFT_INLINE Sum stepped(Sum result, Sum v) {
  if constexpr (kStep == Step::max) return ((v > result) | (v != v)) ? v : result;
  if constexpr (kStep == Step::magnitude) return result + (v < 0 ? -v : v);
  if constexpr (kStep == Step::square) return result + v * v;
  return result + v;
}

// The same step of `count` results from elements that are `stride` apart.
template <class Sum, Step kStep>
WEFT_VECTOR_CLONES void add_row(const Sum* from, std::int64_t stride, std::int64_t count, Sum* results) {
  if (stride == 1) {
    for (std::int64_t i = 0; i < count; ++i) results[i] = stepped<kStep>(results[i], from[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) results[i] = stepped<kStep>(results[i], from[i * stride]);
  }
}
// results[i · apart] += from[i · stride]
template <class Sum>
WEFT_VECTOR_CLONES void add_apart(const Sum* from, std::int64_t stride, std::int64_t count, Sum* results,
                                  std::int64_t apart) {
  WEFT_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) results[i * apart] += from[i * stride];
}
// The steps of a line of places with all their channels: place i takes the elements steps[i], `next` apart.
template <class Sum, Step kStep>
WEFT_VECTOR_CLONES void add_line(const Sum* from, std::int64_t next, const Steps* steps, std::int64_t count,
                                 std::int64_t channels, Sum* results) {
  for (std::int64_t i = 0; i < count; ++i, results += channels) {
    const std::int64_t step = steps[i].step;
    std::int64_t k = steps[i].first;
    for (; k + 2 * step < steps[i].end; k += 3 * step) {
      const Sum *x0 = from + k * next, *x1 = x0 + step * next, *x2 = x1 + step * next;
      WEFT_INDEPENDENT
      for (std::int64_t c = 0; c < channels; ++c)
        results[c] = stepped<kStep>(stepped<kStep>(stepped<kStep>(results[c], x0[c]), x1[c]), x2[c]);
    }
    if (k + step < steps[i].end) {
      const Sum *x0 = from + k * next, *x1 = x0 + step * next;
      WEFT_INDEPENDENT
      for (std::int64_t c = 0; c < channels; ++c) results[c] = stepped<kStep>(stepped<kStep>(results[c], x0[c]), x1[c]);
    } else if (k < steps[i].end) {
      const Sum* const x0 = from + k * next;
      WEFT_INDEPENDENT
      for (std::int64_t c = 0; c < channels; ++c) results[c] = stepped<kStep>(results[c], x0[c]);
    }
  }
}

// The same of maxima with their places: of result i the element is at `position` + i · `apart`.
template <class Sum>
WEFT_VECTOR_CLONES void add_places(const Sum* from, std::int64_t stride, std::int64_t count, std::int64_t position,
                                   std::int64_t apart, Sum* results, std::int32_t* places) {
  const auto at = static_cast<std::int32_t>(position), step = static_cast<std::int32_t>(apart);
  const auto add = [&](std::int64_t i, Sum v) WEFT_INLINE_LAMBDA {
    const Sum result = results[i];
    const std::int32_t place = places[i];
    const bool is = (v > result) | (v != v) | (place < 0);
    results[i] = is ? v : result;
    places[i] = is ? at + static_cast<std::int32_t>(i) * step : place;
  };
  if (stride == 1) {
    for (std::int64_t i = 0; i < count; ++i) add(i, from[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) add(i, from[i * stride]);
  }
}
template <class Sum>
WEFT_VECTOR_CLONES void add_line_of_places(const Sum* from, std::int64_t next, const Steps* steps, std::int64_t count,
                                           std::int64_t channels, std::int64_t position, Sum* results,
                                           std::int32_t* places) {
  for (std::int64_t i = 0; i < count; ++i, results += channels, places += channels) {
    const std::int64_t step = steps[i].step;
    const auto apart = static_cast<std::int32_t>(step);
    std::int64_t k = steps[i].first;
    for (; k + step < steps[i].end; k += 2 * step) {
      const Sum *x0 = from + k * next, *x1 = x0 + step * next;
      const auto at = static_cast<std::int32_t>(position + k);
      WEFT_INDEPENDENT
      for (std::int64_t c = 0; c < channels; ++c) {
        const Sum v0 = x0[c], v1 = x1[c], result = results[c];
        const std::int32_t place = places[c];
        const bool first = (v0 > result) | (v0 != v0) | (place < 0);
        const Sum later = first ? v0 : result;
        const std::int32_t later_place = first ? at : place;
        const bool second = (v1 > later) | (v1 != v1);
        results[c] = second ? v1 : later;
        places[c] = second ? at + apart : later_place;
      }
    }
    if (k < steps[i].end) {
      const Sum* const x0 = from + k * next;
      const auto at = static_cast<std::int32_t>(position + k);
      WEFT_INDEPENDENT
      for (std::int64_t c = 0; c < channels; ++c) {
        const Sum v = x0[c], result = results[c];
        const std::int32_t place = places[c];
        const bool is = (v > result) | (v != v) | (place < 0);
        results[c] = is ? v : result;
        places[c] = is ? at : place;
      }
    }
  }
}

WEFT_VECTOR_CLONES void copy_apart(const std::int32_t* from, std::int64_t count, std::int32_t* to, std::int64_t step) {
  if (step == 1) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i];
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i * step] = from[i];
  }
}

template <class Sum>
WEFT_VECTOR_CLONES void divide(Sum* results, std::int64_t count, Sum divisor) {
  for (std::int64_t i = 0; i < count; ++i) results[i] /= divisor;
}

constexpr bool has_rows(Step step) {
  return step == Step::max || step == Step::sum || step == Step::magnitude || step == Step::square;
}

template <class Sum, Step kStep>
class Pool {
 public:
  Pool(const PoolProblem& p, const Expression& epilogue) : p_(p), expression_(epilogue) {
    if (p.prologue) prologue_.emplace(*p.prologue, p.result_type());
    const std::int64_t channels = p.to.shape()[1];
    const bool adjacent = channels >= 4 && p.to.strides()[1] == 1 &&
                          std::ranges::any_of(p.inputs, [](const View& v) { return v.strides()[1] == 1; });
    last_ = p.to.rank() - 1, inner_ = adjacent ? 1 : last_;
    channels_ = adjacent ? channels : 1;
    for (int d = 0; d < last_; ++d) {
      if (d != inner_) outer_.push_back(d), outer_shape_.push_back(p.to.shape()[d]);
    }
    // What tables hold depends on the axis alone; the last one's, which may be long, are made if elements need them.
    by_rows_ = inner_ != 1 && (has_rows(kStep) || kStep == Step::place_of_max) && !p.axes.back().adaptive &&
               p.axes.back().window <= p.axes.back().x_size;
    for (int d = 0; d < p.spatial(); ++d) {
      const PoolAxis& a = p.axes[static_cast<std::size_t>(d)];
      auto& steps = steps_.emplace_back();
      if (d + 1 < p.spatial() || !by_rows_) {
        for (std::int64_t i = 0; i < p.to.shape()[PoolProblem::kSpatial + d]; ++i) {
          steps.push_back(p.steps(d, a.to_begin + i));
        }
      }
      auto& counts_of = counts_.emplace_back();
      for (std::int64_t i = 0; p.counts() && i < a.y_size; ++i) counts_of.push_back(counted_elements(a, i));
    }
    // Lines are stored at once if their channels follow each other.
    const auto follow = [&](const View& v) {
      return inner_ == last_ || v.strides()[last_] == channels * v.strides()[1] || v.shape()[last_] == 1;
    };
    whole_ = follow(p.to) && std::ranges::all_of(p.operands, follow);
  }

  void run(cpu::Executor& executor) const {
    cpu::say_form([&] {
      return inner_ == 1 ? std::pair(std::string("channels"), std::string("channels are adjacent: lines hold them all"))
                         : std::pair(std::string("pixels"), std::string("lines lie along the last spatial axis"));
    });
    // A long line is cut, unless a prologue makes all that it reads.
    constexpr std::int64_t kPiece = 8192;
    const std::int64_t length = p_.to.shape()[last_], some = std::max<std::int64_t>(kPiece / channels_, 1),
                       piece = std::max<std::int64_t>(prologue_ ? length : std::min(length, some), 1);
    const std::int64_t pieces = (length + piece - 1) / piece;
    const double work = static_cast<double>(piece * channels_) * p_.taps();
    parallel(executor, element_count(outer_shape_) * pieces, static_cast<std::int64_t>(32768 / std::max(work, 1.0)) + 1,
             [&](std::int64_t begin, std::int64_t end) {
               Work w{.registers = CpuExpression::Registers(expression_)};
               w.operands.resize(p_.operands.size() + 1);
               if (prologue_) {
                 w.source.emplace(prologue_->registers(),
                                  std::vector<Sum>(static_cast<std::size_t>(p_.from_shape()[-1] * channels_)));
               }
               for (std::int64_t r = begin; r < end; ++r) {
                 w.begin = r % pieces * piece;
                 w.count = std::min(piece, length - w.begin);
                 w.results.resize(static_cast<std::size_t>(w.count * channels_));
                 if (kStep == Step::place_of_max) w.places.resize(w.results.size());
                 line(r / pieces, w);
               }
             });
  }

 private:
  using Place = std::array<std::int64_t, kMaxRank>;
  // A line of x as the prologue makes it.
  struct Source {
    CpuExpression::Registers registers;
    std::vector<Sum> line;
  };
  // What a task has of its own, and the places begin…begin+count-1 of a line, with channels_ results each.
  struct Work {
    std::int64_t begin = 0, count = 0;
    std::vector<Sum> results;
    std::vector<std::int32_t> places;
    std::vector<Tap> taps, more;
    std::vector<CpuExpression::Row> operands;
    CpuExpression::Registers registers;
    std::optional<Source> source;
  };
  // From position 0 of the whole on.
  struct FromLine {
    const Sum* data;
    std::int64_t stride;
  };

  void line(std::int64_t r, Work& w) const {
    Place at{};
    for (int k = outer_.rank() - 1; k >= 0; --k) {
      at[static_cast<std::size_t>(outer_[k])] = r % outer_shape_[k];
      r /= outer_shape_[k];
    }
    at[static_cast<std::size_t>(last_)] = w.begin;
    const bool maximum = kStep == Step::max || kStep == Step::place_of_max;
    std::ranges::fill(w.results, maximum ? static_cast<Sum>(p_.least()) : Sum(0));
    std::ranges::fill(w.places, -1);
    find_taps(at, w);
    for (const Tap& t : w.taps) {
      const FromLine from = from_line(t, at, w.source);
      if (by_rows_)
        along_rows(from, t, w);
      else if (inner_ == 1 && (has_rows(kStep) || kStep == Step::place_of_max))
        along_channels(from, t, w);
      else
        along_places(from, t, w);
    }
    finish(at, w);
    store(at, w);
  }

  FromLine from_line(const Tap& t, const Place& at, std::optional<Source>& source) const {
    if (!source) {
      const View& x = p_.inputs[0];
      return {data<const Sum>(x) + offset_of(x, t, at), x.strides()[last_]};
    }
    std::vector<CpuExpression::Row> rows;
    for (const View& v : p_.inputs) {
      rows.push_back({v.buffer.data() + v.offset, offset_of(v, t, at), v.strides()[inner_]});
    }
    if (inner_ == last_) {
      (*prologue_)(source->registers, rows, p_.from_shape()[-1], source->line.data());
    } else {
      for (std::int64_t i = 0; i < p_.from_shape()[-1]; ++i) {
        (*prologue_)(source->registers, rows, channels_, source->line.data() + i * channels_);
        for (std::size_t k = 0; k < rows.size(); ++k) rows[k].first += p_.inputs[k].strides()[last_];
      }
    }
    if constexpr (kStep == Step::sum) {
      if (p_.backward && p_.counts()) {
        std::int64_t count = 1;
        for (std::size_t d = 0; d + 1 < counts_.size(); ++d) count *= counts_[d][static_cast<std::size_t>(t.step[d])];
        divide_places(count, counts_.back().data(), p_.from_shape()[-1], source->line.data());
      }
    }
    return {source->line.data(), channels_};
  }
  std::int64_t offset_of(const View& v, const Tap& t, const Place& at) const {
    std::int64_t offset = at[0] * v.strides()[0] + at[1] * v.strides()[1];
    for (int d = 0; d + 1 < p_.spatial(); ++d) {
      offset += t.step[static_cast<std::size_t>(d)] * v.strides()[PoolProblem::kSpatial + d];
    }
    return offset;
  }

  void find_taps(const Place& at, Work& w) const {
    w.taps.assign(1, {});
    for (int d = 0; d + 1 < p_.spatial(); ++d) {
      const int axis = PoolProblem::kSpatial + d;
      const Steps& s =
          steps_[static_cast<std::size_t>(d)][static_cast<std::size_t>(at[static_cast<std::size_t>(axis)])];
      w.more.clear();
      for (const Tap& t : w.taps) {
        for (std::int64_t k = s.first; k < s.end; k += s.step) {
          Tap tap = t;
          tap.step[static_cast<std::size_t>(d)] = k;
          tap.position += k * p_.index_stride(d);
          w.more.push_back(tap);
        }
      }
      w.taps.swap(w.more);
    }
  }

  // Element k of all windows that have it in x; of a gradient the windows that have element k in the line.
  void along_rows(const FromLine& line, const Tap& t, Work& w) const {
    if constexpr (has_rows(kStep) || kStep == Step::place_of_max) {
      const PoolAxis& a = p_.axes.back();
      if (p_.backward) {
        // The last first, so that each result adds its windows in their order.
        for (std::int64_t k = std::min(a.window - 1, (a.x_size + a.before) / a.dilation); k >= 0; --k) {
          const std::int64_t at = k * a.dilation - a.before - a.to_begin - w.begin;
          const std::int64_t low = at >= 0 ? 0 : std::min(a.y_size, (a.stride - 1 - at) / a.stride);
          const std::int64_t high =
              at >= w.count ? low : std::clamp((w.count - at + a.stride - 1) / a.stride, low, a.y_size);
          if (low == high) continue;
          const Sum* const from = line.data + low * line.stride;
          Sum* const results = w.results.data() + at + low * a.stride;
          if (a.stride == 1)
            add_row<Sum, Step::sum>(from, line.stride, high - low, results);
          else
            add_apart(from, line.stride, high - low, results, a.stride);
        }
        return;
      }
      for (std::int64_t k = 0; k < a.window; ++k) {
        const std::int64_t at = (a.to_begin + w.begin) * a.stride - a.before + k * a.dilation;
        if (at >= a.x_size) break;
        const std::int64_t low = std::min(w.count, at >= 0 ? 0 : (a.stride - 1 - at) / a.stride);
        const std::int64_t high = std::clamp((a.x_size - at + a.stride - 1) / a.stride, low, w.count);
        if (low == high) continue;
        const Sum* const from = line.data + (at + low * a.stride) * line.stride;
        if constexpr (kStep == Step::place_of_max) {
          add_places(from, a.stride * line.stride, high - low, t.position + at + low * a.stride, a.stride,
                     w.results.data() + low, w.places.data() + low);
        } else {
          add_row<Sum, kStep>(from, a.stride * line.stride, high - low, w.results.data() + low);
        }
      }
    }
  }

  void along_channels(const FromLine& line, const Tap& t, Work& w) const {
    const Steps* const steps = steps_.back().data() + w.begin;
    if constexpr (has_rows(kStep)) {
      add_line<Sum, kStep>(line.data, line.stride, steps, w.count, channels_, w.results.data());
    } else if constexpr (kStep == Step::place_of_max) {
      add_line_of_places(line.data, line.stride, steps, w.count, channels_, t.position, w.results.data(),
                         w.places.data());
    }
  }

  // Windows of their own sizes, and powers.
  void along_places(const FromLine& line, const Tap& t, Work& w) const {
    for (std::int64_t i = 0; i < w.count; ++i) {
      const Steps& s = steps_.back()[static_cast<std::size_t>(w.begin + i)];
      for (std::int64_t k = s.first; k < s.end; k += s.step) {
        for (std::int64_t c = 0; c < channels_; ++c) {
          const auto at = static_cast<std::size_t>(i * channels_ + c);
          const Sum v = line.data[k * line.stride + c];
          if constexpr (kStep == Step::place_of_max) {
            if (v > w.results[at] || v != v || w.places[at] < 0)
              w.results[at] = v, w.places[at] = static_cast<std::int32_t>(t.position + k);
          } else if constexpr (kStep == Step::power) {
            if constexpr (std::is_floating_point_v<Sum>)
              w.results[at] += std::pow(std::abs(v), static_cast<Sum>(p_.norm));
          } else {
            w.results[at] = stepped<kStep>(w.results[at], v);
          }
        }
      }
    }
  }

  // What is done to sums at the end.
  void finish(const Place& at, Work& w) const {
    std::vector<Sum>& results = w.results;
    if constexpr (std::is_floating_point_v<Sum>) {
      if (p_.kind == PoolKind::lp && p_.norm != 1) {
        for (Sum& v : results) {
          v = p_.norm == 2 ? std::sqrt(v) : std::pow(v, static_cast<Sum>(1 / p_.norm));
        }
      }
      if (kStep != Step::sum) return;
      if (!p_.counts())
        return divide(results.data(), static_cast<std::int64_t>(results.size()), static_cast<Sum>(p_.divisor));
      if (p_.backward) return;  // see from_line()
      std::int64_t count = 1;
      for (int d = 0; d + 1 < p_.spatial(); ++d)
        count *= counted(d, at[static_cast<std::size_t>(PoolProblem::kSpatial + d)]);
      divide_places(count, counts_.back().data() + p_.axes.back().to_begin + w.begin, w.count, results.data());
    }
  }
  // Divides the results of places by the numbers that their windows count, those of one number together.
  void divide_places(std::int64_t outer, const std::int64_t* counts, std::int64_t places, Sum* results) const {
    for (std::int64_t i = 0, end = 0; i < places; i = end) {
      while (end < places && counts[end] == counts[i]) ++end;
      divide(results + i * channels_, (end - i) * channels_,
             static_cast<Sum>(std::max<std::int64_t>(outer * counts[i], 1)));
    }
  }
  // What an average counts along an axis, of index i of `to`.
  std::int64_t counted(int d, std::int64_t i) const {
    return counts_[static_cast<std::size_t>(d)]
                  [static_cast<std::size_t>(p_.axes[static_cast<std::size_t>(d)].to_begin + i)];
  }

  void store(const Place& at, Work& w) const {
    const auto offset = [&](const View& v) {
      std::int64_t o = 0;
      for (int d = 0; d < v.rank(); ++d) o += at[static_cast<std::size_t>(d)] * v.strides()[d];
      return o;
    };
    // All places at once, or the channels of each.
    const std::int64_t parts = whole_ ? 1 : w.count, length = whole_ ? w.count * channels_ : channels_;
    for (std::int64_t i = 0; i < parts; ++i) {
      const auto row_of = [&](const View& v) {
        return CpuExpression::Row{v.buffer.data() + v.offset, offset(v) + i * v.strides()[last_], v.strides()[inner_]};
      };
      w.operands[0] = {reinterpret_cast<std::byte*>(w.results.data()), i * length, 1};
      for (std::size_t k = 0; k < p_.operands.size(); ++k) w.operands[k + 1] = row_of(p_.operands[k]);
      const CpuExpression::Row output = row_of(p_.to);
      expression_.evaluate(w.registers, w.operands, std::span(&output, 1), length);
    }
    if constexpr (kStep == Step::place_of_max) {
      const std::int64_t rows = inner_ == last_ ? 1 : w.count, step = p_.indices->strides()[inner_];
      const auto row = static_cast<std::int64_t>(w.places.size()) / rows;
      std::int32_t* const to = data<std::int32_t>(*p_.indices) + offset(*p_.indices);
      for (std::int64_t i = 0; i < rows; ++i)
        copy_apart(w.places.data() + i * row, row, to + i * p_.indices->strides()[last_], step);
    }
  }

  const PoolProblem& p_;
  CpuExpression expression_;
  std::optional<PrologueRows> prologue_;
  std::vector<std::vector<Steps>> steps_;          // of each result along a spatial axis
  std::vector<std::vector<std::int64_t>> counts_;  // of each window, if they are needed
  int last_, inner_;                               // the last axis; that of neighbours in results, 1 or the last
  std::int64_t channels_;                          // results of a place of a line
  bool by_rows_ = false;                           // an element of all windows at a time
  bool whole_ = true;                              // a line is one row of y and of the operands
  Dims outer_;                                     // the axes of lines
  Shape outer_shape_;
};

// The elements that `count` windows chose: chosen[j] if window j has it, else `none`, the number of elements. The
// window has the lines [lines.first, lines.end), and along a line elements from start + j · advance on.
WEFT_VECTOR_CLONES void find_places(const std::int32_t* chosen, std::int64_t index_step, std::int64_t count,
                                    const Steps& lines, std::int64_t start, std::int64_t advance, const PoolAxis& axis,
                                    std::int32_t none, std::int64_t* places) {
  const auto first = static_cast<std::int32_t>(lines.first), end = static_cast<std::int32_t>(lines.end);
  const auto size = static_cast<std::uint32_t>(axis.x_size);
  const std::int64_t window = axis.window;
  const double inverse = 1.0 / size;
  const auto find = [&](std::int64_t j, std::int32_t element) WEFT_INLINE_LAMBDA {
    auto line = static_cast<std::int32_t>(element * inverse);
    std::int64_t column = static_cast<std::int64_t>(element) - std::int64_t{line} * size;
    const bool below = column >= size;  // the product may have been rounded
    line += below;
    column -= below ? size : 0;
    const std::int64_t k = column - (start + j * advance);
    const bool has = (element >= 0) & (element < none) & (line >= first) & (line < end) & (k >= 0) & (k < window);
    places[j] = has ? element : none;
  };
  if (index_step == 1) {
    for (std::int64_t j = 0; j < count; ++j) find(j, chosen[j]);
  } else {
    for (std::int64_t j = 0; j < count; ++j) find(j, chosen[j * index_step]);
  }
}

// The gradient of a maximum: each window adds to the element of x that it chose. A task has some channels of an item of
// the batch, and adds in the windows' order.
template <class Sum>
class MaxGradient {
 public:
  MaxGradient(const PoolProblem& p, const Expression& epilogue) : p_(p), expression_(epilogue) {
    if (p.prologue) prologue_.emplace(*p.prologue, p.result_type());
    for (int d = PoolProblem::kSpatial; d < p.to.rank(); ++d) places_ *= p.to.shape()[d];
    const std::int64_t channels = p.to.shape()[1];
    adjacent_ = channels >= 4 && p.to.strides()[1] == 1 &&
                std::ranges::any_of(p.inputs, [](const View& v) { return v.strides()[1] == 1; });
    constexpr std::int64_t kMost = 256 << 10, kLeast = 16;  // sums of a task; channels of one
    if (adjacent_) block_ = std::min(channels, std::max(kMost / std::max<std::int64_t>(places_, 1), kLeast));
    blocks_ = (channels + block_ - 1) / block_;
    // What one row of results holds: all, if they follow each other in all views.
    const int rank = p.to.rank();
    whole_ = !adjacent_ || block_ == channels;
    const auto follow = [&](const View& v) {
      std::int64_t next = adjacent_ ? channels : v.strides()[-1];
      for (int d = rank - 1; d >= PoolProblem::kSpatial; --d) {
        if (v.shape()[d] > 1) whole_ &= v.strides()[d] == next;
        next *= v.shape()[d];
      }
      if (adjacent_) whole_ &= v.strides()[1] == 1;
    };
    follow(p.to);
    for (const View& v : p.operands) follow(v);
  }

  void run(cpu::Executor& executor) const {
    if (places_ == 0) return;
    cpu::say_form([&] {
      return std::pair(std::string(adjacent_ ? "windows_of_channels" : "windows"),
                       std::string("each window adds to the element that it chose"));
    });
    parallel(executor, p_.to.shape()[0] * blocks_, 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<Sum> sums;
      std::vector<std::int64_t> places(static_cast<std::size_t>(row_length()));
      std::vector<CpuExpression::Row> rows(p_.operands.size() + 1);
      CpuExpression::Registers registers(expression_);
      std::optional<Source> source;
      if (prologue_) source.emplace(prologue_->registers(), std::vector<Sum>(static_cast<std::size_t>(row_length())));
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t n = task / blocks_, c = task % blocks_ * block_;
        const std::int64_t channels = std::min(block_, p_.to.shape()[1] - c);
        sums.assign(static_cast<std::size_t>((places_ + 1) * channels), Sum(0));
        add_windows(n, c, channels, source, places.data(), sums.data());
        store(n, c, channels, sums.data(), rows, registers);
      }
    });
  }

 private:
  using Place = std::array<std::int64_t, 3>;
  struct Source {
    CpuExpression::Registers registers;
    std::vector<Sum> row;
  };
  std::int64_t row_length() const { return adjacent_ ? block_ : p_.from_shape()[-1]; }

  // Whether window i has element e of x.
  static bool contains(const PoolAxis& a, std::int64_t i, std::int64_t e) {
    if (a.adaptive) {
      const Steps s = elements_of_window(a, i);
      return e >= s.first && e < s.end;
    }
    const std::int64_t k = e - (i * a.stride - a.before);
    return k >= 0 && k <= (a.window - 1) * a.dilation && (a.dilation == 1 || k % a.dilation == 0);
  }
  bool contains(Place window, std::int64_t element) const {
    if (element < 0 || element >= places_) return false;
    auto rest = static_cast<std::uint32_t>(element);  // less than 2^31
    for (int d = p_.spatial() - 1; d >= 0; --d) {
      const PoolAxis& a = p_.axes[static_cast<std::size_t>(d)];
      const auto size = static_cast<std::uint32_t>(a.x_size);
      if (!contains(a, window[static_cast<std::size_t>(d)], d == 0 ? rest : rest % size)) return false;
      rest /= size;
    }
    return true;
  }

  void add_windows(std::int64_t n, std::int64_t c, std::int64_t channels, std::optional<Source>& source,
                   std::int64_t* places, Sum* sums) const {
    const int spatial = p_.spatial(), outer = adjacent_ ? spatial : spatial - 1;
    const int along = adjacent_ ? 1 : p_.to.rank() - 1;
    const View& indices = *p_.indices;
    const std::int64_t length = adjacent_ ? channels : p_.from_shape()[-1];
    std::int64_t rows = 1;
    for (int d = 0; d < outer; ++d) rows *= p_.from_shape()[PoolProblem::kSpatial + d];
    Place window{};
    for (std::int64_t r = 0; r < rows; ++r) {
      std::int64_t rest = r;
      for (int d = outer - 1; d >= 0; --d) {
        window[static_cast<std::size_t>(d)] = rest % p_.from_shape()[PoolProblem::kSpatial + d];
        rest /= p_.from_shape()[PoolProblem::kSpatial + d];
      }
      const auto offset = [&](const View& v) {
        std::int64_t at = n * v.strides()[0] + c * v.strides()[1];
        for (int d = 0; d < outer; ++d)
          at += window[static_cast<std::size_t>(d)] * v.strides()[PoolProblem::kSpatial + d];
        return at;
      };
      const Sum* from = data<const Sum>(p_.inputs[0]) + (source ? 0 : offset(p_.inputs[0]));
      std::int64_t step = p_.inputs[0].strides()[along];
      if (source) {
        std::vector<CpuExpression::Row> inputs;
        for (const View& v : p_.inputs) inputs.push_back({v.buffer.data() + v.offset, offset(v), v.strides()[along]});
        (*prologue_)(source->registers, inputs, length, source->row.data());
        from = source->row.data(), step = 1;
      }
      const std::int32_t* const chosen = data<const std::int32_t>(indices) + offset(indices);
      const std::int64_t index_step = indices.strides()[along];
      const PoolAxis& last = p_.axes.back();
      const auto none = static_cast<std::int32_t>(places_);
      if (const Steps lines = spatial == 1 ? Steps{0, 1, 1} : elements_of_window(p_.axes[0], window[0]);
          spatial > 2 || last.adaptive || last.dilation != 1 || lines.step != 1) {
        for (std::int64_t j = 0; j < length; ++j) {
          if (!adjacent_) window[static_cast<std::size_t>(spatial - 1)] = j;
          const std::int64_t element = chosen[j * index_step];
          places[j] = contains(window, element) ? element : none;
        }
      } else {
        const std::int64_t start =
            (adjacent_ ? window[static_cast<std::size_t>(spatial - 1)] * last.stride : 0) - last.before;
        find_places(chosen, index_step, length, lines, start, adjacent_ ? 0 : last.stride, last, none, places);
      }
      // What no window has is added behind the elements.
      if (adjacent_) {
        for (std::int64_t j = 0; j < length; ++j) sums[places[j] * channels + j] += from[j * step];
      } else {
        for (std::int64_t j = 0; j < length; ++j) sums[places[j]] += from[j * step];
      }
    }
  }

  void store(std::int64_t n, std::int64_t c, std::int64_t channels, Sum* sums, std::vector<CpuExpression::Row>& rows,
             CpuExpression::Registers& registers) const {
    const int rank = p_.to.rank(), last = rank - 1;
    const std::int64_t length = whole_ ? places_ * channels : adjacent_ ? channels : p_.to.shape()[last];
    for (std::int64_t done = 0; done < places_ * channels; done += length) {
      const auto row_of = [&](const View& v) {
        std::int64_t at = n * v.strides()[0] + c * v.strides()[1], rest = done / channels;
        for (int d = last; d >= PoolProblem::kSpatial; --d) {
          at += rest % v.shape()[d] * v.strides()[d];
          rest /= v.shape()[d];
        }
        return CpuExpression::Row{v.buffer.data() + v.offset, at, v.strides()[adjacent_ ? 1 : last]};
      };
      rows[0] = {reinterpret_cast<std::byte*>(sums), done, 1};
      for (std::size_t k = 0; k < p_.operands.size(); ++k) rows[k + 1] = row_of(p_.operands[k]);
      const CpuExpression::Row output = row_of(p_.to);
      expression_.evaluate(registers, rows, std::span(&output, 1), length);
    }
  }

  const PoolProblem& p_;
  CpuExpression expression_;
  std::optional<PrologueRows> prologue_;
  std::int64_t places_ = 1;              // of an item and a channel of x
  bool adjacent_ = false;                // channels are
  std::int64_t block_ = 1, blocks_ = 1;  // channels of a task
  bool whole_ = true;                    // its results are one row
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

// The number that all averages count, if the first and last along each axis show that it is one.
std::optional<std::int64_t> common_count(const PoolProblem& p) {
  std::int64_t common = 1;
  for (const PoolAxis& a : p.axes) {
    if (a.y_size == 0) return std::nullopt;
    const std::int64_t count = counted_elements(a, 0);
    // The counts fall where they include padding, else they rise first.
    const bool same = a.adaptive ? a.x_size % a.y_size == 0 : a.count_padding || count == a.window;
    if (!same || count != counted_elements(a, a.y_size - 1)) return std::nullopt;
    common *= count;
  }
  if (common == 0) return std::nullopt;
  return common;
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
        return MaxGradient<Sum>(p, epilogue).run(executor);
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
  Expression same;
  same.output(same.input(p.inputs[0].dtype));
  if (p.counts()) {
    // Gradients of averages with a number of their own are divided line by line, as if a prologue did it.
    if (const auto count = common_count(p))
      p.divisor = *count;
    else if (p.backward && !p.prologue)
      p.prologue = &same;
  }
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
