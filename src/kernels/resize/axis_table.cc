#include "kernels/resize/axis_table.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "core/format.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

// A number that is a quotient of small integers, but for its rounding to f32 or f64.
struct Ratio {
  std::int64_t over, under;
};
std::optional<Ratio> as_ratio(double v) {
  const double rounding = static_cast<double>(static_cast<float>(v)) == v ? 0x1p-24 : 0x1p-50;
  constexpr std::int64_t kMostUnder = 1024, kMostOver = 1 << 20;
  for (std::int64_t under = 1; under <= kMostUnder; ++under) {
    const double over = std::round(v * static_cast<double>(under));
    if (std::abs(over) > double{kMostOver}) break;
    if (std::abs(over / static_cast<double>(under) - v) <= rounding * std::abs(v)) {
      return Ratio{static_cast<std::int64_t>(over), under};
    }
  }
  return std::nullopt;
}

}  // namespace

bool sizes_say(double scale, std::int64_t from, std::int64_t to) {
  if (const auto r = as_ratio(scale)) {
    return from % r->under == 0 && to % r->over == 0 && from / r->under == to / r->over;
  }
  const auto m = static_cast<double>(to);
  return std::abs(scale * static_cast<double>(from) - m) <= m * 0x1p-23;  // rounded to f32, or twice
}

namespace {

bool divides(std::int64_t divisor, std::int64_t number) { return number % divisor == 0; }

// whole + part / of, 0 <= part < of. Part and of are integers where sizes say the position, so that they are exact.
struct Position {
  std::int64_t whole = 0;
  double part = 0, of = 1;

  double fraction() const { return part / of; }
};

// over / under, under > 0.
Position quotient(std::int64_t over, std::int64_t under) {
  const std::int64_t rest = over % under;
  return {over / under - (rest < 0), static_cast<double>(rest < 0 ? rest + under : rest), static_cast<double>(under)};
}
Position position(double p) {
  const double whole = std::floor(p);
  return {static_cast<std::int64_t>(whole), p - whole};
}

// The positions of an axis' elements of y in x.
class Positions {
 public:
  Positions(const ResizeOptions& o, int axis, std::int64_t from, std::int64_t to)
      : coordinates_(o.coordinates), from_(from), to_(to), n_(static_cast<double>(from)), m_(static_cast<double>(to)) {
    const auto k = static_cast<std::size_t>(axis);
    if (o.coordinates == ResizeCoordinates::crop) {
      start_ = o.starts.empty() ? 0 : o.starts[k];
      end_ = o.ends.empty() ? 1 : o.ends[k];
      if (std::max(from, to) < std::int64_t{1} << 31) {  // products of sizes and ratios fit 64 bits
        start_ratio_ = as_ratio(start_);
        end_ratio_ = as_ratio(end_);
      }
    }
    if (o.scales.empty()) return;
    const double s = o.scales[k];
    if (sizes_say(s, from, to)) return;
    scale_ = s;
    ratio_ = as_ratio(s);
  }

  // Elements of y for one of x, as a quotient whose terms are exact.
  std::pair<double, double> scale() const {
    if (!scale_) return {m_, n_};
    if (ratio_) return {static_cast<double>(ratio_->over), static_cast<double>(ratio_->under)};
    return {*scale_, 1};
  }
  // Where element i is at (i · over + begin) / under, exactly; nothing: elsewhere.
  struct Line {
    std::int64_t over, begin, under;
  };
  std::optional<Line> line() const {
    if (scale_) return std::nullopt;
    switch (coordinates_) {
      case ResizeCoordinates::align_corners:
        if (to_ == 1) return std::nullopt;
        return Line{from_ - 1, 0, to_ - 1};
      case ResizeCoordinates::asymmetric:
        return Line{from_, 0, to_};
      case ResizeCoordinates::pytorch_half_pixel:
        if (to_ == 1) return std::nullopt;
        [[fallthrough]];
      case ResizeCoordinates::half_pixel:
      case ResizeCoordinates::half_pixel_symmetric:
        return Line{2 * from_, from_ - to_, 2 * to_};
      case ResizeCoordinates::crop:
        return std::nullopt;
    }
    return std::nullopt;
  }
  // Whether later elements of y lie at earlier ones of x.
  bool descends() const { return coordinates_ == ResizeCoordinates::crop && start_ > end_; }

