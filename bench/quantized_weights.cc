#include "quantized_weights.h"

#include <algorithm>
#include <array>
#include <format>
#include <vector>

#include "bench.h"
#include "core/format.h"
#include "weft/error.h"
#include "weft/kernels/copy.h"
#include "weft/kernels/random.h"

namespace weft::bench {
namespace {

using kernels::QuantizedFormat;
using kernels::QuantizedMatrix;
using kernels::QuantizedScheme;

constexpr float kScale = 1.0f / 128;  // the least

// The f16 numbers in a block of bytes that are no codes: where they are, and their range in least scales.
struct BlockNumber {
  std::int64_t byte;
  float low, high;
};
struct BlockRow {
  QuantizedScheme scheme;
  std::int64_t elements, bytes;
  std::vector<BlockNumber> numbers;
};
const BlockRow kBlocks[] = {
    {QuantizedScheme::q4_0, 32, 18, {{0, 1, 2}}},
    {QuantizedScheme::q8_0, 32, 34, {{0, 1, 2}}},
    {QuantizedScheme::q4_k, 256, 144, {{0, 1, 2}, {2, 7.5f, 15}}},  // codes are 7.5 in the mean
    {QuantizedScheme::q6_k, 256, 210, {{208, 1, 2}}},
};

// Makes views, and draws their elements from a seed's streams one after the other.
class Draw {
 public:
  Draw(const Device& device, std::uint32_t seed) : device_(device), seed_(seed) {}

  View make(DType type, const Shape& shape) const {
    const std::uint64_t bytes = byte_size(type, static_cast<std::uint64_t>(element_count(shape)));
    return View(device_.allocate((bytes + 3) / 4 * 4), 0, type, shape);
  }
  View bits(DType type, const Shape& shape) {
    const View v = make(type, shape);
    run(device_, [&](Stream& s) { kernels::random_bits(s, key(), v); });
    return v;
  }
  void uniform(const View& v, float low, float high) {
    run(device_, [&](Stream& s) { kernels::random_uniform(s, key(), low, high, v); });
  }
  View uniform(DType type, const Shape& shape, float low, float high) {
    const View v = make(type, shape);
    uniform(v, low, high);
    return v;
  }
  View integers(DType type, const Shape& shape, int low, int high) {
    const View v = make(type, shape);
    run(device_, [&](Stream& s) { kernels::random_integers(s, key(), low, high, v); });
    return v;
  }

 private:
  View key() {
    const View v = make(DType::u32, {2});
    const std::uint32_t words[] = {seed_, stream_++};
    device_.upload(v.buffer, 0, std::as_bytes(std::span(words)));
    return v;
  }

  const Device& device_;
  std::uint32_t seed_, stream_ = 0;
};

}  // namespace

std::string to_string(const QuantizedFormat& f) {
  const auto scheme = kernels::kQuantizedSchemes[static_cast<std::size_t>(f.scheme)];
  return f.bits == 0 ? std::string(scheme) : std::format("{} {}/{}", scheme, f.bits, f.group);
}

QuantizedMatrix random_weights(const Device& device, const QuantizedFormat& format, std::int64_t rows,
                               std::int64_t columns, std::uint32_t seed) {
  Draw draw(device, seed);
  QuantizedMatrix w{.format = format, .values = {}};
  const QuantizedFormat f = complete(format);
  const Shape words{rows, columns * f.bits / 32}, groups{rows, f.group > 0 ? columns / f.group : 0};
  switch (f.scheme) {
    case QuantizedScheme::affine: {
      const auto middle = static_cast<float>((1 << f.bits) - 1) / 2;
      w.values = draw.bits(DType::u32, words);
      w.scales = draw.uniform(DType::f16, groups, kScale, 2 * kScale);
      w.zeros = draw.uniform(DType::f16, groups, kScale * (-1.5f * middle - 1), kScale * (-1.5f * middle + 1));
      return w;
    }
    case QuantizedScheme::mxfp4:
      w.values = draw.bits(DType::u32, words);
      w.scales = draw.integers(DType::u8, groups, 118, 122);
      return w;
    case QuantizedScheme::nbits:
      w.values = draw.bits(DType::u8, {rows, columns / f.group, f.group * f.bits / 8});
      w.scales = draw.uniform(DType::f16, groups, kScale, 2 * kScale);
      return w;
    default:
      break;
  }
  for (const BlockRow& b : kBlocks) {
    if (b.scheme != f.scheme) continue;
    const std::int64_t blocks = rows * columns / b.elements;
    w.values = draw.bits(DType::u8, {rows, columns / b.elements * b.bytes});
    for (const BlockNumber& n : b.numbers) {
      draw.uniform(View(w.values.buffer, static_cast<std::uint64_t>(n.byte), DType::f16, {blocks}, {b.bytes / 2}),
                   kScale * n.low, kScale * n.high);
    }
    return w;
  }
  throw InvalidArgument("the benchmark makes no weights of {}", to_string(format));
}

View random_floats(const Device& device, DType type, const Shape& shape, std::uint32_t seed) {
  return Draw(device, seed).uniform(type, shape, -1, 1);
}

View last_part(const Device& device, const View& v, int axis) {
  Layout layout = v.layout;
  const std::int64_t count = std::min<std::int64_t>(layout.shape[axis], 64), skipped = layout.shape[axis] - count;
  layout.shape[axis] = count;
  View part = v.with_layout(layout);
  part.offset += byte_size(v.dtype, static_cast<std::uint64_t>(skipped * layout.strides[axis]));
  const View copy = Draw(device, 0).make(v.dtype, layout.shape);
  run(device, [&](Stream& s) { kernels::copy(s, part, copy); });
  return copy;
}

double stored_bytes(const QuantizedMatrix& w) {
  std::uint64_t bytes = touched_bytes(w.values);
  for (const auto* v : {&w.scales, &w.zeros}) bytes += *v ? touched_bytes(**v) : 0;
  return static_cast<double>(bytes);
}

bool last_columns_agree(const Device& device, const View& x, const QuantizedMatrix& w, const View& y,
                        const kernels::Epilogue& epilogue) {
  std::vector<View> inputs{x, last_part(device, w.values, 0)};
  for (const auto* v : {&w.scales, &w.zeros}) {
    if (*v) inputs.push_back(last_part(device, **v, 0));
  }
  const auto product = [&](Stream& s, std::span<const View> in, const View& result) {
    QuantizedMatrix part{.format = w.format, .values = in[1]};
    if (w.scales) part.scales = in[2];
    if (w.zeros) part.zeros = in[3];
    kernels::quantized_matmul(s, in[0], part, {}, result, {}, epilogue);
  };
  const double tolerance = y.dtype == DType::f32 ? 1e-5 : y.dtype == DType::f16 ? 2e-3 : 1e-2;
  return agrees(device, inputs, last_part(device, y, 1), product, {.relative = tolerance});
}

}  // namespace weft::bench
