// Copies. Of one type: bits, by the elementwise kernel with the identity, or through tiles of workgroup memory where
// the fast axes of the two sides differ. Casts: the elementwise kernel.
#include "kernels/copy/copy.h"

#include "kernels/call.h"
#include "kernels/common/memory.h"
#include "kernels/common/windows.h"
#include "kernels/copy/bits.h"
#include "kernels/elementwise/map.h"
#include "weft/error.h"
#include "weft/kernels/copy.h"

namespace weft::kernels {
namespace {

// The two axes of a tile: along `a` the output lies one after the other, along `b` the input. -1: no such pair.
struct TileAxes {
  int a = -1, b = -1;
};

TileAxes tile_axes(const Collapsed& c) {
  constexpr std::int64_t kShort = 8;  // axes shorter than this fill too little of a tile
  const int last = c.shape.rank() - 1;
  const Strides& x = c.strides[0];
  const Strides& y = c.strides[1];
  if (y[last] != 1 || x[last] == 1 || x[last] == 0 || c.shape[last] < kShort) return {};
  for (int i = 0; i < last; ++i) {
    if (x[i] == 1 && c.shape[i] >= kShort) return {last, i};
  }
  return {};
}

Expression identity(DType type) {
  Expression e;
  e.output(e.input(type));
  return e;
}

}  // namespace

bool transpose_gpu(gpu::Commands& commands, const View& x, const View& y, const std::optional<TransposeForm>& form) {
  const Strides both[] = {x.strides(), y.strides()};
  const Collapsed c = sort_and_collapse(y.shape(), both, 1);
  const auto [a, b] = tile_axes(c);
  if (a < 0) return false;
  View from = x;
  View to = y;
  from.layout = {c.shape, c.strides[0]};
  to.layout = {c.shape, c.strides[1]};
  // Four at a time (bytes perhaps sixteen along b), if both sides' rows start at multiples of it and are multiples
  // long.
  auto fits = [&](const View& v, int fast, std::int64_t n) {
    if (bits(v.dtype) > 32 || bits(v.dtype) < 8 || v.shape()[fast] % n) return false;
    if (static_cast<std::int64_t>(v.offset * 8) / bits(v.dtype) % n) return false;
    for (int i = 0; i < v.rank(); ++i) {
      if (i != fast && v.strides()[i] % n) return false;
    }
    return true;
  };
  const int width = fits(from, b, 4) && fits(to, a, 4) ? 4 : 1;
  if (width == 1 && (bits(x.dtype) < 32 || (form && form->direct))) return false;
  const bool words = width == 4 && bits(x.dtype) == 8 && fits(from, b, 16) && (!form || form->words);
  if (form && form->words && !words) return false;

  const char* const direct = width == 4 && (!form || form->direct) ? "transpose_direct" : "transpose";
  Call call(commands, words ? "transpose_bytes" : direct);
  call.include("transpose_order");
  const gpu::Capabilities& can = call.capabilities();
  const std::uint32_t workgroup = workgroup_size(can, 256);
  // Measured on an H200 (bench/elementwise_bench transpose): 8192² f32 3,925 GB/s, f16 3,768, tiles 3,560.
  TransposeForm f{width == 4, words || width == 1 ? 32u : bits(x.dtype) == 32 ? 4u : 8u, false, words};
  if (form) f = *form;
  const std::int64_t tile_a = f.direct ? 4 * f.tile : f.tile;
  const std::int64_t tile_b = f.direct ? (words ? 16 : 4) * workgroup / f.tile : f.tile;
  if (!f.direct && f.tile * (f.tile + 1) * (bits(x.dtype) == 64 ? 8 : 4) > can.max_workgroup_memory) return false;
  Strides x_strides = c.strides[0];
  Strides y_strides = c.strides[1];
  if (words) {
    const auto in_words = [](View& v, Strides& strides, int fast) {
      v.dtype = DType::u32;
      v.layout.shape[fast] /= 4;
      for (int i = 0; i < v.rank(); ++i) {
        if (i != fast) v.layout.strides[i] /= 4;
      }
      strides = v.strides();
    };
    in_words(from, x_strides, b);
    in_words(to, y_strides, a);
  }

  Shape outer;
  Strides x_outer;
  Strides y_outer;
  for (int i = 0; i < c.shape.rank(); ++i) {
    if (i == a || i == b) continue;
    outer.push_back(c.shape[i]);
    x_outer.push_back(x_strides[i]);
    y_outer.push_back(y_strides[i]);
  }
  const std::int64_t tiles_a = ceil_div(c.shape[a], tile_a);
  const std::int64_t tiles_b = ceil_div(c.shape[b], tile_b);
  const std::int64_t groups = tiles_a * tiles_b * element_count(outer);
  const char* const variant = words ? "bytes" : f.direct ? "direct" : "tiles";
  call.variant(std::format("{}_{}", variant, f.tile), "the sides' fast axes differ")
      .read("x", from, width)
      .write("y", to, words ? 1 : width)
      .iterate(outer)
      .strides("x", x_outer)
      .strides("y", y_outer)
      .set("width", width)
      .set("tile", f.tile)
      .set("b_first", f.b_first)
      .set("workgroup", workgroup)
      .index_param("size_a", c.shape[a])
      .index_param("size_b", c.shape[b])
      .index_param("x_a", x_strides[a])
      .index_param("y_b", y_strides[b])
      .index_param("tiles_a", tiles_a)
      .index_param("tiles_b", tiles_b)
      .index_param("groups", groups)
      .dispatch_groups("transpose", groups);
  return true;
}

void copy_bits_gpu(gpu::Commands& commands, const View& x, const View& y) {
  const View both[] = {x, y};
  if (in_windows(commands.device().capabilities(), "copy", both, every_axis(),
                 [&](std::span<const View> part) { copy_bits_gpu(commands, part[0], part[1]); })) {
    return;
  }
  // Elements of 64 bits are turned around whole.
  View views[] = {x, y};
  if (bits(x.dtype) == 64) {
    for (View& v : views) v.dtype = DType::u64;
    if (transpose_gpu(commands, views[0], views[1])) return;
  }
  as_bits(views);
  if (bits(x.dtype) < 64 && transpose_gpu(commands, views[0], views[1])) return;
  map(commands, "copy", identity(views[0].dtype), std::span(views, 1), std::span(views + 1, 1));
}

void copy(Stream& stream, const View& x, const View& y) {
  View from = x;
  if (!broadcasts_to(x.shape(), y.shape())) {
    throw InvalidArgument("copy: {} does not broadcast to {}", to_string(x), to_string(y));
  }
  check_memory(stream, "copy", {x}, {y});
  if (y.count() == 0) return;
  from.layout = x.layout.broadcast_to(y.shape());
  if (x.dtype == y.dtype) {
    if (gpu::Commands* commands = stream.gpu()) return copy_bits_gpu(*commands, from, y);
    return copy_bits_cpu(*stream.cpu(), from, y);
  }
  Expression cast;
  cast.output(cast.cast(cast.input(x.dtype), y.dtype));
  map(stream, "copy", cast, std::span(&from, 1), std::span(&y, 1));
}

void fill(Stream& stream, double value, const View& y) {
  check_memory(stream, "fill", {}, {y});
  if (y.count() == 0) return;
  Expression constant;
  constant.constant(value, y.dtype);
  const std::uint64_t bits_of_value = constant.nodes()[0].bits;
  gpu::Commands* commands = stream.gpu();
  if (!commands) return fill_cpu(*stream.cpu(), bits_of_value, y);

  // The value travels with the call: one pipeline for all of them.
  View target = as_unsigned(y);
  Expression e;
  if (bits(y.dtype) == 64) {
    e.output(e.input(DType::u64));
    const Virtual number{DType::u64, bits_of_value};
    return map(*commands, "fill", e, {}, std::span(&number, 1), std::span(&target, 1));
  }
  as_bits(std::span(&target, 1));
  auto pattern = static_cast<std::uint32_t>(bits_of_value);
  for (int width = bits(y.dtype); width < bits(target.dtype); width *= 2) pattern |= pattern << width;
  e.output(e.cast(e.input(DType::u32), target.dtype));
  const Virtual number{DType::u32, pattern};
  map(*commands, "fill", e, {}, std::span(&number, 1), std::span(&target, 1));
}

}  // namespace weft::kernels