  Position operator()(std::int64_t i) const {
    switch (coordinates_) {
      case ResizeCoordinates::align_corners:
        return to_ == 1 ? Position() : quotient(i * (from_ - 1), to_ - 1);
      case ResizeCoordinates::asymmetric:
        return scale_ ? by_scale(static_cast<double>(i) / *scale_, 2 * i) : quotient(i * from_, to_);
      case ResizeCoordinates::pytorch_half_pixel:
        return to_ == 1 ? Position() : half_pixel(i);
      case ResizeCoordinates::half_pixel:
        return half_pixel(i);
      case ResizeCoordinates::half_pixel_symmetric:
        if (!scale_) return half_pixel(i);
        return by_scale(n_ / 2 * (1 - m_ / (*scale_ * n_)) + (static_cast<double>(i) + 0.5) / *scale_ - 0.5,
                        2 * i + 1 - to_);
      case ResizeCoordinates::crop:
        return crop(i);
    }
    throw InternalError("resize: coordinates {}", static_cast<int>(coordinates_));
  }

 private:
  Position half_pixel(std::int64_t i) const {
    if (scale_) return by_scale((static_cast<double>(i) + 0.5) / *scale_ - 0.5, 2 * i + 1);
    return quotient((2 * i + 1) * from_ - to_, 2 * to_);
  }
  // A position whose double is a multiple of 1/2 if steps / scale is an integer.
  Position by_scale(double p, std::int64_t steps) const {
    return position(ratio_ && divides(ratio_->over, steps * ratio_->under) ? snapped(p) : p);
  }
  Position crop(std::int64_t i) const {
    const double last = n_ - 1;
    const double p = to_ == 1 ? (start_ + end_) / 2 * last
                              : start_ * last + static_cast<double>(i) * (end_ - start_) * last / (m_ - 1);
    if (!start_ratio_ || !end_ratio_) return position(p);
    // p = (from - 1) · over / under
    const std::int64_t start = start_ratio_->over * end_ratio_->under, end = end_ratio_->over * start_ratio_->under;
    const std::int64_t over = to_ == 1 ? start + end : start * (to_ - 1) + i * (end - start);
    const std::int64_t under = start_ratio_->under * end_ratio_->under * (to_ == 1 ? 2 : to_ - 1);
    return position(divides(under / std::gcd(over, under), 2 * (from_ - 1)) ? snapped(p) : p);
  }
  // The multiple of 1/2 that a position is but for the rounding of a scale. On long axes that moves positions by more
  // than the distance of neighbours: they are left where the scale says.
  static double snapped(double p) {
    const double near = std::round(2 * p) / 2;
    return std::abs(p - near) <= std::min(std::max(1.0, std::abs(p)) * 0x1p-22, 0.125) ? near : p;
  }

