#include "kernels/matmul/variants.h"

#include "kernels/call.h"

namespace weft::kernels {
namespace {

constexpr MatmulVariant tile(int m, int n, int k, int thread_m, int thread_n, bool double_buffer = false) {
  return {MatmulKind::tile, m, n, k, thread_m, thread_n, m / thread_m * (n / thread_n), double_buffer};
}
constexpr MatmulVariant sliced(int m, int n, int k, int thread_m, int thread_n, int slices) {
  return {MatmulKind::tile, m, n, k, thread_m, thread_n, m / thread_m * (n / thread_n) * slices, false, slices};
}
constexpr MatmulVariant dot(int m, int n, int threads) { return {MatmulKind::dot, m, n, 0, 0, 0, threads}; }
constexpr MatmulVariant direct(int m, int n, int threads) {
  return {MatmulKind::direct, m, n * threads, 0, m, n, threads};
}

constexpr MatmulVariant kVariants[] = {
    tile(128, 128, 16, 8, 8),
    tile(128, 128, 16, 8, 8, true),
    tile(128, 128, 8, 8, 8),
    tile(128, 128, 8, 8, 8, true),
    tile(128, 128, 32, 8, 8),
    tile(256, 128, 16, 16, 8),
    tile(256, 128, 16, 16, 8, true),
    tile(256, 128, 32, 16, 8),
    tile(128, 128, 16, 16, 8),
    tile(128, 128, 32, 16, 8),
    tile(128, 128, 16, 8, 16),
    tile(256, 64, 16, 16, 8),
    tile(128, 64, 16, 16, 8),
    tile(128, 64, 32, 8, 8),
    tile(128, 64, 16, 8, 8),
    tile(128, 64, 16, 8, 8, true),
    tile(64, 128, 16, 8, 8),
    tile(64, 64, 16, 8, 8),
    tile(64, 64, 32, 8, 8),
    tile(64, 64, 16, 8, 4),
    tile(64, 64, 16, 8, 4, true),
    tile(64, 64, 16, 4, 4),
    tile(64, 32, 32, 4, 4),
    tile(32, 64, 32, 4, 4),
    tile(32, 32, 32, 4, 4),
    tile(16, 32, 32, 4, 4),
    sliced(64, 32, 32, 8, 4, 4),
    sliced(32, 32, 32, 4, 4, 2),
    sliced(32, 32, 32, 4, 4, 4),
    sliced(32, 32, 32, 8, 4, 4),
    sliced(32, 16, 32, 4, 4, 4),
    sliced(16, 32, 32, 4, 4, 4),
    sliced(16, 32, 32, 4, 4, 8),
    sliced(16, 16, 32, 4, 4, 8),
    dot(8, 8, 64),
    dot(8, 4, 32),
    dot(8, 4, 64),
    dot(4, 8, 32),
    dot(4, 4, 32),
    dot(2, 8, 64),
    dot(1, 8, 64),
    dot(1, 4, 32),
    dot(1, 4, 128),
    dot(8, 1, 64),
    direct(16, 4, 8),
    direct(16, 2, 8),
    direct(8, 4, 8),
    direct(4, 4, 8),
    direct(1, 4, 8),
};

}  // namespace

int MatmulVariant::workgroup_memory() const {
  switch (kind) {
    case MatmulKind::tile: return (tile_m + tile_n) * tile_k * 4 * (double_buffer ? 2 : 1) * slices;
    case MatmulKind::dot: return (tile_m * tile_n * (threads + 1) + (threads > tile_m * tile_n ? threads : 0)) * 4;
    case MatmulKind::direct: return 0;
  }
  return 0;
}

std::string to_string(const MatmulVariant& v) {
  switch (v.kind) {
    case MatmulKind::tile:
      return std::format("tile_{}x{}x{}_{}x{}{}{}{}", v.tile_m, v.tile_n, v.tile_k, v.thread_m, v.thread_n,
                         v.double_buffer ? "_double" : "", v.slices > 1 ? std::format("_slices{}", v.slices) : "",
                         v.splits > 1 ? std::format("_split{}", v.splits) : "");
    case MatmulKind::dot: return std::format("dot_{}x{}_{}", v.tile_m, v.tile_n, v.threads);
    case MatmulKind::direct: return std::format("direct_{}x{}_{}", v.thread_m, v.thread_n, v.threads);
  }
  return {};
}

std::span<const MatmulVariant> matmul_variants() { return kVariants; }

bool rows_vectorise(const View& view) {
  return view.shape()[-1] % 4 == 0 && view.strides()[-1] == 1 && can_vectorise(view);
}

LoadForm load_form(const View& view, bool k_is_last) {
  std::vector<int> order;
  for (int d = 0; d < view.rank(); ++d) order.push_back(d);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  if (rows_vectorise(view)) return {k_is_last, 4};
  if (rows_vectorise(view.permuted(order))) return {!k_is_last, 4};
  const auto size = [](std::int64_t stride) { return stride < 0 ? -stride : stride; };
  const bool last_is_nearer = size(view.strides()[-1]) <= size(view.strides()[-2]);
  return {last_is_nearer == k_is_last, 1};
}

bool can_run(const MatmulVariant& v, const MatmulProblem& p, const gpu::Capabilities& capabilities) {
  if (static_cast<std::uint32_t>(v.threads) > capabilities.max_workgroup_size) return false;
  if (static_cast<std::uint32_t>(v.workgroup_memory()) > capabilities.max_workgroup_memory) return false;
  if (v.kind == MatmulKind::dot) return p.a.strides()[-1] == 1 && p.b.strides()[-2] == 1;
  return true;
}

std::uint64_t workspace_bytes(const MatmulVariant& v, const MatmulProblem& p) {
  if (v.splits <= 1) return 0;
  return static_cast<std::uint64_t>(v.splits) * static_cast<std::uint64_t>(p.batches() * p.m * p.n) * sizeof(float);
}

MatmulVariant choose_variant(const MatmulProblem& p, const gpu::Capabilities& capabilities, std::uint64_t /*workspace*/) {
  const auto groups = [&](const MatmulVariant& v) { return p.batches() * ceil_div(p.m, v.tile_m) * ceil_div(p.n, v.tile_n); };
  if (capabilities.software) {
    return direct(p.m > 8 ? 16 : p.m > 4 ? 8 : p.m > 1 ? 4 : 1, 4, 8);
  }
  // Few rows or columns: tiles would stand idle in one direction.
  const MatmulVariant skinny = p.m == 1   ? dot(1, 4, 32)
                               : p.n == 1 ? dot(8, 1, 64)
                               : p.k >= 1024 && p.m <= 16 ? dot(8, 4, 64)
                               : p.m <= 4 ? dot(4, 8, 32)
                                          : dot(8, 4, 32);
  constexpr std::int64_t kEnoughGroups = 250;  // for the cores of a large GPU
  const MatmulVariant smallest = tile(32, 32, 32, 4, 4);
  if ((p.m <= 16 || p.n <= 8 || groups(smallest) < kEnoughGroups) && can_run(skinny, p, capabilities)) return skinny;
  // The largest tile that still gives every core something to do.
  constexpr MatmulVariant kBySize[] = {tile(256, 128, 16, 16, 8), tile(128, 128, 32, 8, 8), tile(128, 64, 16, 8, 8),
                                       tile(64, 64, 16, 4, 4),    tile(64, 64, 16, 8, 4),   tile(32, 64, 32, 4, 4)};
  for (const MatmulVariant& v : kBySize) {
    if (can_run(v, p, capabilities) && groups(v) >= kEnoughGroups) return v;
  }
  return p.m <= 16 ? tile(16, 32, 32, 4, 4) : smallest;
}

}  // namespace weft::kernels
