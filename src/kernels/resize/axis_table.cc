#include "kernels/resize/axis_table.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "weft/error.h"

namespace weft::kernels {
namespace {

// The positions of an axis' elements of y in x.
class Positions {
 public:
  Positions(const ResizeOptions& o, int axis, std::int64_t from, std::int64_t to)
      : coordinates_(o.coordinates), n_(static_cast<double>(from)), m_(static_cast<double>(to)) {
    const auto k = static_cast<std::size_t>(axis);
    if (o.coordinates == ResizeCoordinates::crop) {
      start_ = o.starts.empty() ? 0 : o.starts[k];
      end_ = o.ends.empty() ? 1 : o.ends[k];
    }
    if (o.scales.empty()) return;
    const double s = o.scales[k];
    // The sizes say it exactly.
    if (std::abs(s * n_ - m_) > m_ * 0x1p-20) scale_ = s;
  }

  // Elements of y for one of x.
  double scale() const { return scale_.value_or(m_ / n_); }

  double operator()(std::int64_t index) const {
    const auto i = static_cast<double>(index);
    // Quotients of integers: positions that are multiples of 1/2 are exact.
    switch (coordinates_) {
      case ResizeCoordinates::align_corners:
        return m_ == 1 ? 0 : i * (n_ - 1) / (m_ - 1);
      case ResizeCoordinates::asymmetric:
        return scale_ ? snapped(i / *scale_) : i * n_ / m_;
      case ResizeCoordinates::pytorch_half_pixel:
        return m_ == 1 ? 0 : half_pixel(i);
      case ResizeCoordinates::half_pixel:
        return half_pixel(i);
      case ResizeCoordinates::half_pixel_symmetric:
        return scale_ ? snapped(n_ / 2 * (1 - m_ / (*scale_ * n_)) + (i + 0.5) / *scale_ - 0.5) : half_pixel(i);
      case ResizeCoordinates::crop:
        return snapped(m_ == 1 ? (start_ + end_) / 2 * (n_ - 1)
                               : start_ * (n_ - 1) + i * (end_ - start_) * (n_ - 1) / (m_ - 1));
    }
    throw InternalError("resize: coordinates {}", static_cast<int>(coordinates_));
  }

 private:
  double half_pixel(double i) const {
    return scale_ ? snapped((i + 0.5) / *scale_ - 0.5) : ((2 * i + 1) * n_ - m_) / (2 * m_);
  }
  static double snapped(double p) {
    const double near = std::round(2 * p) / 2;
    return std::abs(p - near) <= std::max(1.0, std::abs(p)) * 0x1p-22 ? near : p;
  }