  ResizeCoordinates coordinates_;
  std::int64_t from_, to_;
  double n_, m_, start_ = 0, end_ = 1;
  std::optional<double> scale_;
  std::optional<Ratio> ratio_, start_ratio_, end_ratio_;
};

// a · b without rounding error (Dekker 1971).
struct Product {
  double high, low;
  Product(double a, double b) : high(a * b), low(std::fma(a, b, -high)) {}
  bool operator==(const Product&) const = default;
};

double cubic(double distance, double a) {
  const double t = std::abs(distance);
  if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}

std::int64_t nearest(const Position& p, ResizeRounding rounding) {
  switch (rounding) {
    case ResizeRounding::prefer_floor:
      return p.whole + (2 * p.part > p.of);
    case ResizeRounding::prefer_ceil:
      return p.whole + (2 * p.part >= p.of);
    case ResizeRounding::floor:
      return p.whole;
    case ResizeRounding::ceil:
      return p.whole + (p.part > 0);
  }
  throw InternalError("resize: rounding {}", static_cast<int>(rounding));
}

// The elements of x that a row of weights has, clamped to x, and the row's weights.
class Weights {
 public:
  Weights(const ResizeOptions& o, int axis, std::int64_t from, std::int64_t to)
      : o_(o), from_(from), to_(to), positions_(o, axis, from, to) {
    const auto [over, under] = positions_.scale();
    if (o.antialias && o.mode != ResizeMode::nearest && over < under) over_ = over, under_ = under;
    reach_ = (o.mode == ResizeMode::cubic ? 2 : 1) * (under_ / over_);
  }
  double reach() const { return reach_; }
  // True if rows are made by add_rows(): of one element each, or of the two around a position by their distance.
  std::optional<Positions::Line> line() const {
    const bool is_linear = o_.mode == ResizeMode::linear && !o_.exclude_outside && over_ == 1 && under_ == 1;
    return is_linear || o_.mode == ResizeMode::nearest ? positions_.line() : std::nullopt;
  }
  // Rows begin…end-1 at positions on a line, as row() makes them, without a division for each position.
  void add_rows(const Positions::Line& line, std::int64_t begin, std::int64_t end, AxisTable& t) const {
    const bool is_linear = o_.mode == ResizeMode::linear;
    const Position first = quotient(begin * line.over + line.begin, line.under);
    const std::int64_t step = line.over / line.under, part_step = line.over % line.under;
    std::int64_t whole = first.whole, part = static_cast<std::int64_t>(first.part);
    const auto of = static_cast<double>(line.under);
    const auto n = static_cast<std::size_t>(end - begin);
    t.first.resize(n), t.count.assign(n, 1);
    t.pitch = is_linear ? 2 : 1;
    t.weights.resize(n * static_cast<std::size_t>(t.pitch));
    for (std::size_t i = 0; i < n; ++i) {
      if (is_linear) {
        t.first[i] = whole;
        t.weights[2 * i + 1] = static_cast<double>(part);
      } else {
        t.first[i] = clamped(nearest({whole, static_cast<double>(part), of}, o_.rounding));
        t.weights[i] = 1;
      }
      whole += step, part += part_step;
      const bool over = part >= line.under;
      whole += over, part -= over ? line.under : 0;
    }
    if (!is_linear) return;
    for (std::size_t i = 0; i < n; ++i) {
      const double p = t.weights[2 * i + 1];
      t.weights[2 * i] = (of - p) / of;
      t.weights[2 * i + 1] = p / of;
    }
    bool has_pairs = false;
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t low = clamped(t.first[i]);
      const bool pair = t.weights[2 * i + 1] != 0 && low != clamped(t.first[i] + 1);
      t.first[i] = low;
      t.count[i] = pair ? 2 : 1;
      has_pairs |= pair;
      if (pair) continue;
      // The weight of both is that of the one element; beside an element the other's is 0.
      t.weights[2 * i] += t.weights[2 * i + 1];
      t.weights[2 * i + 1] = 0;
    }
    if (has_pairs) return;
    t.pitch = 1;
    for (std::size_t i = 0; i < n; ++i) t.weights[i] = t.weights[2 * i];
    t.weights.resize(n);
  }
  bool descends() const { return o_.mode != ResizeMode::area && positions_.descends(); }

  // The first and the last element of row i, all between which may have weights.
  std::pair<std::int64_t, std::int64_t> range(std::int64_t i) const {
    if (o_.mode == ResizeMode::area) return {i * from_ / to_, ((i + 1) * from_ + to_ - 1) / to_ - 1};
    return range(positions_(i));
  }
  std::pair<std::int64_t, std::int64_t> range(const Position& p) const {
    if (o_.mode == ResizeMode::nearest) return {clamped(nearest(p, o_.rounding)), clamped(nearest(p, o_.rounding))};
    return {clamped(p.whole + first(p)), clamped(p.whole + last(p))};
  }

