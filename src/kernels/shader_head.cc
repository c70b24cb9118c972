#include "kernels/shader_head.h"

#include <algorithm>
#include <format>

#include "core/format.h"
#include "core/str_cat.h"
#include "kernels/accessors.h"
#include "weft/error.h"

namespace weft::kernels {

int ShaderHead::unit(std::string_view operand) const {
  const auto op = std::ranges::find(operands, operand, &BoundOperand::name);
  return op != operands.end() && op->width > 1 ? aligned_elements : 1;
}

std::string ShaderHead::offset_param(const BoundOperand& operand) const {
  const int n = unit(operand.name);
  return n == 1 ? str_cat(operand.name, "_o") : str_cat(operand.name, "_o", n);
}

std::vector<std::int64_t> ShaderHead::assign_bindings(std::string_view kernel, std::span<const View> views,
                                                      const gpu::Capabilities& capabilities, std::string& key) {
  auto is_written = [&](const Buffer& buffer) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].stores && views[i].buffer == buffer) return true;
    }
    return false;
  };
  // With a binding for each operand that is only read, and one for each buffer that is written. If these are more than
  // the device takes, operands of one buffer share a binding even if they are only read.
  std::uint32_t wanted = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const auto same = [&](std::size_t k) { return !operands[k].number && views[k].buffer == views[i].buffer; };
    bool first = true;
    for (std::size_t k = 0; k < i; ++k) first &= !same(k);
    if (!operands[i].number && (first || !is_written(views[i].buffer))) ++wanted;
  }
  const bool crowded = wanted > capabilities.max_storage_buffers;
  const auto begin_of = [&](std::uint64_t first) {
    return first / capabilities.storage_alignment * capabilities.storage_alignment;
  };
  const auto size_of = [&](const Buffer& buffer, std::uint64_t first, std::uint64_t last) {
    const std::uint64_t end = std::min((last + 15) / 16 * 16, buffer.capacity() / 4 * 4);
    return std::max<std::uint64_t>(end, begin_of(first) + 4) - begin_of(first);
  };
  for (std::size_t i = 0; i < operands.size(); ++i) {
    BoundOperand& op = operands[i];
    const View& view = views[i];
    if (op.number) continue;
    const auto [low, high] = view.layout.offset_range();
    const std::int64_t b = bits(view.dtype);
    const std::uint64_t first = view.offset + static_cast<std::uint64_t>((low * b) >> 3);  // packed types: rounded down
    const std::uint64_t last =
        view.count() ? view.offset + static_cast<std::uint64_t>(((high + 1) * b + 7) / 8) : first + 1;
    const bool writes = is_written(view.buffer);
    auto shared = bindings.end(), other = bindings.end();
    std::uint64_t least = capabilities.max_binding;
    for (auto binding = bindings.begin(); (writes || crowded) && binding != bindings.end(); ++binding) {
      if (binding->range.buffer != view.buffer) continue;
      other = binding;
      const std::uint64_t size = size_of(view.buffer, std::min(binding->first, first), std::max(binding->last, last));
      const std::uint64_t more = size - size_of(view.buffer, binding->first, binding->last);
      if (size <= capabilities.max_binding && more <= least) least = more, shared = binding;
    }
    op.binding = static_cast<int>(shared - bindings.begin());
    if (shared == bindings.end()) {
      if (other != bindings.end()) str_append(key, '|', op.name, '/', other - bindings.begin());
      bindings.push_back(
          {{view.buffer, 0, 0, writes ? gpu::Access::read_write : gpu::Access::read}, op.element, first, last});
      continue;
    }
    // Operands that share a binding with different element types all access it as words.
    if (shared->element != op.element) {
      const bool raw = !op.width || !std::ranges::find(operands, op.binding, &BoundOperand::binding)->width;
      if (raw) {
        throw InvalidArgument(
            "{}: operand {} ({}) shares its buffer with an operand that is accessed as {}; give it its own", kernel,
            op.name, to_string(view), shared->element);
      }
      const bool atomic = shared->element == "atomic<u32>" || op.element == "atomic<u32>";
      shared->element = atomic ? "atomic<u32>" : "u32";
    }
    shared->first = std::min(shared->first, first);
    shared->last = std::max(shared->last, last);
    str_append(key, '|', op.name, '=', op.binding);
  }
  for (Binding& binding : bindings) {
    binding.range.offset = begin_of(binding.first);
    binding.range.size = size_of(binding.range.buffer, binding.first, binding.last);
  }
  check_bindings(kernel, views, capabilities);
  std::vector<std::int64_t> offsets;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const BoundOperand& op = operands[i];
    if (op.number) {
      offsets.push_back(0);
      continue;
    }
    const std::uint64_t bytes = views[i].offset - bindings[op.binding].range.offset;
    const std::uint64_t unit_bits = op.width ? bits(op.dtype) : static_cast<std::uint64_t>(op.element_bytes) * 8;
    if (bytes * 8 % unit_bits != 0) {
      throw InvalidArgument("{}: operand {} starts {} bytes into its buffer, not a multiple of {} bits", kernel,
                            op.name, views[i].offset, unit_bits);
    }
    const auto offset = static_cast<std::int64_t>(bytes * 8 / unit_bits);
    offsets.push_back(offset / unit(op.name));
  }
  return offsets;
}

