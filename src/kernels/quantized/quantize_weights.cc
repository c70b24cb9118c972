// Weights as they are stored.
#include <bit>
#include <numeric>

#include "core/format.h"
#include "kernels/check.h"
#include "kernels/common/chunks.h"
#include "kernels/common/memory.h"
#include "kernels/plan_cache.h"
#include "kernels/quantized/block_search.h"
#include "kernels/quantized/blocks.h"
#include "kernels/quantized/encode_cpu.h"
#include "kernels/quantized/key.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

constexpr std::string_view kName = "quantize_weights";
constexpr std::string_view kScales[] = {"none", "numbers", "e8m0", "e4m3"};

// Groups of so many elements have a workgroup each, others a thread.
constexpr std::int64_t kLargeGroup = 1024;

// Units that are stored whole: words, bytes, or elements that share a byte with other threads'.
int unit_bits(const QuantizedLayout& l, const View& values) {
  std::int64_t parts = 32 | static_cast<std::int64_t>(values.offset * 8) | row_bits(l);
  if (l.format.scheme == QuantizedScheme::integers) {
    if (l.scale_columns > 1) parts |= l.group_columns * l.bits;
  } else {
    parts |= l.blocks ? l.blocks->bytes * 8 : elements_of_run(l) * l.bits;
  }
  const auto whole = std::int64_t{1} << std::countr_zero(static_cast<std::uint64_t>(parts));
  return static_cast<int>(whole >= 32 ? 32 : whole >= 8 ? 8 : l.bits);
}

DType unsigned_type(int bits) {
  return bits == 32 ? DType::u32 : bits == 8 ? DType::u8 : bits == 4 ? DType::u4 : DType::u2;
}

// Bits [begin, end) of a dense view as elements of that type.
View bits_of(const View& view, std::int64_t begin, std::int64_t end, DType type) {
  if (begin % 8 != 0) {
    throw Unsupported("{}: a part of {} would begin inside a byte", kName, to_string(view));
  }
  return View(view.buffer, view.offset + static_cast<std::uint64_t>(begin / 8), type, {(end - begin) / bits(type)});
}