  // Fills the weights of row i and returns its first element; no weights: the row has no elements.
  std::int64_t row(std::int64_t i, std::vector<double>& weights) const {
    if (o_.mode == ResizeMode::area) {
      const auto [begin, end] = range(i);
      weights.assign(static_cast<std::size_t>(end - begin + 1), 1 / static_cast<double>(end - begin + 1));
      return begin;
    }
    const Position p = positions_(i);
    const auto [begin, end] = range(p);
    weights.clear();
    if (o_.coordinates == ResizeCoordinates::crop &&
        (p.whole < 0 || p.whole >= from_ || (p.whole == from_ - 1 && p.part > 0))) {
      return 0;
    }
    if (o_.mode == ResizeMode::nearest) {
      weights.assign(1, 1);
      return begin;
    }
    weights.assign(static_cast<std::size_t>(end - begin) + 1, 0);
    double sum = 0;
    for (std::int64_t k = first(p), stop = last(p); k <= stop; ++k) {
      const std::int64_t j = p.whole + k;
      if (o_.exclude_outside && (j < 0 || j >= from_)) continue;
      const double w = weight(std::abs(static_cast<double>(k) * p.of - p.part), p.of);
      weights[static_cast<std::size_t>(clamped(j) - begin)] += w;
      sum += w;
    }
    if (sum != 0 && (o_.antialias || o_.exclude_outside)) {
      for (double& w : weights) w /= sum;
    }
    return begin;
  }

 private:
  std::int64_t clamped(std::int64_t j) const { return std::clamp<std::int64_t>(j, 0, from_ - 1); }
  // Relative to the position's whole part.
  std::int64_t first(const Position& p) const { return static_cast<std::int64_t>(std::ceil(p.fraction() - reach_)); }
  std::int64_t last(const Position& p) const { return static_cast<std::int64_t>(std::floor(p.fraction() + reach_)); }
  // The weight at the distance part / of, which counts over_ / under_ times. At 1, of cubic ones at 2, too, it is
  // exactly 0, so that such an element does not count.
  double weight(double part, double of) const {
    if (over_ == 1 && under_ == 1) {  // the distance is exact
      if (o_.mode == ResizeMode::linear) return std::max(0.0, (of - part) / of);
      return part == of || part == 2 * of ? 0 : cubic(part / of, o_.cubic_a);
    }
    const Product distance(part, over_), one(of, under_);
    if (o_.mode == ResizeMode::linear) {
      return std::max(0.0, ((one.high - distance.high) + (one.low - distance.low)) / one.high);
    }
    if (distance == one || distance == Product(2 * of, under_)) return 0;
    return cubic(distance.high / one.high, o_.cubic_a);
  }

  const ResizeOptions& o_;
  std::int64_t from_, to_;
  Positions positions_;
  double over_ = 1, under_ = 1, reach_ = 1;
};

// Rows of any length, in order.
class Rows {
 public:
  void add(std::int64_t first, std::span<const double> weights) {
    // Weights of 0 at the ends.
    while (!weights.empty() && weights.back() == 0) weights = weights.first(weights.size() - 1);
    while (!weights.empty() && weights.front() == 0) weights = weights.subspan(1), ++first;
    first_.push_back(weights.empty() ? 0 : first);
    count_.push_back(static_cast<std::int64_t>(weights.size()));
    all_.insert(all_.end(), weights.begin(), weights.end());
  }
  AxisTable table(int axis, std::int64_t from, double ratio) {
    AxisTable t{.axis = axis, .from = from, .ratio = ratio, .first = std::move(first_), .count = std::move(count_)};
    for (const std::int64_t n : t.count) t.pitch = std::max(t.pitch, n);
    t.weights.resize(static_cast<std::size_t>(t.pitch * t.to()));
    auto at = all_.begin();
    for (std::int64_t i = 0; i < t.to(); ++i) {
      const std::int64_t n = t.count[static_cast<std::size_t>(i)];
      std::copy_n(at, n, t.weights.begin() + i * t.pitch);
      at += n;
    }
    return t;
  }

 private:
  std::vector<std::int64_t> first_, count_;
  std::vector<double> all_;
};

}  // namespace

