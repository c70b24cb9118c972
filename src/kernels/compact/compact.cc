// Compaction: counts the chosen elements of each block, scans the counts, then stores each element.
#include "weft/kernels/compact.h"
#include "core/format.h"
#include "kernels/call.h"
#include "kernels/check.h"
#include "kernels/common/bits.h"
#include "kernels/common/chunks.h"
#include "kernels/common/memory.h"
#include "kernels/common/positions.h"
#include "kernels/compact/compact_cpu.h"
#include "kernels/plan_cache.h"
#include "weft/error.h"
#include "weft/kernels/copy.h"
#include "weft/kernels/scan.h"

namespace weft::kernels {
namespace {

constexpr int kRounds = 16;                       // elements of a thread …
constexpr int kBatch = 8;                         // of which as many are in flight at once
constexpr std::int64_t kMaxCounted = UINT32_MAX;  // elements: the count is a u32

std::uint32_t block(const gpu::Capabilities& capabilities) { return kRounds * workgroup_size(capabilities, 256); }

std::string_view mask_kind(DType type) {
  if (type == DType::f64) return "f64";
  if (type == DType::c64) return "complex";
  if (is_floating(type)) return "float";
  return bits(type) == 64 ? "pair" : "integer";
}

// A part of a problem: a range of the mask's elements and of those that move. Parts follow each other in row-major
// order.
struct Part {
  View mask, moved;
  std::vector<std::int64_t> begin;  // in the whole mask
  std::optional<View> carry;        // number of elements that earlier parts chose
  View total;                       // receives that number plus the part's own
};

struct ListChunk {
  View view;
  std::int64_t first = 0;  // element
  int first_axis = 0;      // of indices
};

// The list in chunks that fit a binding. If a row of indices exceeds a binding, each axis has chunks of its own.
std::vector<ListChunk> list_chunks(const gpu::Capabilities& capabilities, const View& list) {
  View chunk = list;
  std::int64_t size = list.shape()[0];
  const auto far = [&] {
    chunk.layout.shape[0] = size;
    return span_bytes(chunk) > chunk_limit(capabilities);
  };
  while (far() && size > 1) size = first_half(size);
  std::vector<ListChunk> chunks;
  if (far()) {
    for (int d = 0; d < list.shape()[1]; ++d) {
      for (ListChunk& w : list_chunks(capabilities, chunk_along(list, 1, d, 1))) {
        w.first_axis = d;
        chunks.push_back(std::move(w));
      }
    }
    return chunks;
  }
  std::int64_t first = 0;
  do {
    chunks.push_back({chunk_along(list, 0, first, std::min(size, list.shape()[0] - first)), first});
    first += size;
  } while (first < list.shape()[0]);
  return chunks;
}

// Without a chunk it only counts.
void record(gpu::Commands& commands, const CompactProblem& problem, const Part& part, const View& counts,
            const ListChunk* chunk = nullptr) {
  const View* list = chunk ? &chunk->view : nullptr;
  const gpu::Capabilities& capabilities = commands.device().capabilities();
  const std::uint32_t workgroup = workgroup_size(capabilities, 256);
  const Compaction form = problem.form;
  const View& mask = part.mask;
  // Indices count along the mask's own axes; otherwise axes that are contiguous with each other are merged.
  std::vector<Strides> strides{mask.strides()};
  Shape shape = mask.shape();
  const bool moves = list && form != Compaction::indices;
  if (moves) strides.push_back(part.moved.strides());
  if (form != Compaction::indices || !list) {
    Collapsed c = collapse(shape, strides);
    shape = c.shape;
    strides = c.strides;
  }
  const bool fours = mask.is_dense() && can_vectorise(mask);
  const int b = bits(problem.list.dtype);
  // 8- and 16-bit elements are faster if stored as whole words, 32-bit ones one by one (measured on an H200).
  const View& whole = problem.list;
  const bool to_words = form == Compaction::compress && (b == 8 || b == 16) && whole.strides()[0] == 1 &&
                        whole.buffer != part.moved.buffer && whole.buffer != mask.buffer &&
                        (!list || list->shape() == whole.shape());
  const bool staged = list && to_words;
  // Contiguous memory in whole groups of four; the stage holds a word for each element of a block.
  const bool in_runs = to_words && fours && part.moved.is_dense() && can_vectorise(part.moved) &&
                       (kRounds + 4) * 4 * workgroup <= capabilities.max_workgroup_memory;
  Call call(commands, in_runs ? "compact_runs" : "compact");
  call.include("compact_common");
  call.read("mask", mask, fours ? 4 : 1).iterate(shape).strides("mask", strides[0]);
  if (!list) {
    call.write("counts", counts);
  } else {
    call.read("counts", counts).write("total", part.total);
    if (part.carry) call.read("carry", *part.carry);
    call.index_param("list_first", chunk->first).index_param("list_size", list->shape()[0]);
    if (form == Compaction::indices) {
      call.write("y", *list).index_param("y_axis", list->strides()[1]).index_param("y_stride", list->strides()[0]);
      for (int d = 0; d < mask.rank(); ++d)
        call.index_param(std::format("begin{}", d), part.begin[static_cast<std::size_t>(d)]);
    } else {
      const bool to_list = form == Compaction::compress;
      call.read("x", as_unsigned(to_list ? part.moved : *list), in_runs ? 4 : 1)
          .write("y", as_unsigned(to_list ? *list : part.moved));
      call.strides(to_list ? "x" : "y", strides[1]);
      call.index_param(to_list ? "y_stride" : "x_stride", list->strides()[0]);
    }
  }
  constexpr std::string_view kForms[] = {"compress", "expand", "indices"};
  call.set("form", list ? kForms[static_cast<int>(form)] : "count")
      .set("mask_kind", mask_kind(mask.dtype))
      .set("carried", part.carry.has_value())
      .set("bits", b)
      .set("rounds", kRounds)
      .set("workgroup", workgroup);
  if (!in_runs) {
    const bool indices = list && form == Compaction::indices;
    call.set("mask_fours", fours)
        .set("staged", staged)
        .set("batch", kBatch)
        .set("wide", list && b == 64)
        .set("first_axis", indices ? chunk->first_axis : 0)
        .set("axes", indices ? list->shape()[1] : 0);
  }
  call.opaque_zero()
      .index_param("elements", mask.count())
      .index_param("groups", counts.count())
      .dispatch_groups("compact", counts.count());
}

// The most parts of a mask: each takes several dispatches, and a mask whose last axes have large strides may need a
// part for each element.
constexpr std::size_t kMaxParts = 1024;

// Cuts the problem into parts that fit bindings, along the first axis that is longer than 1, which keeps the order.
void cut(const gpu::Capabilities& capabilities, std::string_view name, const CompactProblem& problem, Part part,
         std::vector<Part>& parts) {
  const auto far = [&](const View& v) { return span_bytes(v) > chunk_limit(capabilities) || v.count() > kMaxElements; };
  const bool moves = problem.form != Compaction::indices;
  if (!far(part.mask) && !(moves && far(part.moved))) return parts.push_back(std::move(part));
  int axis = 0;
  while (axis < part.mask.rank() && part.mask.shape()[axis] == 1) ++axis;
  if (axis == part.mask.rank()) {
    throw Unsupported("{}: {} cannot be cut for this device's bindings of {} bytes", name, to_string(part.mask),
                      capabilities.max_binding);
  }
  if (parts.size() >= kMaxParts) {
    throw Unsupported(
        "{}: {} lies so that this device's bindings of {} bytes hold it in more than {} parts only; copy it "
        "to a dense tensor first",
        name, to_string(problem.mask), capabilities.max_binding, kMaxParts);
  }
  const std::int64_t size = part.mask.shape()[axis], half = first_half(size);
  for (const auto& [begin, count] : {std::pair(std::int64_t{0}, half), std::pair(half, size - half)}) {
    Part piece = part;
    piece.mask = chunk_along(part.mask, axis, begin, count, name);
    if (moves) piece.moved = chunk_along(part.moved, axis, begin, count, name);
    piece.begin[static_cast<std::size_t>(axis)] += begin;
    cut(capabilities, name, problem, std::move(piece), parts);
  }
}

void run(Stream& stream, std::string_view name, const CompactProblem& problem, const View& x,
         const std::optional<View>& mask, const View& y) {
  if (problem.count.dtype != DType::u32 || problem.count.count() != 1) {
    throw InvalidArgument("{}: count is {}; expected one u32", name, to_string(problem.count));
  }
  // Messages show a broadcast mask as the caller passed it; without a mask, x is the mask.
  const bool masks = problem.form != Compaction::indices;
  const std::optional<View> chosen_by = masks ? std::optional(problem.mask) : std::nullopt;
  check_memory(stream, name, {{"x", x}, {"mask", chosen_by, mask}}, {{"y", y}, {"count", problem.count}},
               Sharing::none);
  if (problem.mask.count() == 0) return fill(stream, 0, problem.count);
  if (problem.mask.count() > kMaxCounted) {
    throw Unsupported("{}: {} has {} elements; fewer than 2^32 are counted", name, to_string(problem.mask),
                      problem.mask.count());
  }
  if (problem.form == Compaction::indices) {
    for (const std::int64_t n : problem.mask.shape()) check_positions(name, "y", problem.list, n);
  }
  if (stream.cpu()) return compact_cpu(*stream.cpu(), problem);
  gpu::Commands& commands = *stream.gpu();
  const gpu::Capabilities& capabilities = commands.device().capabilities();
  std::vector<Part> parts;
  cut(capabilities, name, problem,
      {problem.mask, problem.moved, std::vector<std::int64_t>(static_cast<std::size_t>(problem.mask.rank())), {}, {}},
      parts);
  const std::vector<ListChunk> chunks = list_chunks(capabilities, problem.list);
  GpuScratch carries(commands);  // two slots for the count carried from part to part
  const View both = carries.take(8);
  const auto carry = [&](std::size_t k) { return View(both.buffer, both.offset + k % 2 * 4, DType::u32, {1}); };
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Part& part = parts[i];
    if (i > 0) part.carry = carry(i);
    part.total = i + 1 < parts.size() ? carry(i + 1) : problem.count;
    const std::int64_t groups = ceil_div(part.mask.count(), block(capabilities));
    GpuScratch scratch(commands);
    const View memory = scratch.take(static_cast<std::uint64_t>(groups) * 4);
    const View counts(memory.buffer, memory.offset, DType::u32, {groups});
    record(commands, problem, part, counts);
    scan(commands, ScanKind::sum, counts, counts, 0, {.exclusive = true});
    for (const ListChunk& w : chunks) record(commands, problem, part, counts, &w);
  }
}

View over(std::string_view name, const View& mask, const View& shape_of) {
  if (!broadcasts_to(mask.shape(), shape_of.shape())) {
    throw InvalidArgument("{}: mask {} does not broadcast to {}", name, to_string(mask), to_string(shape_of));
  }
  return mask.broadcast_to(shape_of.shape());
}

void check_list(std::string_view name, const View& list, const View& moved) {
  if (list.rank() != 1) {
    throw InvalidArgument("{}: {} for the chosen elements of {}; expected one dimension", name, to_string(list),
                          to_string(moved));
  }
}

}  // namespace