// A part of x, and where its elements are stored (stored_elements()).
void record(gpu::Commands& commands, const QuantizedMatrix& w, const QuantizedLayout& l, const Encoding& e,
            const View& elements, const View& x) {
  Call call(commands, "quantize_weights");
  call.include("quantize_steps");
  const int axes = x.rank() - 1, rows_axis = axes - 1;
  const std::int64_t columns = l.stored_columns;
  // Rows of the matrices, and of their groups, counted through.
  const auto first = first_element(elements) / columns;
  const std::int64_t end = first + elements.layout.offset_range()[1] / columns + 1;
  const auto group_row = [&](std::int64_t row) { return row / l.rows * l.scale_rows + row % l.rows / l.group_rows; };
  const std::int64_t first_group = group_row(first), end_group = group_row(end - 1) + 1;

  const View whole = bits_of(w.values, first * row_bits(l), end * row_bits(l), DType::u8);
  const int unit = unit_bits(l, whole);
  call.write("values", bits_of(w.values, first * row_bits(l), end * row_bits(l), unsigned_type(unit)));
  const auto of_groups = [&](const View& view, DType type) {
    const std::int64_t row = view.shape()[-1] * bits(view.dtype);
    return bits_of(view, first_group * row, end_group * row, type);
  };
  if (w.scales) call.write("scales", of_groups(*w.scales, l.scale == ScaleForm::numbers ? w.scales->dtype : DType::u8));
  if (w.zeros) call.write("zeros", of_groups(*w.zeros, w.zeros->dtype));
  call.read("x", x);

  Shape counted(std::span(x.shape().begin(), x.shape().end() - 1));
  Strides x_strides(std::span(x.strides().begin(), x.strides().end() - 1)), row_strides = x_strides,
                                                                            group_strides = x_strides;
  for (int d = 0; d < rows_axis; ++d) {
    row_strides[d] = elements.strides()[d] / columns;
    group_strides[d] = row_strides[d] / l.rows * l.scale_rows;
  }
  call.index_param("rows", counted[rows_axis]).index_param("x_down", x_strides[rows_axis]);
  counted[rows_axis] = ceil_div(counted[rows_axis], l.group_rows);
  x_strides[rows_axis] *= l.group_rows, row_strides[rows_axis] = l.group_rows, group_strides[rows_axis] = 1;
  call.iterate(counted);
  call.strides("x", x_strides).strides("row", row_strides).strides("group_row", group_strides);

  const bool packed = l.zero == ZeroForm::bytes, together = l.group_rows * l.group_columns >= kLargeGroup;
  const std::int64_t pack = packed ? 8 / std::gcd(8, l.bits) : 1, packs = ceil_div(l.scale_columns, pack);
  const std::int64_t count = element_count(counted) * packs;
  const std::uint32_t threads = workgroup_size(call.capabilities(), together ? 256 : 64);
  call.index_param("count", count).index_param("packs", packs).index_param("groups", l.scale_columns);
  call.index_param("columns", columns).index_param("x_columns", l.columns).index_param("x_along", x.strides()[-1]);
  call.index_param("group", l.group_columns).index_param("group_rows", l.group_rows);
  call.index_param("zero_row", packed ? w.zeros->shape()[-1] : 0);
  call.opaque_zero();

  const bool integers = l.format.scheme == QuantizedScheme::integers;
  const int run = elements_of_run(l), of_run = l.blocks ? l.blocks->bytes * 8 : run * l.bits;
  call.set("rule", kEncodeRules[static_cast<std::size_t>(e.rule)]).set("bits", e.bits).set("shifts", e.shifts);
  call.set("least", static_cast<int>(e.least)).set("most", static_cast<int>(e.most));
  call.set("half", 1 << (e.bits - 1)).set("steps", (1 << e.bits) - 1);
  call.set("scales", kScales[static_cast<std::size_t>(l.scale)])
      .set("zero", kZeroForms[static_cast<std::size_t>(l.zero)]);
  call.set("code", kCodeTypes[static_cast<std::size_t>(l.code)]);
  call.set("scale_type", w.scales ? name(w.scales->dtype) : std::string_view("none"));
  call.set("run", run).set("unit", unit).set("step", integers ? 1 : of_run / unit);
  call.set("step_elements", integers ? unit / l.bits : run);
  call.set("block", l.blocks != nullptr).set("padded", l.columns != columns);
  call.set("pack", pack).set("together", together).set("threads", threads).set("last_axis", rows_axis);
  call.set("least_magnitude", std::int64_t{std::bit_cast<std::uint32_t>(kLeastMagnitude)});
  call.set("least_affine_scale", "1e-7");
  call.variant(together ? "workgroup" : "thread", together ? "groups are large" : "groups are small");
  call.dispatch_groups(kName, together ? count : ceil_div(count, threads));
}

// The same of blocks whose scales are searched for.
void record_search(gpu::Commands& commands, const QuantizedMatrix& w, const QuantizedLayout& l, const BlockSearch& s,
                   const View& elements, const View& x) {
  Call call(commands, "quantize_blocks");
  const std::int64_t columns = l.stored_columns, blocks = l.scale_columns;
  // Rows of the matrices, counted through.
  const auto first = first_element(elements) / columns;
  const std::int64_t end = first + elements.layout.offset_range()[1] / columns + 1;
  const View whole = bits_of(w.values, first * row_bits(l), end * row_bits(l), DType::u8);
  const int unit = unit_bits(l, whole), runs = l.blocks->elements / s.run;
  call.write("values", bits_of(w.values, first * row_bits(l), end * row_bits(l), unsigned_type(unit)));
  call.read("x", x);

  const Shape counted(std::span(x.shape().begin(), x.shape().end() - 1));
  Strides row_strides(std::span(elements.strides().begin(), elements.strides().end() - 1));
  for (std::int64_t& stride : row_strides) stride /= columns;
  call.iterate(counted);
  call.strides("x", Strides(std::span(x.strides().begin(), x.strides().end() - 1))).strides("row", row_strides);
  const std::int64_t count = element_count(counted) * blocks;
  const std::uint32_t threads = workgroup_size(call.capabilities(), 64);
  call.index_param("count", count).index_param("blocks", blocks).index_param("x_along", x.strides()[-1]);
  call.opaque_zero().include("quantize_steps");
  if (s.search == Search::nonlinear) call.include("block_nonlinear");
  call.set("search", kSearches[static_cast<std::size_t>(s.search)]);
  call.set("scheme", kQuantizedSchemes[static_cast<std::size_t>(s.scheme)]);
  call.set("run", s.run).set("runs", runs).set("half", s.half).set("of_scale", s.of_scale);
  call.set("first", std::format("{:.1f}", s.first)).set("tries", s.tries).set("magnitudes", s.magnitudes);
  call.set("unit", unit).set("bytes", l.blocks->bytes).set("threads", threads);
  call.set("least_magnitude", std::int64_t{std::bit_cast<std::uint32_t>(kLeastMagnitude)});
  // Operations of the search, about so many a try and number.
  const int tries = s.search == Search::offsets ? s.tries : s.search == Search::ternary ? 1 : 18;
  call.cost({.flops = 20.0 * tries * static_cast<double>(x.count())});
  call.variant("blocks", "scales are searched for");
  call.dispatch_groups(kName, ceil_div(count, threads / static_cast<std::uint32_t>(runs)));
}