void check_resize(std::string_view kernel, const ResizeOptions& o, const Shape& x, const Shape& y) {
  const std::string_view d_of = kernel.ends_with("_gradient") ? "d" : "";  // dx and dy are its operands
  const auto check_list = [&](std::string_view what, const std::vector<double>& list) {
    if (!list.empty() && static_cast<int>(list.size()) != y.rank()) {
      throw InvalidArgument("{}: {} {}, expected one for each of {} axes", kernel, list.size(), what, y.rank());
    }
    for (const double v : list) {
      // Positions are exact up to 2^53.
      if (!(std::abs(v) <= 0x1p31)) {
        throw InvalidArgument("{}: {} among the {}, expected numbers within 2^31", kernel, v, what);
      }
    }
  };
  check_list("scales", o.scales);
  check_list("starts", o.starts);
  check_list("ends", o.ends);
  if (!(std::abs(o.cubic_a) <= 1000)) {
    throw InvalidArgument("{}: cubic_a is {}, expected a number within 1000", kernel, o.cubic_a);
  }
  for (int d = 0; d < y.rank(); ++d) {
    const std::int64_t from = x[d], to = y[d];
    if (from == 0 && to > 0) {
      throw InvalidArgument("{}: axis {} of {}x {} is empty, there is nothing to make {}y {} of", kernel, d, d_of,
                            to_string(x), d_of, to_string(y));
    }
    // Tables are made of 32-bit words.
    if (from != to && std::max(from, to) >= std::int64_t{1} << 31) {
      throw Unsupported("{}: axis {} of {} elements to {}; up to 2^31 are resampled", kernel, d, from, to);
    }
    if (o.scales.empty()) continue;
    const double s = o.scales[static_cast<std::size_t>(d)];
    if (!(s > 0) || !(std::abs(s * static_cast<double>(from) - static_cast<double>(to)) <= 1)) {
      throw InvalidArgument("{}: scale {} of axis {}, whose {} elements become {}; expected about {}", kernel, s, d,
                            from, to, static_cast<double>(to) / static_cast<double>(std::max<std::int64_t>(from, 1)));
    }
  }
}

bool AxisTable::is_identity() const {
  if (from != to()) return false;
  for (std::int64_t i = 0; i < from; ++i) {
    const auto k = static_cast<std::size_t>(i);
    if (count[k] != 1 || first[k] != i || *row(i) != 1) return false;
  }
  return true;
}

bool AxisTable::has_zeros() const {
  for (std::int64_t i = 0; i < to(); ++i) {
    const double* weights = row(i);
    if (std::find(weights, weights + count[static_cast<std::size_t>(i)], 0) !=
        weights + count[static_cast<std::size_t>(i)]) {
      return true;
    }
  }
  return false;
}

AxisTable axis_table(const ResizeOptions& o, int axis, std::int64_t from, std::int64_t to) {
  return axis_table(o, axis, from, to, 0, to);
}

AxisTable axis_table(const ResizeOptions& o, int axis, std::int64_t from, std::int64_t to, std::int64_t begin,
                     std::int64_t end) {
  const Weights weights(o, axis, from, to);
  if (const auto line = weights.line()) {
    AxisTable t{.axis = axis, .from = from, .ratio = static_cast<double>(to) / static_cast<double>(from)};
    weights.add_rows(*line, begin, end, t);
    return t;
  }
  Rows rows;
  std::vector<double> row;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t first = weights.row(i, row);
    rows.add(first, row);
  }
  return rows.table(axis, from, static_cast<double>(to) / static_cast<double>(from));
}

std::int64_t row_length(const ResizeOptions& o, int axis, std::int64_t from, std::int64_t to, bool gradient) {
  const double down = static_cast<double>(from) / static_cast<double>(to);
  const double length = o.mode == ResizeMode::nearest ? 1
                        : o.mode == ResizeMode::area  ? down + 2
                                                      : 2 * Weights(o, axis, from, to).reach() + 1;
  const double most = gradient ? static_cast<double>(to) : static_cast<double>(from);
  return static_cast<std::int64_t>(std::clamp(gradient ? length / down + 2 : length, 1.0, std::max(most, 1.0)));
}

