// The best few elements of long rows: those of each part of a row, then those of the parts' results, until a row is one
// part.
#include "kernels/sort/sort.h"

namespace weft::kernels {
namespace {

constexpr std::int64_t kTile = 1024, kRound = 512;

// Sizes of a round: candidates of a row, and the parts into which they are cut.
struct Level {
  std::int64_t length, part_length, parts;
};

std::vector<Level> levels_of(const gpu::Capabilities& can, const SortProblem& p) {
  // Parts so long that few of their elements are selected, and enough parts to fill a GPU.
  const std::int64_t most = can.software ? 8 : std::max<std::int64_t>(2048 / std::max<std::int64_t>(p.rows, 1), 1);
  const std::int64_t least = std::max<std::int64_t>(4096, 16 * p.keep);
  std::vector<Level> levels;
  for (std::int64_t length = p.length;;) {
    const std::int64_t part_length = std::max(ceil_div(ceil_div(length, most), kRound) * kRound, least);
    levels.push_back({length, part_length, ceil_div(length, part_length)});
    if (levels.back().parts == 1) return levels;
    length = levels.back().parts * p.keep;
  }
}

std::uint64_t list_bytes(const SortProblem& p, const Level& level) {
  return list_size(static_cast<std::uint64_t>(p.rows * level.parts * p.keep) * 4);
}

}  // namespace

std::uint64_t select_scratch(const gpu::Capabilities& capabilities, const SortProblem& problem) {
  const std::vector<Level> levels = levels_of(capabilities, problem);
  // Lists alternate between two buffers; each is at least as long as the next list there.
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(levels.size() - 1, 2); ++i) bytes += list_bytes(problem, levels[i]);
  return bytes;
}

void select_top(gpu::Commands& commands, const SortProblem& p, const View& scratch) {
  const std::vector<Level> levels = levels_of(commands.device().capabilities(), p);
  const auto list = [&](std::size_t i) {
    return View(scratch.buffer, scratch.offset + (i % 2 ? list_bytes(p, levels[0]) : 0), DType::u32,
                {p.rows * levels[i].parts * p.keep});
  };
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const Level& level = levels[i];
    const bool last = i + 1 == levels.size();
    Call call(commands, "top_k");
    call.iterate(p.outer.shape);
    add_input(call, p);
    add_outputs(call, p, last);
    if (i > 0) call.read("list", list(i - 1));
    if (!last) call.write("best", list(i));
    p.rule.add_to(call);
    call.include("sort_tile").include("sort_store");
    call.set("workgroup", workgroup_size(call.capabilities(), 128)).set("tile", kTile).set("per_round", kRound);
    call.set("listed", i > 0).set("last", last).set("has_indices", last && p.indices);
    call.index_param("rows", p.rows).index_param("length", level.length).index_param("keep", p.keep);
    call.index_param("parts", level.parts).index_param("part_length", level.part_length);
    call.dispatch_groups("top_k", p.rows * level.parts);
  }
}

}  // namespace weft::kernels
