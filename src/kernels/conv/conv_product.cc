// Convolutions on a GPU as matrix products that read windows (matmul_tile.wgsl, matmul_subgroup_matrix.wgsl): nothing
// is unfolded in memory. k counts an element of the window after the other, and in each the channels.
#include <algorithm>
#include <array>

#include "core/str_cat.h"
#include "kernels/call.h"
#include "kernels/common/chunks.h"
#include "kernels/conv/product.h"
#include "kernels/matmul/matmul.h"
#include "kernels/plan_state.h"
#include "weft/kernels/copy.h"
#include "weft/kernels/generate.h"
#include "weft/kernels/matmul.h"

namespace weft::kernels {
namespace {

// The windows of x as the rows of a product.
class Windows final : public WindowOperand {
 public:
  Windows(const ConvProblem& p, const ConvProduct& product, bool in_memory)
      : p_(p), product_(product), in_memory_(in_memory) {}

  bool in_memory() const override { return in_memory_; }

  bool padded() const override { return p_.reaches_out(); }

  void add_places(Call& call, std::string_view name) const override {
    std::vector<std::string> from(static_cast<std::size_t>(p_.spatial()), "row"), rows, checked;
    for (std::size_t i = 0; i < product_.batch_axes.size(); ++i) {
      const int axis = product_.batch_axes[i];
      if (axis >= ConvProblem::kSpatial)
        from[static_cast<std::size_t>(axis - ConvProblem::kSpatial)] = std::to_string(i);
    }
    for (std::size_t i = product_.row_axes.size(); i-- > 0;) {
      const int axis = product_.row_axes[i];
      rows.push_back(axis == ConvProblem::kBatch ? "n" : std::to_string(axis - ConvProblem::kSpatial));
      call.index_param("rows_" + rows.back(), p_.y.shape()[axis]);
    }
    for (int d = 0; d < p_.spatial(); ++d) {
      const int axis = ConvProblem::kSpatial + d;
      checked.emplace_back(p_.reaches_out(d) ? "yes" : "");
      call.param(str_cat("stride", d), static_cast<std::int32_t>(p_.strides[d]));
      call.param(str_cat("before", d), static_cast<std::int32_t>(p_.before[d]));
      call.param(str_cat("dilation", d), static_cast<std::int32_t>(p_.dilations[d]));
      call.index_param(str_cat("window", d), p_.w.shape()[axis]).index_param(str_cat("extent", d), p_.x.shape()[axis]);
    }
    call.index_param("channels", p_.channels());
    call.include("conv_windows").set("side", name).set("spatial", p_.spatial());
    call.set("from", from).set("rows", rows).set("checked", checked);
  }

  LoadForm form(int wide) const override {
    const View x = channels_last(p_.x);
    if (p_.channels() % wide == 0 && rows_vectorise(x, wide)) return {true, wide};
    const std::int64_t along = std::abs(p_.x.strides()[2]);
    const std::int64_t across = std::abs(p_.x.strides()[-1]);
    return {along <= across || p_.y.shape()[-1] == 1, 1};
  }

  void add(Call& call, std::string_view name, int width) const override {
    if (width > 4)
      call.raw(name, p_.x, "vec4<u32>", 16, gpu::Access::read);
    else
      call.read(name, p_.x, width);
    const auto step = [&](int axis) {
      const int d = axis - ConvProblem::kSpatial;
      return p_.x.strides()[axis] * (d >= 0 ? p_.strides[d] : 1);
    };
    Strides batch;
    // Operands of 16 bytes count elements in the shader, too.
    for (const int axis : product_.batch_axes) batch.push_back(step(axis));
    call.strides(name, batch);
    for (const int axis : product_.row_axes) {
      const std::string text = axis == ConvProblem::kBatch ? "n" : std::to_string(axis - ConvProblem::kSpatial);
      call.index_param("step_" + text, step(axis));
    }
    std::int64_t before = 0;
    for (int d = 0; d < p_.spatial(); ++d) {
      const int axis = ConvProblem::kSpatial + d;
      before += p_.before[d] * p_.x.strides()[axis];
      call.index_param(str_cat("tap_step", d), p_.x.strides()[axis] * p_.dilations[d]);
    }
    call.param("window_before", static_cast<std::uint32_t>(before));
    call.index_param("channel_step", p_.x.strides()[2]);
    add_places(call, name);
  }