// In parts of whole groups.
void on_gpu(gpu::Commands& commands, const QuantizedMatrix& w, const QuantizedLayout& l, const Encoding& e,
            const View& x) {
  // What is stored is cut as if it were elements of as many bytes as those of any operand take.
  const std::int64_t group = l.group_rows * l.group_columns;
  const bool large = l.blocks && l.blocks->bytes > l.blocks->elements;
  const View elements = stored_elements(x, l,
                                        w.scales && group < 2              ? DType::u32
                                        : large || (w.scales && group < 4) ? DType::u16
                                                                           : DType::u8);
  const int rows_axis = x.rank() - 2;
  const BlockSearch* const search = block_search(l.format.scheme);
  const auto run = [&](const View& part, const View& from) {
    if (search) return record_search(commands, w, l, *search, part, from);
    record(commands, w, l, e, part, from);
  };
  AxisMask may_cut = every_axis();
  may_cut[static_cast<std::size_t>(rows_axis + 1)] = false;
  may_cut[static_cast<std::size_t>(rows_axis)] = l.scale_rows > 1;
  const View views[] = {elements, x};
  Shape shape = chunk_shape(commands.device().capabilities(), kName, views, may_cut);
  if (shape == x.shape()) return run(elements, x);
  if (shape[rows_axis] < l.rows) {
    // Rows of packed elements may begin inside a byte.
    const std::int64_t unit =
        l.group_rows * (l.format.scheme == QuantizedScheme::integers ? 8 / std::gcd(8, l.bits) : 1);
    if (shape[rows_axis] < unit) {
      throw Unsupported("{}: {} rows of {} are stored together, which this device does not bind", kName, unit,
                        to_string(x));
    }
    shape[rows_axis] -= shape[rows_axis] % unit;
  }
  for_each_chunk(x.shape(), shape, may_cut, [&](const Dims& begin) {
    run(chunk_at(elements, begin, shape, may_cut, kName), chunk_at(x, begin, shape, may_cut, kName));
  });
}

}  // namespace

void quantize_weights(Stream& stream, const View& x, const QuantizedMatrix& w) {
  call(stream, quantized_key(kName, w.format), {x, w.values, w.scales, w.zeros, w.groups}, [&](Stream& s) {
    check_views(kName, {&x}, {&w.values, pointer(w.scales), pointer(w.zeros)});
    const QuantizedLayout l = encoded_layout(kName, w);
    const Encoding e = encoding_of(kName, {w.values.dtype, w.values.shape()}, l);
    const Shape expected = quantized_shape(w.format, w.values.dtype, w.values.shape());
    if (x.shape() != expected) {
      throw ShapeError("{}: x is {}, expected {}", kName, to_string(x), to_string(expected));
    }
    check_memory(s, kName, {{"x", x}}, {{"values", w.values}, {"scales", w.scales}, {"zeros", w.zeros}}, Sharing::none);
    if (x.count() == 0) return;
    if (!s.gpu()) return encode_cpu(*s.cpu(), x, w, l, e);
    if (x.dtype == DType::f64) throw Unsupported("{}: x is {} on a GPU, which has no f64", kName, to_string(x));
    on_gpu(*s.gpu(), w, l, e, x);
  });
}

}  // namespace weft::kernels