AxisTable gradient_table(const ResizeOptions& o, int axis, std::int64_t from, std::int64_t to, std::int64_t begin,
                         std::int64_t end) {
  const Weights weights(o, axis, from, to);
  // Elements of y whose ranges meet begin…end-1 follow each other, because positions ascend, or all descend.
  const auto first_where = [&](auto&& is) {
    std::int64_t low = 0, high = to;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      is(weights.range(middle)) ? high = middle : low = middle + 1;
    }
    return low;
  };
  const bool descends = weights.descends();
  const std::int64_t y_begin =
      first_where([&](const auto& range) { return descends ? range.first < end : range.second >= begin; });
  const std::int64_t y_end =
      first_where([&](const auto& range) { return descends ? range.second < begin : range.first >= end; });
  const auto n = static_cast<std::size_t>(end - begin);
  AxisTable t{.axis = axis,
              .from = to,
              .ratio = static_cast<double>(from) / static_cast<double>(to),
              .first = std::vector<std::int64_t>(n),
              .count = std::vector<std::int64_t>(n)};
  std::vector<double> row;
  // Calls f(element of y, row of the table, weight).
  const auto for_each = [&](auto&& f) {
    for (std::int64_t i = y_begin; i < y_end; ++i) {
      const std::int64_t first = weights.row(i, row);
      for (std::size_t k = 0; k < row.size(); ++k) {
        const std::int64_t j = first + static_cast<std::int64_t>(k);
        if (row[k] != 0 && j >= begin && j < end) f(i, static_cast<std::size_t>(j - begin), row[k]);
      }
    }
  };
  for_each([&](std::int64_t i, std::size_t j, double) {
    if (t.count[j] == 0) t.first[j] = i;
    t.count[j] = i + 1 - t.first[j];
  });
  for (const std::int64_t count : t.count) t.pitch = std::max(t.pitch, count);
  t.weights.resize(n * static_cast<std::size_t>(t.pitch));
  for_each([&](std::int64_t i, std::size_t j, double w) {
    t.weights[j * static_cast<std::size_t>(t.pitch) + static_cast<std::size_t>(i - t.first[j])] += w;
  });
  return t;
}

AxisTable part_of(const AxisTable& t, std::int64_t begin, std::int64_t end, std::int64_t& x_begin,
                  std::int64_t& x_size) {
  AxisTable part{.axis = t.axis, .from = t.from, .pitch = t.pitch, .ratio = t.ratio};
  part.first.assign(t.first.begin() + begin, t.first.begin() + end);
  part.count.assign(t.count.begin() + begin, t.count.begin() + end);
  part.weights.assign(t.weights.begin() + begin * t.pitch, t.weights.begin() + end * t.pitch);
  return part_of(std::move(part), x_begin, x_size);
}

AxisTable part_of(AxisTable t, std::int64_t& x_begin, std::int64_t& x_size) {
  std::int64_t low = t.from, high = 0;
  for (std::size_t i = 0; i < t.first.size(); ++i) {
    if (t.count[i] == 0) continue;
    low = std::min(low, t.first[i]);
    high = std::max(high, t.first[i] + t.count[i]);
  }
  x_begin = std::min(low, t.from - 1);
  x_size = std::max<std::int64_t>(high - x_begin, 1);
  t.from = x_size;
  for (std::size_t i = 0; i < t.first.size(); ++i) t.first[i] -= t.count[i] ? x_begin : 0;
  return t;
}

std::vector<std::int32_t> integer_weights(const AxisTable& t, std::int64_t row) {
  std::vector<std::int32_t> weights(static_cast<std::size_t>(t.count[static_cast<std::size_t>(row)]));
  integer_weights(t, row, weights.data());
  return weights;
}

void integer_weights(const AxisTable& t, std::int64_t row, std::int32_t* weights) {
  const std::int64_t n = t.count[static_cast<std::size_t>(row)];
  const double* exact = t.row(row);
  // What rounding takes from the weights up to here goes to the next.
  double sum = 0;
  std::int64_t given = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    sum += exact[k] * (1 << kWeightBits);
    const auto so_far = static_cast<std::int64_t>(std::floor(sum + 0.5));
    weights[k] = static_cast<std::int32_t>(so_far - given);
    given = so_far;
  }
}

}  // namespace weft::kernels
