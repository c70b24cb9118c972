// Copies. Within one type: bits, by the elementwise kernel with the identity, or through tiles of workgroup memory
// where the fastest axes of input and output differ. Casts: the elementwise kernel.
#include "kernels/copy/copy.h"

#include "core/format.h"
#include "core/str_cat.h"
#include "kernels/call.h"
#include "kernels/common/bits.h"
#include "kernels/common/chunks.h"
#include "kernels/common/memory.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/plan_cache.h"
#include "weft/error.h"
#include "weft/kernels/copy.h"

namespace weft::kernels {
namespace {

// The two axes of a tile: the output is contiguous along `a`, the input along `b`. -1: there is no such pair.
struct TileAxes {
  int a = -1, b = -1;
  bool run = false;  // a is short, and the output is contiguous along a and b together
};

TileAxes tile_axes(const Collapsed& c) {
  constexpr std::int64_t kShort = 8, kLong = 64;
  const int last = c.shape.rank() - 1;
  const Strides& x = c.strides[0];
  const Strides& y = c.strides[1];
  if (y[last] != 1 || x[last] == 1 || x[last] == 0) return {};
  for (int i = 0; i < last; ++i) {
    if (x[i] != 1) continue;
    if (c.shape[last] < kShort && c.shape[i] >= kLong && y[i] == c.shape[last]) return {last, i, true};
    if (c.shape[last] >= kShort && c.shape[i] >= kShort) return {last, i};
  }
  return {};
}

Expression identity(DType type) {
  Expression e;
  e.output(e.input(type));
  return e;
}

// True if the view's rows along `fast` begin at multiples of n elements.
bool begin_at(const View& v, int fast, std::int64_t n) {
  if (static_cast<std::int64_t>(v.offset * 8) / bits(v.dtype) % n) return false;
  for (int i = 0; i < v.rank(); ++i) {
    if (i != fast && v.strides()[i] % n) return false;
  }
  return true;
}

// True if the view can be accessed in groups of n elements along `fast`: 4, or 16 bytes along b.
bool in_fours(const View& v, int fast, std::int64_t n = 4) {
  return bits(v.dtype) <= 32 && v.shape()[fast] % n == 0 && begin_at(v, fast, n);
}

void take_as_words(View& v, int fast) {
  v.dtype = DType::u32;
  v.layout.shape[fast] /= 4;
  for (int i = 0; i < v.rank(); ++i) {
    if (i != fast) v.layout.strides[i] /= 4;
  }
}

}  // namespace

bool transpose_gpu(gpu::Commands& commands, const View& x, const View& y, const std::optional<TransposeForm>& form) {
  const int element_bits = bits(x.dtype);
  const Strides both[] = {x.strides(), y.strides()};
  const Collapsed c = sort_and_collapse(y.shape(), both, 1);
  const auto [a, b, run] = tile_axes(c);
  if (a < 0 || element_bits < 8) return false;
  View from = x;
  View to = y;
  from.layout = {c.shape, c.strides[0]};
  to.layout = {c.shape, c.strides[1]};
  const bool fours = !run && in_fours(from, b) && in_fours(to, a);
  const bool sixteens = fours && element_bits == 8 && in_fours(from, b, 16);
  // Measured on an H200 (bench/elementwise_bench transpose): 8192² f32 3,925 GB/s, f16 3,768.
  TransposeForm f{true, element_bits == 32 ? 4u : 8u, false};
  if (sixteens) f = {true, 32, false, true};
  if (!fours) f = {false, 32, false, false, element_bits == 64 ? 32u : 64u};
  if (form) f = *form;
  if ((f.direct && !fours) || (f.words && !sixteens)) return false;
  if (f.words) {
    take_as_words(from, b);
    take_as_words(to, a);
  }

  Call call(commands, f.words ? "transpose_bytes" : f.direct ? "transpose_direct" : "transpose_tiles");
  call.include("transpose_order");
  const std::uint32_t workgroup = workgroup_size(call.capabilities(), 256);
  std::int64_t tiles_a = 1;
  std::int64_t tiles_b = 1;
  if (f.direct) {
    tiles_a = ceil_div(c.shape[a], 4 * f.tile);
    tiles_b = ceil_div(c.shape[b], (f.words ? 16 : 4) * workgroup / f.tile);
    call.variant(str_cat(f.words ? "bytes" : "direct", "_", f.tile), "the sides' fast axes differ")
        .read("x", from, 4)
        .write("y", to, f.words ? 1 : 4)
        .set("tile", f.tile);
  } else {
    const std::int64_t n = element_bits < 32 ? 32 / element_bits : 1;
    std::int64_t rows = f.tile * n + n - 1;
    std::int64_t words = f.tile_b / n;
    if (run) {
      f.tile = 1024;
      f.tile_b = 1;
      rows = c.shape[a];
      words = f.tile / rows + 4;  // of an additional element at either end, rounded out to words
      tiles_b = ceil_div(c.shape[a] * c.shape[b] + n - 1, f.tile * n);
    } else {
      tiles_a = ceil_div(c.shape[a] + n - 1, f.tile * n);
      tiles_b = ceil_div(c.shape[b], f.tile_b);
    }
    // Tiles of small matrices would be nearly empty.
    if (c.shape[a] * c.shape[b] * 4 < f.tile * n * f.tile_b) return false;
    const std::int64_t bytes = (rows + n) * (words + 1) * std::max(element_bits / 8, 4);
    if (bytes > call.capabilities().max_workgroup_memory) return false;
    if (n > 1)
      call.update("y", to).read("x", from);
    else
      call.read("x", from).write("y", to);
    const std::string variant = run ? str_cat("run_", f.tile) : str_cat("tiles_", f.tile, "x", f.tile_b);
    call.variant(variant, "the sides' fast axes differ")
        .set("n", n)
        .set("rows", rows)
        .set("words", words)
        .set("before", run ? 0 : n - 1)
        .set("aligned", begin_at(from, b, n))
        .set("short_a", run ? c.shape[a] : 0)
        .set("tile_words", f.tile)
        .set("tile_b", f.tile_b);
  }
  Shape outer;
  Strides x_outer;
  Strides y_outer;
  for (int i = 0; i < c.shape.rank(); ++i) {
    if (i == a || i == b) continue;
    outer.push_back(c.shape[i]);
    x_outer.push_back(from.strides()[i]);
    y_outer.push_back(to.strides()[i]);
  }
  const std::int64_t groups = tiles_a * tiles_b * element_count(outer);
  call.iterate(outer)
      .strides("x", x_outer)
      .strides("y", y_outer)
      .set("b_first", f.b_first)
      .set("turns_bytes", element_bits == 8)
      .set("workgroup", workgroup)
      .index_param("size_a", c.shape[a])
      .index_param("size_b", c.shape[b])
      .index_param("x_a", from.strides()[a])
      .index_param("y_b", to.strides()[b])
      .index_param("tiles_a", tiles_a)
      .index_param("tiles_b", tiles_b)
      .index_param("groups", groups)
      .dispatch_groups("transpose", groups);
  return true;
}

void copy_bits_gpu(gpu::Commands& commands, const View& x, const View& y) {
  const View both[] = {x, y};
  if (in_chunks(commands.device().capabilities(), "copy", both, every_axis(),
                [&](std::span<const View> part) { copy_bits_gpu(commands, part[0], part[1]); })) {
    return;
  }
  // 64-bit elements are transposed as they are, not as pairs of u32.
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
  call(stream, CallKey("copy"), {x, y}, [&](Stream& s) {
    View from = x;
    if (!broadcasts_to(x.shape(), y.shape())) {
      throw InvalidArgument("copy: x {} does not broadcast to y {}", to_string(x), to_string(y));
    }
    check_memory(s, "copy", {{"x", x}}, {{"y", y}});
    if (y.count() == 0) return;
    from.layout = x.layout.broadcast_to(y.shape());
    if (x.dtype == y.dtype) {
      if (gpu::Commands* commands = s.gpu()) return copy_bits_gpu(*commands, from, y);
      return copy_bits_cpu(*s.cpu(), from, y);
    }
    Expression cast;
    cast.output(cast.cast(cast.input(x.dtype), y.dtype));
    map(s, "copy", cast, std::span(&from, 1), std::span(&y, 1));
  });
}

void fill(Stream& stream, Number value, const View& y) {
  call(stream, CallKey("fill", value), {y}, [&](Stream& s) {
    check_memory(s, "fill", {}, {{"y", y}});
    if (y.count() == 0) return;
    const std::uint64_t bits_of_value = value.bits(y.dtype);
    gpu::Commands* commands = s.gpu();
    if (!commands) return fill_cpu(*s.cpu(), bits_of_value, y);

    // The value is a parameter of the call, so that all values share one pipeline.
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
  });
}

}  // namespace weft::kernels
