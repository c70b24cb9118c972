// The weights themselves.
#include "kernels/quantized/dequantize_weights.h"

#include <vector>

#include "core/format.h"
#include "kernels/check.h"
#include "kernels/common/chunks.h"
#include "kernels/common/memory.h"
#include "kernels/cpu_loops.h"
#include "kernels/elementwise/block_memory.h"
#include "kernels/matmul/row_store.h"
#include "kernels/plan_cache.h"
#include "kernels/quantized/blocks.h"
#include "kernels/quantized/decode_cpu.h"
#include "kernels/quantized/key.h"
#include "kernels/quantized/reader.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

constexpr std::string_view kName = "dequantize_weights";

// MLX rounds what comes of affine weights after each step, in the type of scales and biases.
DType step_type(const QuantizedMatrix& w, const QuantizedLayout& l, DType y) {
  const bool narrow = l.zero == ZeroForm::bias && w.scales->dtype == y && w.zeros->dtype == y;
  return narrow ? y : DType::f32;
}

Shape leading(const Shape& shape) { return Shape(std::span(shape.begin(), shape.end() - 1)); }

void on_cpu(cpu::Executor& executor, const QuantizedMatrix& w, const QuantizedLayout& l, const View& y, DType rounded) {
  const WeightDecoder decoder(w, l);
  const Shape rows = leading(y.shape());
  const std::int64_t columns = y.shape()[-1];
  const StoreBlock store = store_block(y.dtype);
  parallel(executor, element_count(rows), std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(columns, 1)),
           [&](std::int64_t begin, std::int64_t end) {
             constexpr std::int64_t kMost = 1024;
             float values[kMost];
             double wide[kMost];
             for (std::int64_t r = begin; r < end; ++r) {
               const std::int64_t to = batch_offset(y, rows, r);
               for (std::int64_t c = 0; c < columns; c += kMost) {
                 const std::int64_t n = std::min(kMost, columns - c), at = to + c * y.strides()[-1];
                 decoder.row(r, c, n, values, rounded);
                 if (y.dtype == DType::f64) std::copy_n(values, n, wide);
                 store(y.buffer.data() + y.offset, at, y.strides()[-1], static_cast<int>(n),
                       y.dtype == DType::f64 ? static_cast<const void*>(wide) : values);
               }
             }
           });
}

}  // namespace

void dequantize_elements(gpu::Commands& commands, const QuantizedMatrix& w, const QuantizedLayout& l,
                         const View& elements, const View& y, DType rounded) {
  Call call(commands, "quantized_rows");
  const std::int64_t columns = y.shape()[-1];
  bool fours = l.in_fours() && columns % 4 == 0 && y.strides()[-1] == 1 && bits(y.dtype) <= 32 &&
               y.offset * 8 % (static_cast<std::uint64_t>(bits(y.dtype)) * 4) == 0;
  for (int d = 0; d + 1 < y.rank(); ++d) fours &= y.shape()[d] == 1 || y.strides()[d] % 4 == 0;
  const int width = fours ? 4 : 1;
  read_quantized(call, "x", w, l, first_element(elements), elements.layout.offset_range()[1] + 1, {rounded});
  call.write("y", y, width);
  call.iterate(leading(y.shape()));
  call.strides("y", Strides(std::span(y.strides().begin(), y.strides().end() - 1)));
  call.strides("row", Strides(std::span(elements.strides().begin(), elements.strides().end() - 1)));
  const std::int64_t across = columns / width, count = element_count(leading(y.shape())) * across;
  const std::uint32_t threads = workgroup_size(call.capabilities(), 256);
  call.set("width", width).set("threads", threads);
  call.index_param("count", count).index_param("across", across).index_param("y_along", y.strides()[-1]);
  call.variant(width == 4 ? "width_4" : "width_1", width == 4 ? "rows come in fours" : "rows do not come in fours");
  call.dispatch_groups(kName, ceil_div(count, threads));
}

void dequantize_weights(Stream& stream, const QuantizedMatrix& w, const View& y) {
  call(stream, quantized_key(kName, w.format), {w.values, w.scales, w.zeros, w.groups, y}, [&](Stream& s) {
    check_views(kName, {&w.values, pointer(w.scales), pointer(w.zeros), pointer(w.groups)}, {&y});
    const QuantizedLayout l = quantized_layout(kName, w);
    const Shape expected = quantized_shape(w.format, w.values.dtype, w.values.shape());
    if (y.shape() != expected) {
      throw ShapeError("{}: y is {}, expected {}", kName, to_string(y), to_string(expected));
    }
    check_memory(s, kName, {{"values", w.values}, {"scales", w.scales}, {"zeros", w.zeros}, {"groups", w.groups}},
                 {{"y", y}}, Sharing::none);
    if (y.count() == 0) return;
    const DType rounded = step_type(w, l, y.dtype);
    if (!s.gpu()) return on_cpu(*s.cpu(), w, l, y, rounded);
    if (y.dtype == DType::f64) throw Unsupported("{}: y is {} on a GPU, which has no f64", kName, to_string(y));
    // Chunks are cut of y and of the weights as if they were elements of one or, where blocks take more than a byte
    // each, two bytes.
    const bool large = l.blocks && l.blocks->bytes > l.blocks->elements;
    const View elements = stored_elements(y, l, large ? DType::u16 : DType::u8);
    AxisMask rows_alone = every_axis();
    rows_alone[static_cast<std::size_t>(y.rank() - 1)] = false;
    const auto run = [&](const View& part, const View& to) { dequantize_elements(*s.gpu(), w, l, part, to, rounded); };
    const View views[] = {elements, y};
    const bool cut = in_chunks(s.gpu()->device().capabilities(), kName, views, rows_alone,
                               [&](std::span<const View> parts) { run(parts[0], parts[1]); });
    if (!cut) run(elements, y);
  });
}

}  // namespace weft::kernels
