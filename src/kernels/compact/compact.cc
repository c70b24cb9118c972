// Compaction: count in blocks, scan, place.
#include "kernels/call.h"
#include "kernels/common/memory.h"
#include "kernels/compact/compact_cpu.h"
#include "kernels/copy/bits.h"
#include "weft/error.h"
#include "weft/kernels/compact.h"
#include "weft/kernels/copy.h"
#include "weft/kernels/scan.h"

namespace weft::kernels {
namespace {

constexpr int kRounds = 16;  // elements of a thread …
constexpr int kBatch = 4;    // of which as many are on their way at once

std::uint32_t block(const gpu::Capabilities& capabilities) { return kRounds * workgroup_size(capabilities, 256); }

std::string_view mask_kind(DType type) {
  if (type == DType::f64) return "f64";
  if (type == DType::c64) return "complex";
  if (is_floating(type)) return "float";
  return bits(type) == 64 ? "pair" : "integer";
}

View counts_in(const View& workspace, std::int64_t groups) {
  return View(workspace.buffer, workspace.offset, DType::u32, {groups});
}

struct Operand {
  std::string_view name;
  const View& view;
  bool written;
};

// `moved` is the tensor of the mask's shape, `list` the one that the chosen elements make or come from.
void record(gpu::Commands& commands, const CompactProblem& problem, const View& counts, bool counting) {
  Call call(commands, "compact");
  const std::uint32_t workgroup = workgroup_size(call.capabilities(), 256);
  const Compaction form = problem.form;
  const View mask = problem.mask;
  // Indices are told by the mask's own axes; else axes that memory walks as one are one.
  std::vector<Strides> strides{mask.strides()};
  Shape shape = mask.shape();
  const bool moves = !counting && form != Compaction::indices;
  if (moves) strides.push_back(problem.moved.strides());
  if (form != Compaction::indices || counting) {
    Collapsed c = collapse(shape, strides);
    shape = c.shape;
    strides = c.strides;
  }
  const bool fours = mask.is_dense() && can_vectorise(mask);
  call.read("mask", mask, fours ? 4 : 1).iterate(shape).strides("mask", strides[0]);
  if (counting) {
    call.write("counts", counts);
  } else {
    call.read("counts", counts).write("total", problem.count);
    const View& list = problem.list;
    call.index_param("capacity", list.shape()[0]);
    if (form == Compaction::indices) {
      call.write("y", list).index_param("y_axis", list.strides()[1]).index_param("y_stride", list.strides()[0]);
    } else {
      const bool to_list = form == Compaction::compress;
      call.read("x", as_unsigned(to_list ? problem.moved : list)).write("y", as_unsigned(to_list ? list : problem.moved));
      call.strides(to_list ? "x" : "y", strides[1]);
      call.index_param(to_list ? "y_stride" : "x_stride", list.strides()[0]);
    }
  }
  constexpr std::string_view kForms[] = {"compress", "expand", "indices"};
  call.set("form", counting ? "count" : kForms[static_cast<int>(form)])
      .set("mask_kind", mask_kind(mask.dtype))
      .set("mask_fours", fours)
      .set("rounds", kRounds)
      .set("batch", kBatch)
      .set("rank", mask.rank())
      .set("wide", !counting && bits(problem.list.dtype) == 64)
      .set("workgroup", workgroup)
      .index_param("elements", mask.count())
      .index_param("groups", counts.count())
      .dispatch_groups("compact", counts.count());
}

void run(Stream& stream, std::string_view name, const CompactProblem& problem, const View& x, const View& y,
         const std::optional<View>& workspace) {
  if (problem.count.dtype != DType::u32 || problem.count.count() != 1) {
    throw InvalidArgument("{}: count is {}; expected one u32", name, to_string(problem.count));
  }
  check_memory(stream, name, {x, problem.mask}, {y, problem.count}, Sharing::none, workspace);
  if (problem.mask.count() == 0) return fill(stream, 0, problem.count);
  if (stream.cpu()) return compact_cpu(*stream.cpu(), problem);
  const std::uint64_t needed = compact_workspace(stream, problem.mask.shape());
  if (!workspace || !workspace->is_dense() ||
      byte_size(workspace->dtype, static_cast<std::uint64_t>(workspace->count())) < needed) {
    throw InvalidArgument("{}: the workspace is {}; expected {} dense bytes", name,
                          workspace ? to_string(*workspace) : "missing", needed);
  }
  gpu::Commands& commands = *stream.gpu();
  const gpu::Capabilities& capabilities = commands.device().capabilities();
  const View counts = counts_in(*workspace, ceil_div(problem.mask.count(), block(capabilities)));
  record(commands, problem, counts, true);
  std::optional<View> rest;
  const std::uint64_t used = ceil_div(static_cast<std::int64_t>(byte_size(DType::u32, static_cast<std::uint64_t>(counts.count()))), 16) * 16;
  if (needed > used) rest = View(counts.buffer, counts.offset + used, DType::u8, {static_cast<std::int64_t>(needed - used)});
  scan(commands, ScanOp::sum, counts, counts, 0, {.exclusive = true}, rest);
  record(commands, problem, counts, false);
}

View over(std::string_view name, const View& mask, const View& shape_of) {
  if (!broadcasts_to(mask.shape(), shape_of.shape())) {
    throw InvalidArgument("{}: mask {} does not broadcast to {}", name, to_string(mask), to_string(shape_of));
  }
  return mask.broadcast_to(shape_of.shape());
}

void check_list(std::string_view name, const View& list, const View& moved) {
  if (list.rank() != 1 || list.dtype != moved.dtype) {
    throw InvalidArgument("{}: {} for the chosen elements of {}; expected one dimension of its type", name,
                          to_string(list), to_string(moved));
  }
}

}  // namespace

std::uint64_t compact_workspace(Stream& stream, const Shape& shape) {
  if (!stream.gpu() || element_count(shape) == 0) return 0;
  const gpu::Capabilities& capabilities = stream.gpu()->device().capabilities();
  const std::int64_t groups = ceil_div(element_count(shape), block(capabilities));
  const View counts = View(Buffer::placeholder(static_cast<std::uint64_t>(groups) * 4), 0, DType::u32, {groups});
  const std::uint64_t scanning = scan_workspace(stream, ScanOp::sum, counts, counts, 0, {.exclusive = true});
  return static_cast<std::uint64_t>(ceil_div(groups * 4, 16) * 16) + scanning;
}

void compress(Stream& stream, const View& x, const View& mask, const View& y, const View& count,
              const std::optional<View>& workspace) {
  check_list("compress", y, x);
  run(stream, "compress", {Compaction::compress, over("compress", mask, x), x, y, count}, x, y, workspace);
}

void expand(Stream& stream, const View& x, const View& mask, const View& y, const View& count,
            const std::optional<View>& workspace) {
  check_list("expand", x, y);
  run(stream, "expand", {Compaction::expand, over("expand", mask, y), y, x, count}, x, y, workspace);
}

void nonzero(Stream& stream, const View& x, const View& y, const View& count, const std::optional<View>& workspace) {
  if (y.rank() != 2 || y.shape()[1] != x.rank() || !is_integer(y.dtype) || bits(y.dtype) < 32) {
    throw InvalidArgument("nonzero: y is {}; expected [capacity, {}] of integers of 32 or 64 bits for x {}", to_string(y),
                          x.rank(), to_string(x));
  }
  run(stream, "nonzero", {Compaction::indices, x, x, y, count}, x, y, workspace);
}

}  // namespace weft::kernels
