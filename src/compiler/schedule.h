// A graph as a list of kernel calls on numbered storages: what the memory plan gives locations and an executable runs,
// the same on every device.
#pragma once

#include "compiler/memory_plan.h"
#include "graph/constant.h"
#include "graph/graph.h"
#include "weft/kernels/plan.h"

namespace weft::compiler {

// Memory that holds one value.
struct Storage {
  enum class Kind : std::uint8_t { input, output, constant, number, intermediate };
  Kind kind = Kind::intermediate;
  int index = 0;   // of the graph's input, number or output; -1: the index of a loop's turns
  int donor = -1;  // the input whose memory an output has (compiler/donate.h)
  std::uint64_t bytes = 0;
  ConstantPtr constant;
  Buffer number;  // a Buffer::number() that each run sets
};

// A view into a storage.
struct StoredView {
  int storage = -1;
  std::uint64_t offset = 0;  // bytes
  DType dtype = DType::f32;
  Layout layout;
};

struct ScheduledCall {
  OpPtr op;
  std::string label;  // "matmul+bias [4096, 1152]"
  SourceLine line;    // that recorded it, for messages
  std::vector<StoredView> inputs, outputs;
  // Set by plan_calls:
  kernels::Plan plan;  // on a GPU
  int scratch = -1;    // a storage that nothing else uses

  std::vector<int> reads() const;
  std::vector<int> writes() const;  // the scratch too
};

// Calls [first, end) of a schedule that a branch or a loop runs, in it those of other blocks.
struct Block {
  // branch: [first, middle) if the condition holds, else [middle, end). loop: [first, middle) compute the condition; as
  // long as it holds, [middle, end) follow, and it is computed again. turns: [first, end), as often as `turns` says.
  using Kind = ControlForm;
  Kind kind = Kind::branch;
  int first = 0, middle = 0, end = 0;  // of turns the middle is the first
  StoredView condition = {};           // one boolean, of branches and loops
  std::int64_t turns = 0;
  bool reverse = false;  // the index goes down
  int index = -1;        // the storage of the number that is the turn's index, an i32
  std::string label;
  SourceLine line;

  bool repeats() const { return kind != Kind::branch; }
};

struct Port {
  std::string name;
  TensorType type;
};

struct Schedule {
  std::vector<Storage> storages;
  std::vector<ScheduledCall> calls;
  std::vector<Block> blocks;  // those around others in front of them
  std::vector<Port> inputs, numbers, outputs;
  std::vector<int> number_storages;
  std::size_t captured = 0;  // the last inputs, without names: tensors with data that the graph needs
};

// The blocks inside of the first of a list, which follow it: those in front of its middle, and the rest.
struct InnerBlocks {
  std::span<const Block> before, after;
  std::size_t count() const { return before.size() + after.size(); }
};
InnerBlocks inside_first(std::span<const Block> blocks);

// Goes through the calls [first, end) in the order of a run, which knows
//   calls(first, end)       runs calls in a row
//   holds(block)            whether the condition of a branch or loop holds now
//   turn(block, index)      begins a turn
template <class Run>
void run_blocks(std::span<const Block> blocks, int first, int end, Run& run) {
  while (!blocks.empty()) {
    const Block& block = blocks[0];
    const InnerBlocks inside = inside_first(blocks);
    run.calls(first, block.first);
    if (block.kind == Block::Kind::branch) {
      if (run.holds(block))
        run_blocks(inside.before, block.first, block.middle, run);
      else
        run_blocks(inside.after, block.middle, block.end, run);
    } else if (block.kind == Block::Kind::loop) {
      for (;;) {
        run_blocks(inside.before, block.first, block.middle, run);
        if (!run.holds(block)) break;
        run_blocks(inside.after, block.middle, block.end, run);
      }
    } else {
      for (std::int64_t t = 0; t < block.turns; ++t) {
        run.turn(block, block.reverse ? block.turns - 1 - t : t);
        run_blocks(inside.after, block.first, block.end, run);
      }
    }
    first = block.end;
    blocks = blocks.subspan(1 + inside.count());
  }
  run.calls(first, end);
}

// Operands as views of placeholders, for code that needs layouts but no memory.
std::vector<View> placeholder_views(const Schedule& schedule, std::span<const StoredView> operands);

// For each storage the one whose memory it takes, or -1: an intermediate, because its kernel may compute it in place,
// or the input that was donated for it.
std::vector<int> results_in_place(const Schedule& schedule);

// Requires a graph after resolve_views. Calls whose results have no elements are omitted. `captured`: tensors with data
// that runs will be given, in that order; others must not be there.
Schedule make_schedule(const Graph& graph, std::span<const Tensor> captured = {});

// True if two operands would be the same elements in the same order if they were in the same storage.
bool same_view(const StoredView& a, const StoredView& b);
// True if the call may write `result` over the storage, which it reads: its op can, and reads it in the same layout
// only.
bool reads_in_place(const ScheduledCall& call, int storage, const StoredView& result);

// The intermediates of a schedule, with their locations. A result that its kernel may compute in place takes the item
// of the operand that is read there for the last time; otherwise no step reads and writes one buffer.
struct PlannedSchedule {
  std::vector<int> item_of;  // of each storage, -1 if it is not planned
  std::vector<PlanItem> items;
  std::vector<PlanStep> steps;  // of each call
  MemoryPlan plan;
};
PlannedSchedule plan_schedule(const Schedule& schedule, std::uint64_t max_buffer);

}  // namespace weft::compiler