  ResizeCoordinates coordinates_;
  double n_, m_, start_ = 0, end_ = 1;
  std::optional<double> scale_;
};

double cubic(double distance, double a) {
  const double t = std::abs(distance);
  if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}

std::int64_t nearest(double p, ResizeRounding rounding) {
  switch (rounding) {
    case ResizeRounding::prefer_floor:
      return static_cast<std::int64_t>(std::ceil(p - 0.5));
    case ResizeRounding::prefer_ceil:
      return static_cast<std::int64_t>(std::floor(p + 0.5));
    case ResizeRounding::floor:
      return static_cast<std::int64_t>(std::floor(p));
    case ResizeRounding::ceil:
      return static_cast<std::int64_t>(std::ceil(p));
  }
  throw InternalError("resize: rounding {}", static_cast<int>(rounding));
}

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
  AxisTable table(int axis, std::int64_t from) {
    AxisTable t{.axis = axis, .from = from, .first = std::move(first_), .count = std::move(count_)};
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
      throw InvalidArgument("{}: axis {} of x {} is empty, there is nothing to make y {} of", kernel, d, to_string(x),
                            to_string(y));
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

AxisTable axis_table(const ResizeOptions& o, int axis, std::int64_t from, std::int64_t to) {
  Rows rows;
  if (o.mode == ResizeMode::area) {
    std::vector<double> equal;
    for (std::int64_t i = 0; i < to; ++i) {
      // Sizes are below 2^53, and so are the quotients, but not the products.
      const auto start = static_cast<std::int64_t>(static_cast<long double>(i) * static_cast<long double>(from) /
                                                   static_cast<long double>(to));
      const auto end = static_cast<std::int64_t>(
          std::ceil(static_cast<long double>(i + 1) * static_cast<long double>(from) / static_cast<long double>(to)));
      equal.assign(static_cast<std::size_t>(end - start), 1 / static_cast<double>(end - start));
      rows.add(start, equal);
    }
    return rows.table(axis, from);
  }
  const Positions position(o, axis, from, to);
  const bool crops = o.coordinates == ResizeCoordinates::crop;
  const auto last = static_cast<double>(from - 1);
  const double squeeze = o.antialias && o.mode != ResizeMode::nearest ? std::min(position.scale(), 1.0) : 1;
  const double reach = (o.mode == ResizeMode::cubic ? 2 : 1) / squeeze;
  std::vector<double> weights;
  for (std::int64_t i = 0; i < to; ++i) {
    const double p = position(i);
    if (crops && !(p >= 0 && p <= last)) {
      rows.add(0, {});
      continue;
    }
    if (o.mode == ResizeMode::nearest) {
      constexpr double kOne = 1;
      rows.add(std::clamp<std::int64_t>(nearest(p, o.rounding), 0, from - 1), std::span(&kOne, 1));
      continue;
    }
    const double low = std::ceil(p - reach), high = std::floor(p + reach);
    const double begin = std::clamp(low, 0.0, last), end = std::clamp(high, 0.0, last);
    weights.assign(static_cast<std::size_t>(end - begin) + 1, 0);
    double sum = 0;
    for (double j = low; j <= high; ++j) {
      if (o.exclude_outside && (j < 0 || j > last)) continue;
      const double distance = (j - p) * squeeze;
      const double w = o.mode == ResizeMode::cubic ? cubic(distance, o.cubic_a) : std::max(0.0, 1 - std::abs(distance));
      weights[static_cast<std::size_t>(std::clamp(j, 0.0, last) - begin)] += w;
      sum += w;
    }
    if (sum != 0 && (o.antialias || o.exclude_outside)) {
      for (double& w : weights) w /= sum;
    }
    rows.add(static_cast<std::int64_t>(begin), weights);
  }
  return rows.table(axis, from);
}

AxisTable transposed(const AxisTable& t) {
  const auto n = static_cast<std::size_t>(t.from);
  std::vector<std::int64_t> begin(n, t.to()), end(n, 0);
  const auto for_each = [&](auto&& f) {
    for (std::int64_t i = 0; i < t.to(); ++i) {
      const auto k = static_cast<std::size_t>(i);
      for (std::int64_t c = 0; c < t.count[k]; ++c) f(i, static_cast<std::size_t>(t.first[k] + c), t.row(i)[c]);
    }
  };
  for_each([&](std::int64_t i, std::size_t j, double) {
    begin[j] = std::min(begin[j], i);
    end[j] = std::max(end[j], i + 1);
  });
  AxisTable y{
      .axis = t.axis, .from = t.to(), .first = std::vector<std::int64_t>(n), .count = std::vector<std::int64_t>(n)};
  for (std::size_t j = 0; j < n; ++j) {
    if (end[j] == 0) continue;
    y.first[j] = begin[j];
    y.count[j] = end[j] - begin[j];
    y.pitch = std::max(y.pitch, y.count[j]);
  }
  y.weights.resize(static_cast<std::size_t>(y.pitch * t.from));
  for_each([&](std::int64_t i, std::size_t j, double w) {
    y.weights[j * static_cast<std::size_t>(y.pitch) + static_cast<std::size_t>(i - begin[j])] += w;
  });
  return y;
}

AxisTable part_of(const AxisTable& t, std::int64_t begin, std::int64_t end, std::int64_t& x_begin,
                  std::int64_t& x_size) {
  std::int64_t low = t.from, high = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    const auto k = static_cast<std::size_t>(i);
    if (t.count[k] == 0) continue;
    low = std::min(low, t.first[k]);
    high = std::max(high, t.first[k] + t.count[k]);
  }
  x_begin = std::min(low, t.from - 1);
  x_size = std::max<std::int64_t>(high - x_begin, 1);
  AxisTable part{.axis = t.axis, .from = x_size, .pitch = t.pitch};
  part.first.assign(t.first.begin() + begin, t.first.begin() + end);
  part.count.assign(t.count.begin() + begin, t.count.begin() + end);
  part.weights.assign(t.weights.begin() + begin * t.pitch, t.weights.begin() + end * t.pitch);
  for (std::size_t i = 0; i < part.first.size(); ++i) part.first[i] -= part.count[i] ? x_begin : 0;
  return part;
}

std::vector<std::int32_t> integer_weights(const AxisTable& t, std::int64_t row) {
  const auto n = static_cast<std::size_t>(t.count[static_cast<std::size_t>(row)]);
  std::vector<std::int32_t> weights(n);
  // What rounding takes from the weights up to here goes to the next.
  double sum = 0;
  std::int64_t given = 0;
  for (std::size_t k = 0; k < n; ++k) {
    sum += t.row(row)[k] * (1 << kWeightBits);
    const auto so_far = static_cast<std::int64_t>(std::floor(sum + 0.5));
    weights[k] = static_cast<std::int32_t>(so_far - given);
    given = so_far;
  }
  return weights;
}

}  // namespace weft::kernels