void compress(Stream& stream, const View& x, const View& mask, const View& y, const View& count) {
  call(stream, CallKey("compress"), {x, mask, y, count}, [&](Stream& s) {
    check_views("compress", {&x, &mask}, {&y, &count});
    check_list("compress", y, x);
    run(s, "compress", {Compaction::compress, over("compress", mask, x), x, y, count}, x, mask, y);
  });
}

void expand(Stream& stream, const View& x, const View& mask, const View& y, const View& count) {
  call(stream, CallKey("expand"), {x, mask, y, count}, [&](Stream& s) {
    check_views("expand", {&x, &mask}, {&y, &count});
    check_list("expand", x, y);
    run(s, "expand", {Compaction::expand, over("expand", mask, y), y, x, count}, x, mask, y);
  });
}

void nonzero(Stream& stream, const View& x, const View& y, const View& count) {
  call(stream, CallKey("nonzero"), {x, y, count}, [&](Stream& s) {
    check_views("nonzero", {&x}, {&y, &count});
    if (y.shape()[1] != x.rank()) {
      throw InvalidArgument("nonzero: y is {}; expected [capacity, {}] for x {}", to_string(y), x.rank(), to_string(x));
    }
    run(s, "nonzero", {Compaction::indices, x, x, y, count}, x, {}, y);
  });
}

}  // namespace weft::kernels
