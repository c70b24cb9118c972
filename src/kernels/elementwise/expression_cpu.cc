#include "kernels/elementwise/expression_cpu.h"

#include <cstring>
#include <functional>

#include "core/format.h"
#include "kernels/elementwise/scalar_ops.h"
#include "kernels/elementwise/scalar_ops_cpu.h"
#include "weft/error.h"
#include "weft/small_float.h"

namespace weft::kernels {
namespace {

// Wraps 64-bit registers to a narrower integer type.
void wrap(std::int64_t* r, int n, int bits, bool has_sign) {
  const int unused = 64 - bits;
  if (has_sign) {
    for (int i = 0; i < n; ++i) r[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(r[i]) << unused) >> unused;
  } else {
    for (int i = 0; i < n; ++i) r[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(r[i]) << unused >> unused);
  }
}

void saturate(std::int64_t* r, int n, int bits, bool has_sign) {
  if (has_sign) {
    const std::int64_t high = (std::int64_t{1} << (bits - 1)) - 1;
    for (int i = 0; i < n; ++i) r[i] = std::min(std::max(r[i], -high - 1), high);
  } else {
    const std::uint64_t high = (std::uint64_t{1} << bits) - 1;
    for (int i = 0; i < n; ++i) r[i] = static_cast<std::int64_t>(std::min(static_cast<std::uint64_t>(r[i]), high));
  }
}

// True if an element's memory is that of its register.
bool has_register_format(DType type) {
  switch (type) {
    case DType::f32:
    case DType::f64:
    case DType::i64:
    case DType::u64:
    case DType::c64:
      return true;
    default:
      return false;
  }
}

// True if casts between the type's memory and f32 may be made where it is loaded or stored.
bool moves_as_f32(DType type) { return is_integer(type) && bits(type) >= 8 && bits(type) <= 32; }

}  // namespace

CpuExpression::CpuExpression(const Expression& e) {
  if (e.outputs().empty()) throw InvalidArgument("expression: no output is marked");
  const auto& nodes = e.nodes();
  const int count = static_cast<int>(nodes.size());
  // Casts that are made on the way from or to memory: of an input that nothing else reads, and to an output that goes
  // nowhere else.
  std::vector<int> uses(count, 0), loads(count, -1);
  for (const Expression::Node& node : nodes) {
    for (const int a : node.args) {
      if (a >= 0) ++uses[a];
    }
  }
  for (const int o : e.outputs()) ++uses[o];
  std::vector<int> stored = e.outputs();  // the nodes whose registers are stored
  for (int& o : stored) {
    const Expression::Node& node = nodes[o];
    if (node.op != ScalarOp::cast || uses[o] != 1 || !moves_as_f32(node.type)) continue;
    if (widens_to_f32(nodes[node.args[0]].type)) o = node.args[0];
  }
  for (int i = 0; i < count; ++i) {
    const Expression::Node& node = nodes[i];
    if (node.op != ScalarOp::cast || node.type != DType::f32) continue;
    const int a = node.args[0];
    if (nodes[a].op == ScalarOp::input && uses[a] == 1 && moves_as_f32(nodes[a].type)) loads[a] = i;
  }
  // The last use of each node; outputs live to the end, and unused nodes are not computed.
  std::vector<int> last(count, -1);
  for (int o : stored) last[o] = count;
  for (int i = count - 1; i >= 0; --i) {
    if (last[i] < 0) continue;
    for (int a : nodes[i].args) {
      if (a >= 0) last[a] = std::max(last[a], i);
    }
  }
  std::vector<char> goes_on(count, 0);  // to another operation
  for (const Expression::Node& node : nodes) {
    for (const int a : node.args) {
      if (a >= 0) goes_on[a] = 1;
    }
  }
  std::vector<int> free;
  std::vector<int> block(count, -1);
  auto take = [&] {
    if (free.empty()) return blocks_++;
    const int b = free.back();
    free.pop_back();
    return b;
  };
  inputs_.resize(e.input_count());
  register_bytes_.resize(count);
  // Inputs and constants are loaded before the first step, so their blocks are not shared.
  for (int i = 0; i < count; ++i) {
    register_bytes_[i] = byte_size(cpu_register(nodes[i].type));
    if (nodes[i].op == ScalarOp::input) {
      const bool as_f32 = loads[i] >= 0;
      inputs_[nodes[i].input] = {as_f32 ? loads[i] : i, nodes[i].type, blocks_++, block_memory(nodes[i].type, as_f32)};
    }
    if (nodes[i].op == ScalarOp::constant && last[i] >= 0) {
      constants_.push_back({i, blocks_++, nodes[i].type, nodes[i].bits});
    }
  }
  for (int i = 0; i < count; ++i) {
    const Expression::Node& node = nodes[i];
    if (last[i] < 0 || node.op == ScalarOp::input || node.op == ScalarOp::constant) continue;
    if (node.op == ScalarOp::cast && loads[node.args[0]] == i) continue;
    Step step{.out = i, .args = {node.args[0], node.args[1], node.args[2]}};
    const DType type = nodes[node.args[arity(node.op) - 1]].type;  // of the operands
    const CpuRegister from = cpu_register(type);
    const bool narrow = is_integer(node.type) && bits(node.type) < 64;
    step.bits = bits(node.type);
    step.has_sign = info(node.type).kind == DTypeKind::signed_integer;
    if (node.op == ScalarOp::cast) {
      const CpuRegister to = cpu_register(node.type);
      const bool rounds = is_floating(node.type) && bits(node.type) < 32;
      step.function = node.type == DType::boolean                ? cpu_to_boolean(from)
                      : rounds && !casts_by_f32(type, node.type) ? cpu_round_to_odd(type)
                                                                 : cpu_conversion(from, to);
      if (narrow) step.after = is_floating(type) || type == DType::c64 ? After::saturate : After::wrap;
      if (rounds) {
        step.after = After::round;
        step.round = node.type;
      }
    } else {
      step.function = cpu_function(node.op, type);
      // Stores keep the low bits, so that only values that are computed with need wrapping.
      if (narrow && goes_on[i]) step.after = After::wrap;
    }
    if (!step.function) throw InternalError("expression: no CPU form of {} on {}", name(node.op), name(type));
    step.block = take();
    block[i] = step.block;
    steps_.push_back(step);
    for (int k = 0; k < arity(node.op); ++k) {
      const int a = node.args[k];
      const bool first = std::find(node.args.begin(), node.args.begin() + k, a) == node.args.begin() + k;
      if (first && last[a] == i && block[a] >= 0) free.push_back(block[a]);
    }
  }
  for (std::size_t k = 0; k < stored.size(); ++k) {
    const int o = stored[k];
    const DType type = nodes[e.outputs()[k]].type;
    outputs_.push_back({o, type, -1, block_memory(type, o != e.outputs()[k])});
    passes_input_ |= nodes[o].op == ScalarOp::input;
    if (!steps_.empty() && steps_.back().out == o && has_result(static_cast<int>(k)))
      last_output_ = static_cast<int>(k);
  }
}

CpuExpression::Registers::Registers(const CpuExpression& e)
    : blocks_(std::make_unique_for_overwrite<Block[]>(static_cast<std::size_t>(e.blocks_))),
      values_(e.register_bytes_.size()) {
  for (const Constant& c : e.constants_) {
    std::byte* block = blocks_[c.block].bytes;
    block_memory(c.type).load(reinterpret_cast<const std::byte*>(&c.bits), 0, 0, kBlock, block);
    values_[c.node] = block;
  }
  for (const Step& s : e.steps_) values_[s.out] = blocks_[s.block].bytes;
}

void CpuExpression::load(Registers& registers, int k, int at, const std::byte* data, std::int64_t first,
                         std::int64_t stride, int n) const {
  const Port& port = inputs_[k];
  std::byte* block = registers.blocks_[port.block].bytes;
  if (data) {
    port.memory.load(data, first, stride, n, block + at * register_bytes_[port.node]);
  } else {
    std::uint32_t numbers[kBlock];
    for (int i = 0; i < n; ++i) numbers[i] = static_cast<std::uint32_t>(first + i * stride);
    port.memory.load(reinterpret_cast<const std::byte*>(numbers), 0, 1, n, block + at * register_bytes_[port.node]);
  }
  registers.values_[port.node] = block;
}

void CpuExpression::run(Registers& registers, int n, std::byte* last) const {
  for (const Step& s : steps_) {
    const void* args[3] = {};
    for (int k = 0; k < 3 && s.args[k] >= 0; ++k) args[k] = registers.values_[s.args[k]];
    std::byte* out = registers.blocks_[s.block].bytes;
    if (&s == &steps_.back()) {
      if (last) out = last;
      registers.values_[s.out] = out;
    }
    s.function(args[0], args[1], args[2], out, n);
    switch (s.after) {
      case After::nothing:
        break;
      case After::wrap:
        wrap(reinterpret_cast<std::int64_t*>(out), n, s.bits, s.has_sign);
        break;
      case After::saturate:
        saturate(reinterpret_cast<std::int64_t*>(out), n, s.bits, s.has_sign);
        break;
      case After::round:
        round_block(s.round, reinterpret_cast<float*>(out), n);
        break;
    }
  }
}

void CpuExpression::store(const Registers& registers, int k, int at, std::byte* data, std::int64_t first,
                          std::int64_t stride, int n) const {
  const Port& port = outputs_[k];
  const auto* block = static_cast<const std::byte*>(registers.values_[port.node]);
  port.memory.store(data, first, stride, n, block + at * register_bytes_[port.node]);
}

const std::byte* CpuExpression::result(const Registers& registers, int k) const {
  return has_result(k) ? static_cast<const std::byte*>(registers.values_[outputs_[k].node]) : nullptr;
}

bool CpuExpression::has_result(int k) const {
  // (Of booleans registers hold 0 and 1, as memory may.)
  return has_register_format(outputs_[k].type) || outputs_[k].type == DType::boolean;
}

void CpuExpression::load(Registers& registers, int k, const Row& row, std::int64_t begin, int n) const {
  const Port& port = inputs_[k];
  if (row.offsets && !row.data) {
    std::uint32_t numbers[kBlock];
    for (int i = 0; i < n; ++i) numbers[i] = static_cast<std::uint32_t>(row.first + row.offsets[begin + i]);
    load(registers, k, 0, reinterpret_cast<const std::byte*>(numbers), 0, 1, n);
  } else if (row.offsets) {
    std::byte* block = registers.blocks_[port.block].bytes;
    port.memory.gather(row.data, row.first, row.offsets + begin, n, block);
    registers.values_[port.node] = block;
  } else if (row.data && row.stride == 1 && has_register_format(port.type) && !passes_input_) {
    // Outputs are stored after the last step.
    registers.values_[port.node] = row.data + (row.first + begin) * register_bytes_[port.node];
  } else {
    load(registers, k, 0, row.data, row.first + begin * row.stride, row.stride, n);
  }
}

void CpuExpression::store(const Registers& registers, int k, const Row& row, std::int64_t begin, int n) const {
  if (row.offsets) {
    const Port& port = outputs_[k];
    port.memory.scatter(row.data, row.first, row.offsets + begin, n, registers.values_[port.node]);
  } else {
    store(registers, k, 0, row.data, row.first + begin * row.stride, row.stride, n);
  }
}

std::byte* CpuExpression::in_place(const Registers& registers, std::span<const Row> inputs, const Row& output,
                                   std::int64_t begin, int n) const {
  if (!output.data || output.offsets || output.stride != 1) return nullptr;
  const std::int64_t size = register_bytes_[outputs_[static_cast<std::size_t>(last_output_)].node];
  std::byte* const first = output.data + (output.first + begin) * size;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    // Elements of an input that run() reads where they are; those of other inputs are in registers.
    const Port& port = inputs_[k];
    const auto* const from = static_cast<const std::byte*>(registers.values_[port.node]);
    if (from == registers.blocks_[port.block].bytes) continue;
    const std::less_equal<const std::byte*> not_behind;
    const bool apart = not_behind(from + n * register_bytes_[port.node], first) || not_behind(first + n * size, from);
    if (!apart) return nullptr;
  }
  return first;
}

void CpuExpression::evaluate(Registers& registers, std::span<const Row> inputs, std::span<const Row> outputs,
                             std::int64_t n) const {
  for (std::int64_t begin = 0; begin < n; begin += kBlock) {
    const int count = static_cast<int>(std::min<std::int64_t>(kBlock, n - begin));
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      // One repeated element is still there from the first block.
      if (begin > 0 && inputs[k].stride == 0 && !inputs[k].offsets) continue;
      load(registers, static_cast<int>(k), inputs[k], begin, count);
    }
    std::byte* const last =
        last_output_ >= 0 ? in_place(registers, inputs, outputs[static_cast<std::size_t>(last_output_)], begin, count)
                          : nullptr;
    run(registers, count, last);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (last && static_cast<int>(k) == last_output_) continue;
      if (outputs[k].data) store(registers, static_cast<int>(k), outputs[k], begin, count);
    }
  }
}

}  // namespace weft::kernels