void ShaderHead::check_bindings(std::string_view kernel, std::span<const View> views,
                                const gpu::Capabilities& capabilities) const {
  const auto operands_of = [&](const Binding& binding) {
    std::string list;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].binding != &binding - bindings.data()) continue;
      list += std::format("{}{} {}", list.empty() ? "" : ", ", operands[i].name, to_string(views[i]));
    }
    return list;
  };
  for (const Binding& binding : bindings) {
    const bool overlaps = std::ranges::any_of(bindings, [&](const Binding& s) {
      return &s < &binding && s.range.access == gpu::Access::read_write && s.range.buffer == binding.range.buffer &&
             s.range.offset < binding.range.offset + binding.range.size &&
             binding.range.offset < s.range.offset + s.range.size;
    });
    if (overlaps || binding.range.size > capabilities.max_binding) {
      throw Unsupported("{}: {} past this device's limit of {} bytes a binding", kernel,
                        overlaps ? std::format("operands that lie within {} bytes of each other, in one buffer, are "
                                               "together",
                                               capabilities.storage_alignment)
                                 : std::format("{} bytes of {} are", binding.range.size, operands_of(binding)),
                        capabilities.max_binding);
    }
  }
  if (bindings.size() > capabilities.max_storage_buffers) {
    throw Unsupported("{}: {} storage buffers, this device takes {}", kernel, bindings.size(),
                      capabilities.max_storage_buffers);
  }
}

std::string ShaderHead::wgsl() const {
  const auto times = [](int n) { return n == 1 ? std::string() : std::format("{}u * ", n); };
  std::string s;
  for (const auto& e : enables) s += std::format("enable {};\n", e);
  s += "struct Params {\n";
  for (const Param& p : params) {
    s += std::format("  {}: {},\n", p.name, p.type == 'u' ? "u32" : p.type == 'i' ? "i32" : "f32");
  }
  s += "}\n@group(0) @binding(0) var<uniform> p: Params;\n";
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    const bool writes = bindings[i].range.access == gpu::Access::read_write;
    // The first operand of a binding names its variable.
    const auto owner = std::ranges::find(operands, static_cast<int>(i), &BoundOperand::binding);
    s += std::format("@group(0) @binding({}) var<storage, {}> {}_buf: array<{}>;\n", i + 1,
                     writes ? "read_write" : "read", owner->name, bindings[i].element);
  }
  for (const BoundOperand& op : operands) {
    if (op.number) s += number_accessors(op.name, op.dtype);
    if (!op.width || op.number) continue;
    const auto owner = std::ranges::find(operands, op.binding, &BoundOperand::binding);
    s += accessors(op.name, owner->name + "_buf", bindings[op.binding].element, op.dtype, op.width,
                   {.loads = op.loads, .stores = op.stores, .updates = op.updates}, op.pair_stride,
                   times(unit(op.name)) + "p." + offset_param(op));
  }
  if (iterate_rank >= 0) {
    const int rank = std::max(iterate_rank, 1);
    s += std::format("alias Coords = array<u32, {}>;\nfn coords(i: u32) -> Coords {{\n  var c: Coords;\n", rank);
    if (iterate_rank > 1) s += "  var r = i;\n";
    for (int d = iterate_rank - 1; d > 0; --d) s += std::format("  c[{0}] = r % p.n{0}; r = r / p.n{0};\n", d);
    s += std::format("  c[0] = {};\n  return c;\n}}\n", iterate_rank > 1 ? "r" : "i");
  }
  for (const auto& [operand, rank] : strided) {
    std::string sum;
    for (int d = 0; d < rank; ++d) sum += std::format("{}c[{}] * p.{}_s{}", d ? " + " : "", d, operand, d);
    s += std::format("fn at_{}(c: Coords) -> u32 {{ return {}({}); }}\n", operand, times(unit(operand)),
                     rank ? sum : "0u");
  }
  s += "fn group_index(wg: vec3<u32>, n: vec3<u32>) -> u32 { return p.first_group + wg.x + n.x * (wg.y + n.y * wg.z); "
       "}\n";
  return s;
}

}  // namespace weft::kernels