  std::int64_t run() const override { return p_.channels(); }

 private:
  const ConvProblem& p_;
  const ConvProduct& product_;
  bool in_memory_;
};

View transposed(const View& view) {
  Layout layout = view.layout;
  std::swap(layout.shape[-1], layout.shape[-2]);
  std::swap(layout.strides[-1], layout.strides[-2]);
  return view.with_layout(layout);
}

// Rows of y are contiguous along its channels, or else along its places: then the product is the transposed one.
void record_windows(gpu::Commands& commands, MatmulProblem m, const Windows& windows, const Expression* epilogue,
                    const MatmulVariant* variant, std::uint64_t scratch) {
  m.windows = &windows;
  if (m.y.strides()[-1] != 1 && m.y.strides()[-2] == 1) {
    m.for_each_view([](View& v) { v = transposed(v); });
    std::swap(m.a, m.b);
    std::swap(m.m, m.n);
    m.windows_are_b = true;
  }
  matmul_of_windows(commands, m, epilogue, variant, scratch);
}

// A copy with channels last, whose number is a multiple of `unit`; the additional ones are zeros.
View copy_with_channels_last(gpu::Commands& commands, const View& v, std::int64_t unit, GpuScratch& scratch) {
  const View from = channels_last(v);
  Shape shape = from.shape();
  const std::int64_t channels = shape[-1];
  shape[-1] = ceil_div(channels, unit) * unit;
  const View memory = scratch.take(byte_size(v.dtype, static_cast<std::uint64_t>(element_count(shape))));
  const View to(memory.buffer, memory.offset, v.dtype, shape);
  const View part = to.with_layout({from.shape(), to.strides()});
  if (shape[-1] != channels) fill(commands, 0, to);
  copy(commands, from, part);
  return moved_axis(to, to.rank() - 1, 2);
}

std::uint64_t bytes_with_channels_last(const View& v, std::int64_t unit) {
  return byte_size(v.dtype, static_cast<std::uint64_t>(v.count() / std::max<std::int64_t>(1, v.shape()[2]) *
                                                       ceil_div(v.shape()[2], unit) * unit));
}

// Windows as they lie in scratch: [g, n, i…, elements of the window, c].
Shape unfolded_shape(const ConvProblem& p) {
  Shape shape{p.groups(), p.batch()};
  for (int d = 0; d < p.spatial(); ++d) shape.push_back(p.y.shape()[ConvProblem::kSpatial + d]);
  shape.push_back(p.taps());
  shape.push_back(p.channels());
  return shape;
}

}  // namespace

bool suits_unfolded(gpu::Commands& commands, const ConvProblem& p) {
  const gpu::Capabilities& capabilities = commands.device().capabilities();
  const std::uint64_t bytes = byte_size(p.x.dtype, static_cast<std::uint64_t>(element_count(unfolded_shape(p))));
  return capabilities.software && p.depth() >= 16 && p.outputs() >= 8 && bytes <= chunk_limit(capabilities);
}

void record_unfolded(gpu::Commands& commands, const ConvProblem& problem, const Expression* epilogue) {
  ConvProblem p = problem;
  GpuScratch scratch(commands);
  std::optional<ConvProduct> product = as_product(p);
  if (!product || product->channels_first) {
    p.w = copy_with_channels_last(commands, p.w, 1, scratch);
    product = as_product(p);
  }
  const Shape shape = unfolded_shape(p);
  const View memory = scratch.take(byte_size(p.x.dtype, static_cast<std::uint64_t>(element_count(shape))));
  const View windows(memory.buffer, memory.offset, p.x.dtype, shape);
  if (p.reaches_out()) fill(commands, 0, windows);
  const int spatial = p.spatial(), places = ConvProblem::kBatch + 1, taps = places + spatial;
  for (std::int64_t t = 0; t < p.taps(); ++t) {
    // An element of all windows: those places of y at which it lies in x.
    Layout from, to;
    for (const int axis : {ConvProblem::kGroup, ConvProblem::kBatch}) {
      from.shape.push_back(p.x.shape()[axis]), from.strides.push_back(p.x.strides()[axis]);
      to.strides.push_back(windows.strides()[axis]);
    }
    std::int64_t first_from = 0, first_to = t * windows.strides()[taps], rest = t;
    std::array<std::int64_t, 3> tap{};
    for (int d = spatial - 1; d >= 0; --d) {
      tap[static_cast<std::size_t>(d)] = rest % p.w.shape()[ConvProblem::kSpatial + d];
      rest /= p.w.shape()[ConvProblem::kSpatial + d];
    }
    bool empty = false;
    for (int d = 0; d < spatial; ++d) {
      const int axis = ConvProblem::kSpatial + d;
      const std::int64_t k = tap[static_cast<std::size_t>(d)], begin = p.position(d, 0, k), step = p.strides[d];
      const std::int64_t size = p.x.shape()[axis];
      const std::int64_t low = begin >= 0 ? 0 : (-begin + step - 1) / step;
      const std::int64_t high = begin >= size ? 0 : std::min(shape[places + d], (size - begin + step - 1) / step);
      empty |= low >= high;
      first_from += p.position(d, low, k) * p.x.strides()[axis];
      first_to += low * windows.strides()[places + d];
      from.shape.push_back(high - low), from.strides.push_back(p.x.strides()[axis] * step);
      to.strides.push_back(windows.strides()[places + d]);
    }
    if (empty) continue;
    from.shape.push_back(p.channels()), from.strides.push_back(p.x.strides()[2]);
    to.strides.push_back(1);
    to.shape = from.shape;
    const auto at = [](const View& v, std::int64_t first, const Layout& layout) {
      const std::int64_t bytes = first * bits(v.dtype) / 8;
      return View(v.buffer, v.offset + static_cast<std::uint64_t>(bytes), v.dtype, layout.shape, layout.strides);
    };
    copy(commands, at(p.x, first_from, from), at(windows, first_to, to));
  }
  MatmulProblem& m = product->matmul;
  m.a = View(windows.buffer, windows.offset, windows.dtype, m.a.shape());
  record_windows(commands, m, Windows(p, *product, true), epilogue, nullptr, 0);
}

void record_product(gpu::Commands& commands, const ConvProblem& problem, const Expression* epilogue,
                    const MatmulVariant* variant) {
  check_reach(problem, 0);
  ConvProblem p = problem;
  GpuScratch scratch(commands);
  const gpu::Capabilities& capabilities = commands.device().capabilities();
  // Matrix units take operands whose channels lie together, as many as a load has: others are copied if the product is
  // worth it. (Copies take about 3 µs each on an H200.)
  constexpr double kWorthCopies = 1e8;
  const double flops = 2 * static_cast<double>(p.y.count()) * static_cast<double>(p.depth());
  const int wide = matrix_load_width(p.x.dtype);
  const bool matrices = (!variant || variant->kind == MatmulKind::subgroup_matrix) && p.x.dtype == p.w.dtype &&
                        matrix_unit(capabilities, p.x.dtype) && p.outputs() >= 16;
  const auto is_wide = [&](const View& v) {
    return v.shape()[2] % wide == 0 && rows_vectorise(channels_last(v), wide);
  };
  if (matrices && flops >= kWorthCopies && !(is_wide(p.x) && is_wide(p.w)) &&
      bytes_with_channels_last(p.x, wide) <= chunk_limit(capabilities) &&
      bytes_with_channels_last(p.w, wide) <= chunk_limit(capabilities)) {
    if (!is_wide(p.x)) p.x = copy_with_channels_last(commands, p.x, wide, scratch);
    if (!is_wide(p.w) || p.w.shape()[2] != p.x.shape()[2]) p.w = copy_with_channels_last(commands, p.w, wide, scratch);
  }
  std::optional<ConvProduct> product = as_product(p);
  if (!product || product->channels_first) {
    p.w = copy_with_channels_last(commands, p.w, 1, scratch);
    product = as_product(p);
  }
  const bool copied = !(p.x.buffer == problem.x.buffer) || !(p.w.buffer == problem.w.buffer);
  // (The sums of a split k would be in the buffer of the copies.)
  record_windows(commands, product->matmul, Windows(p, *product, false), epilogue, variant,
                 copied ? 0 : capabilities.max_buffer);
}

}  // namespace weft::kernels
