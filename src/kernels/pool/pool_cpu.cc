// Pooling on the CPU's cores, a row of results at a time: along the channels, where these are adjacent, so that each
// step of a window is vector work on rows; else along the last spatial axis. The gradient of a maximum goes through the
// windows instead. A prologue makes the rows that are read,
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
// The same of maxima with their places: of result i the element is at `position` + i · `apart`.
template <class Sum>
WEFT_VECTOR_CLONES void add_places(const Sum* from, std::int64_t stride, std::int64_t count, std::int64_t position,
                                   std::int64_t apart, Sum* results, std::int32_t* places) {
  const auto at = static_cast<std::int32_t>(position), step = static_cast<std::int32_t>(apart);
  const auto add = [&](std::int64_t i, Sum v) WEFT_INLINE_LAMBDA {
    const Sum result = results[i];
    const std::int32_t place = places[i];
    const bool takes = (v > result) | (v != v) | (place < 0);
    results[i] = takes ? v : result;
    places[i] = takes ? at + static_cast<std::int32_t>(i) * step : place;
  };
  if (stride == 1) {
    for (std::int64_t i = 0; i < count; ++i) add(i, from[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) add(i, from[i * stride]);
  }
}

template <class Sum>
WEFT_VECTOR_CLONES void add_divided(const Sum* from, Sum divisor, std::int64_t count, Sum* results) {
  for (std::int64_t i = 0; i < count; ++i) results[i] += from[i] / divisor;
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
    inner_ = adjacent ? 1 : p.to.rank() - 1;
    window_ = adjacent ? p.spatial() : p.spatial() - 1;
    for (int d = 0; d < p.to.rank(); ++d) {
      if (d != inner_) outer_.push_back(d), outer_shape_.push_back(p.to.shape()[d]);
    }
    // What tables hold depends on the axis alone; the last one's, which may be long, are made if elements need them.
    const bool counts = p.counts();
    by_rows_ = inner_ != 1 && (has_rows(kStep) || kStep == Step::place_of_max) && !p.backward &&
               !p.axes.back().adaptive && p.axes.back().window <= p.axes.back().x_size;
    for (int d = 0; d < p.spatial(); ++d) {
      const PoolAxis& a = p.axes[static_cast<std::size_t>(d)];
      auto& steps = steps_.emplace_back();
      if (d < window_ || !by_rows_) {
        for (std::int64_t i = 0; i < p.to.shape()[PoolProblem::kSpatial + d]; ++i) {
          steps.push_back(p.steps(d, a.to_begin + i));
        }
      }
      auto& counts_of = counts_.emplace_back();
      for (std::int64_t i = 0; counts && i < a.y_size; ++i) counts_of.push_back(counted_elements(a, i));
    }
  }

  void run(cpu::Executor& executor) const {
    cpu::say_form([&] {
      return inner_ == 1 ? std::pair(std::string("channels"), std::string("channels are adjacent: rows lie along them"))
                         : std::pair(std::string("pixels"), std::string("rows lie along the last spatial axis"));
    });
    // A long row is cut, unless a prologue makes all that it reads.
    constexpr std::int64_t kPiece = 8192;
    const std::int64_t length = p_.to.shape()[inner_],
                       piece = std::max<std::int64_t>(prologue_ ? length : std::min(length, kPiece), 1);
    const std::int64_t pieces = (length + piece - 1) / piece;
    const double work = static_cast<double>(piece) * p_.taps();
    parallel(executor, element_count(outer_shape_) * pieces, static_cast<std::int64_t>(32768 / std::max(work, 1.0)) + 1,
             [&](std::int64_t begin, std::int64_t end) {
               Work w{.registers = CpuExpression::Registers(expression_)};
               w.operands.resize(p_.operands.size() + 1);
               if (prologue_) w.source.emplace(prologue_->registers(), std::vector<Sum>(row_of_x()));
               for (std::int64_t r = begin; r < end; ++r) {
                 w.begin = r % pieces * piece;
                 w.results.resize(static_cast<std::size_t>(std::min(piece, length - w.begin)));
                 if (kStep == Step::place_of_max) w.places.resize(w.results.size());
                 row(r / pieces, w);
               }
             });
  }

 private:
  using Place = std::array<std::int64_t, kMaxRank>;
  // A row of x as the prologue makes it.
  struct Source {
    CpuExpression::Registers registers;
    std::vector<Sum> row;
  };
  // What a task has of its own, and the results begin…begin+size-1 of a row.
  struct Work {
    std::int64_t begin = 0;
    std::vector<Sum> results;
    std::vector<std::int32_t> places;
    std::vector<Tap> taps, more;
    std::vector<CpuExpression::Row> operands;
    CpuExpression::Registers registers;
    std::optional<Source> source;
  };
  struct FromRow {
    const Sum* data;
    std::int64_t stride;
  };
  // The elements of a row of x.
  std::size_t row_of_x() const {
    return static_cast<std::size_t>(inner_ == 1 ? p_.to.shape()[1] : p_.from_shape()[-1]);
  }

  void row(std::int64_t r, Work& w) const {
    Place at{};
    for (int k = outer_.rank() - 1; k >= 0; --k) {
      at[static_cast<std::size_t>(outer_[k])] = r % outer_shape_[k];
      r /= outer_shape_[k];
    }
    at[static_cast<std::size_t>(inner_)] = w.begin;
    const bool maximum = kStep == Step::max || kStep == Step::place_of_max;
    std::ranges::fill(w.results, maximum ? static_cast<Sum>(p_.least()) : Sum(0));
    std::ranges::fill(w.places, -1);
    find_taps(at, w);
    for (const Tap& t : w.taps) {
      const FromRow from = from_row(t, at, w.source);
      if (inner_ == 1)
        along_channels(from, t, w);
      else
        along_pixels(from, t, w);
    }
    finish(at, w);
    store(at, w);
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
    std::int64_t offset = at[0] * v.strides()[0] + at[1] * v.strides()[1];
    for (int d = 0; d < window_; ++d) {
      offset += t.step[static_cast<std::size_t>(d)] * v.strides()[PoolProblem::kSpatial + d];
    }
    return offset;
  }

  void find_taps(const Place& at, Work& w) const {
    w.taps.assign(1, {});
    for (int d = 0; d < window_; ++d) {
      const int axis = PoolProblem::kSpatial + d;
      const Steps& s =
          steps_[static_cast<std::size_t>(d)][static_cast<std::size_t>(at[static_cast<std::size_t>(axis)])];
      w.more.clear();
      for (const Tap& t : w.taps) {
        for (std::int64_t k = s.first; k < s.end; k += s.step) {
          Tap tap = t;
          tap.step[static_cast<std::size_t>(d)] = k;
          tap.position += k * p_.index_stride(d);
          if (kStep == Step::divided) tap.count *= counts_[static_cast<std::size_t>(d)][static_cast<std::size_t>(k)];
          w.more.push_back(tap);
        }
      }
      w.taps.swap(w.more);
    }
  }

  void add(Sum& result, std::int32_t* place, Sum v, std::int64_t position, std::int64_t count) const {
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
    } else if (kStep == Step::divided && count > 0) {
      result += v / static_cast<Sum>(count);
    }
  }

  void along_channels(const FromRow& row, const Tap& t, Work& w) const {
    const Sum* from = row.data;
    const auto n = static_cast<std::int64_t>(w.results.size());
    if constexpr (has_rows(kStep)) {
      add_row<Sum, kStep>(from, 1, n, w.results.data());
    } else if constexpr (kStep == Step::place_of_max) {
      add_places(from, 1, n, t.position, 0, w.results.data(), w.places.data());
    } else if constexpr (kStep == Step::divided) {
      if (t.count > 0) add_divided(from, static_cast<Sum>(t.count), n, w.results.data());
    } else {
      for (std::int64_t c = 0; c < n; ++c) add(w.results[static_cast<std::size_t>(c)], nullptr, from[c], 0, 1);
    }
  }

  void along_pixels(const FromRow& row, const Tap& t, Work& w) const {
    const auto last = static_cast<std::size_t>(window_);
    const std::int64_t stride = row.stride;
    const auto n = static_cast<std::int64_t>(w.results.size());
    if constexpr (has_rows(kStep) || kStep == Step::place_of_max) {
      if (by_rows_) {
        // Element k of all windows that have it in x.
        const PoolAxis& a = p_.axes.back();
        for (std::int64_t k = 0; k < a.window; ++k) {
          const std::int64_t at = (a.to_begin + w.begin) * a.stride - a.before + k * a.dilation;
          if (at >= a.x_size) break;
          const std::int64_t low = std::min(n, at >= 0 ? 0 : (a.stride - 1 - at) / a.stride);
          const std::int64_t high = std::clamp((a.x_size - at + a.stride - 1) / a.stride, low, n);
          if (low == high) continue;
          const Sum* from = row.data + (at + low * a.stride) * stride;
          if constexpr (kStep == Step::place_of_max) {
            add_places(from, a.stride * stride, high - low, t.position + at + low * a.stride, a.stride,
                       w.results.data() + low, w.places.data() + low);
          } else {
            add_row<Sum, kStep>(from, a.stride * stride, high - low, w.results.data() + low);
          }
        }
        return;
      }
    }
    for (std::int64_t i = 0; i < n; ++i) {
      const Steps& s = steps_[last][static_cast<std::size_t>(w.begin + i)];
      Sum result = w.results[static_cast<std::size_t>(i)];
      std::int32_t place = kStep == Step::place_of_max ? w.places[static_cast<std::size_t>(i)] : 0;
      for (std::int64_t k = s.first; k < s.end; k += s.step) {
        const std::int64_t count =
            kStep == Step::divided ? t.count * counts_[last][static_cast<std::size_t>(k)] : std::int64_t{1};
        add(result, &place, row.data[k * stride], t.position + k, count);
      }
      w.results[static_cast<std::size_t>(i)] = result;
      if constexpr (kStep == Step::place_of_max) w.places[static_cast<std::size_t>(i)] = place;
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
      if (!p_.counts()) {
        for (Sum& v : results) v /= static_cast<Sum>(p_.divisor);
        return;
      }
      std::int64_t count = 1;
      for (int d = 0; d < window_; ++d) count *= counted(d, at[static_cast<std::size_t>(PoolProblem::kSpatial + d)]);
      if (inner_ == 1) {
        for (Sum& v : results) v /= static_cast<Sum>(std::max<std::int64_t>(count, 1));
        return;
      }
      for (std::size_t i = 0; i < results.size(); ++i) {
        const std::int64_t own = count * counted(window_, w.begin + static_cast<std::int64_t>(i));
        results[i] /= static_cast<Sum>(std::max<std::int64_t>(own, 1));
      }
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
    const auto row_of = [&](const View& v) {
      return CpuExpression::Row{v.buffer.data() + v.offset, offset(v), v.strides()[inner_]};
    };
    w.operands[0] = {reinterpret_cast<std::byte*>(w.results.data()), 0, 1};
    for (std::size_t k = 0; k < p_.operands.size(); ++k) w.operands[k + 1] = row_of(p_.operands[k]);
    const CpuExpression::Row output = row_of(p_.to);
    expression_.evaluate(w.registers, w.operands, std::span(&output, 1), static_cast<std::int64_t>(w.results.size()));
    if constexpr (kStep == Step::place_of_max) {
      std::int32_t* to = data<std::int32_t>(*p_.indices) + offset(*p_.indices);
      for (std::size_t i = 0; i < w.places.size(); ++i) {
        to[static_cast<std::int64_t>(i) * p_.indices->strides()[inner_]] = w.places[i];
      }
    }
  }

  const PoolProblem& p_;
  CpuExpression expression_;
  std::optional<PrologueRows> prologue_;
  std::vector<std::vector<Steps>> steps_;          // of each result along a spatial axis
  std::vector<std::vector<std::int64_t>> counts_;  // of each window, if they are needed
  int inner_;                                      // the axis of rows
  bool by_rows_ = false;                           // along pixels, an element of all windows at a time
  int window_;                                     // how many spatial axes a tap tells the step of
  Dims outer_;                                     // the other axes
  Shape outer_shape_;
};

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
    cpu::say_form([&] {
      return std::pair(std::string(adjacent_ ? "windows_of_channels" : "windows"),
                       std::string("each window adds to the element that it chose"));
    });
    parallel(executor, p_.to.shape()[0] * blocks_, 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<Sum> sums;
      std::vector<CpuExpression::Row> rows(p_.operands.size() + 1);
      CpuExpression::Registers registers(expression_);
      std::optional<Source> source;
      if (prologue_) source.emplace(prologue_->registers(), std::vector<Sum>(static_cast<std::size_t>(row_length())));
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t n = task / blocks_, c = task % blocks_ * block_;
        const std::int64_t channels = std::min(block_, p_.to.shape()[1] - c);
        sums.assign(static_cast<std::size_t>(places_ * channels), Sum(0));
        add_windows(n, c, channels, source, sums.data());
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
                   Sum* sums) const {
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
      if (spatial > 2 || last.adaptive || last.dilation != 1) {
        for (std::int64_t j = 0; j < length; ++j) {
          if (!adjacent_) window[static_cast<std::size_t>(spatial - 1)] = j;
          const std::int64_t element = chosen[j * index_step];
          if (contains(window, element)) sums[adjacent_ ? element * channels + j : element] += from[j * step];
        }
        continue;
      }
      // The same without a division.
      const Steps lines = spatial == 1 ? Steps{0, 1, 1} : elements_of_window(p_.axes[0], window[0]);
      const auto first = static_cast<std::int32_t>(lines.first), end = static_cast<std::int32_t>(lines.end);
      const std::int64_t start =
          (adjacent_ ? window[static_cast<std::size_t>(spatial - 1)] * last.stride : 0) - last.before;
      const std::int64_t advance = adjacent_ ? 0 : last.stride;
      const auto size = static_cast<std::int32_t>(last.x_size);
      const double inverse = 1.0 / size;
      for (std::int64_t j = 0; j < length; ++j) {
        const std::int32_t element = chosen[j * index_step];
        if (element < 0 || element >= places_) continue;
        auto line = static_cast<std::int32_t>(element * inverse);
        line += element - line * size >= size;  // the product may have been rounded below it
        const std::int64_t k = element - line * size - (start + j * advance);
        if (line < first || line >= end || k < 0 || k >= last.window) continue;
        if (lines.step != 1 && (line - first) % lines.step != 0) continue;
        sums[adjacent_ ? element * channels + j : element] += from[j * step];
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
