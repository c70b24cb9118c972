// Regions of images, and boxes.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "onnx/network.h"
#include "weft/array.h"
#include "weft/graph.h"

namespace weft::onnx {

namespace {

// ---- Regions

// Along one axis of n elements: the greatest element of each bin of each region, -infinity of an empty one.
Tensor bin_maxima(const Tensor& x, const Tensor& first, const Tensor& end, int axis) {
  // x [regions, …, n, …], first and end [regions, bins] → [regions, …, bins, …].
  const int rank = x.rank() + 1;
  Shape bounds = Shape::filled(rank, 1);
  bounds[0] = first.shape()[0], bounds[axis] = first.shape()[1];
  const Tensor place = steps_along(axis + 1, rank, x.shape()[axis], 0, 1, first.dtype());
  const Tensor inside = (place >= reshape(first, bounds)) & (place < reshape(end, bounds));
  return reduce(ReduceKind::max, select(inside, expand_dims(x, axis), -std::numeric_limits<double>::infinity()),
                axis + 1);
}

Tensors max_roi_pool(const Node& n) {
  const Tensor x = n.in(0), rois = n.in(1);
  if (x.rank() != 4) n.fail("X is {}, expected rank 4", to_string(x.shape()));
  const Ints pooled = n.integers("pooled_shape");
  if (pooled.size() != 2) n.fail("pooled_shape has {} numbers, expected 2", pooled.size());
  const DType type = wide(x.dtype());
  Tensor y = gather(x, cast(squeeze(slice(rois, 1, 0, 1), 1), DType::i32));
  // [regions, 2] of the corners, rounded to elements.
  const auto corner = [&](int at) {
    const Tensor c = cast(slice(rois, 1, at, at + 1), type) * n.number("spatial_scale", 1);
    return floor(abs(c) + 0.5) * sign(c);
  };
  for (const int axis : {0, 1}) {
    const std::int64_t bins = pooled[static_cast<std::size_t>(axis)], size = x.shape()[2 + axis];
    const Tensor low = corner(axis == 0 ? 2 : 1), high = corner(axis == 0 ? 4 : 3);
    const Tensor width = maximum(high - low + 1, 1) / bins, bin = cast(arange(bins), type);
    const Tensor first = clamp(floor(bin * width) + low, 0, size), end = clamp(ceil((bin + 1) * width) + low, 0, size);
    y = bin_maxima(y, first, end, 2 + axis);
  }
  return {select(y == -std::numeric_limits<double>::infinity(), 0, y)};
}

// The samples of all bins along one axis of an image of `size` elements.
struct BinSamples {
  Tensor low, high;  // [regions, bins · samples]: the elements around each position, i32
  Tensor weight;     // of the second one
  Tensor inside;     // false: the sample is 0
  Tensor counted;    // the sample is one of the region
  Tensor count;      // [regions, 1]: how many samples a bin has
};

BinSamples bin_samples(const Tensor& start, const Tensor& width, std::int64_t bins, std::int64_t ratio,
                       std::int64_t most, std::int64_t size) {
  const DType type = start.dtype();
  const Tensor bin = width / bins;  // [regions, 1]
  BinSamples s;
  s.count = ratio > 0 ? bin * 0 + ratio : ceil(bin);
  const Tensor sample = reshape(tile(cast(arange(most), type), {bins}), {1, bins * most});
  const Tensor place = reshape(repeat(cast(arange(bins), type), most, 0), {1, bins * most});
  const Tensor p = start + place * bin + (sample + 0.5) * bin / s.count;
  s.counted = sample < s.count;
  s.inside = (p >= -1) & (p <= size) & s.counted;
  const Tensor q = clamp(p, 0, size - 1), floored = floor(q);
  s.low = cast(floored, DType::i32), s.high = minimum(s.low + 1, size - 1);
  s.weight = q - floored;
  return s;
}

Tensors roi_align(const Node& n) {
  const Tensor x = n.in(0), rois = n.in(1);
  if (x.rank() != 4 || rois.rank() != 2 || rois.shape()[1] != 4) {
    n.fail("X is {} and rois {}, expected rank 4 and [regions, 4]", to_string(x.shape()), to_string(rois.shape()));
  }
  const std::int64_t bins[] = {n.integer("output_height", 1), n.integer("output_width", 1)};
  const std::int64_t ratio = n.integer("sampling_ratio", 0);
  const double scale = n.number("spatial_scale", 1);
  const bool half = n.version() >= 16 && n.text("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  const std::string mode = n.text("mode", "avg");
  if (mode != "avg" && mode != "max") n.fail("mode is {}, expected avg or max", mode);
  std::int64_t most[] = {ratio, ratio};
  if (ratio == 0) {
    // As many samples as the largest region takes.
    most[0] = most[1] = 1;
    const std::vector<double> boxes = n.numbers_of(1);
    for (std::size_t i = 0; i + 4 <= boxes.size(); i += 4) {
      for (const std::size_t axis : {0u, 1u}) {
        const double length = (boxes[i + 3 - axis] - boxes[i + 1 - axis]) * scale;
        const double samples = std::ceil(std::max(length, 1.0) / static_cast<double>(bins[axis])) + 1;
        if (!(samples <= 4096)) n.lacks("region {} has {} samples along an axis of a bin", i / 4, samples);
        most[axis] = std::max(most[axis], static_cast<std::int64_t>(samples));
      }
    }
  }
  const DType type = wide(x.dtype());
  const Shape& shape = x.shape();
  const std::int64_t regions = rois.shape()[0], channels = shape[1];
  const auto axis_samples = [&](int axis) {
    const Tensor low = cast(slice(rois, 1, 1 - axis, 2 - axis), type) * scale - (half ? 0.5 : 0.0);
    const Tensor high = cast(slice(rois, 1, 3 - axis, 4 - axis), type) * scale - (half ? 0.5 : 0.0);
    return bin_samples(low, half ? high - low : maximum(high - low, 1), bins[axis], ratio, most[axis], shape[2 + axis]);
  };
  const BinSamples rows = axis_samples(0), columns = axis_samples(1);
  const Tensor pixels = reshape(permute(x, {0, 2, 3, 1}), {shape[0] * shape[2] * shape[3], channels});
  const Tensor image = reshape(cast(n.in(2), DType::i32), {regions, 1, 1}) * (shape[2] * shape[3]);
  const auto across = [](const Tensor& t) { return expand_dims(t, 1); };  // along columns
  const auto down = [](const Tensor& t) { return expand_dims(t, 2); };    // along rows
  const Tensor inside = expand_dims(down(rows.inside) & across(columns.inside), 3);
  const auto corner = [&](bool low, bool left) {
    const Tensor at = image + down(low ? rows.high : rows.low) * shape[3] + across(left ? columns.high : columns.low);
    const Tensor weight =
        down(low ? rows.weight : 1 - rows.weight) * across(left ? columns.weight : 1 - columns.weight);
    return select(inside, cast(gather(pixels, at), type) * expand_dims(weight, 3), 0);
  };
  const Tensor parts[] = {corner(false, false), corner(false, true), corner(true, false), corner(true, true)};
  const Shape bins_shape = {regions, bins[0], most[0], bins[1], most[1], channels};
  Tensor y;
  if (mode == "avg") {
    const Tensor sums = weft::sum(reshape(parts[0] + parts[1] + parts[2] + parts[3], bins_shape), {2, 4});
    y = sums / reshape(maximum(rows.count * columns.count, 1), {regions, 1, 1, 1});
  } else {
    const Tensor counted = expand_dims(down(rows.counted) & across(columns.counted), 3);
    const Tensor greatest = maximum(maximum(parts[0], parts[1]), maximum(parts[2], parts[3]));
    y = reduce(ReduceKind::max,
               reshape(select(counted, greatest, -std::numeric_limits<double>::infinity()), bins_shape), {2, 4});
  }
  return {cast(permute(y, {0, 3, 1, 2}), x.dtype())};
}

// ---- Boxes

using Box = std::array<float, 4>;  // the lesser corner, then the greater one

Box box_of(const float* b, bool centred) {
  if (centred) return {b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2};
  return {std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]), std::max(b[1], b[3])};
}

// Whether the common area is more than that part of both together.
bool overlap(const Box& a, const Box& b, float threshold) {
  const float height = std::min(a[2], b[2]) - std::max(a[0], b[0]);
  const float width = std::min(a[3], b[3]) - std::max(a[1], b[1]);
  if (!(height > 0) || !(width > 0)) return false;
  const float common = height * width;
  const float both = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common;
  return both > 0 && common / both > threshold;
}

// On the host: how many boxes are left depends on all of them.
Tensors non_max_suppression(const Node& n) {
  const Shape boxes_shape = n.in(0).shape(), scores_shape = n.in(1).shape();
  if (boxes_shape.rank() != 3 || scores_shape.rank() != 3 || boxes_shape[2] != 4 || scores_shape[0] != boxes_shape[0] ||
      scores_shape[2] != boxes_shape[1]) {
    n.fail("boxes is {} and scores {}, expected [batch, boxes, 4] and [batch, classes, boxes]", to_string(boxes_shape),
           to_string(scores_shape));
  }
  const std::int64_t most = n.has(2) ? n.integer_of(2) : 0;
  const auto threshold = static_cast<float>(n.has(3) ? n.number_of(3) : 0);
  const bool limited = n.has(4);
  const auto least = static_cast<float>(limited ? n.number_of(4) : 0);
  const bool centred = n.integer("center_point_box", 0) != 0;
  const std::int64_t batches = scores_shape[0], classes = scores_shape[1], count = scores_shape[2];
  std::vector<std::int64_t> chosen;
  if (most > 0) {
    const std::vector<float> boxes = n.host(0).to_vector<float>(), scores = n.host(1).to_vector<float>();
    for (std::int64_t b = 0; b < batches; ++b) {
      for (std::int64_t c = 0; c < classes; ++c) {
        const float* score = scores.data() + (b * classes + c) * count;
        std::vector<std::int64_t> order;
        for (std::int64_t i = 0; i < count; ++i) {
          if (!std::isnan(score[i]) && (!limited || score[i] > least)) order.push_back(i);
        }
        std::ranges::stable_sort(order, [&](std::int64_t i, std::int64_t j) { return score[i] > score[j]; });
        std::vector<Box> kept;
        for (const std::int64_t i : order) {
          if (static_cast<std::int64_t>(kept.size()) == most) break;
          const Box box = box_of(boxes.data() + (b * count + i) * 4, centred);
          if (std::ranges::any_of(kept, [&](const Box& k) { return overlap(k, box, threshold); })) continue;
          kept.push_back(box);
          chosen.insert(chosen.end(), {b, c, i});
        }
      }
    }
  }
  const Shape shape = {static_cast<std::int64_t>(chosen.size() / 3), 3};
  return {Graph::constant(TensorData::of<std::int64_t>(shape, chosen))};
}

constexpr OperatorRow kRows[] = {
    {"MaxRoiPool", max_roi_pool},
    {"RoiAlign", roi_align, 10, "with a sampling_ratio of 0 the host reads the regions"},
    {"NonMaxSuppression", non_max_suppression, 10, "on the host"},
};

}  // namespace

OperatorRows region_rows() { return {"", kRows}; }

}  // namespace weft::onnx
