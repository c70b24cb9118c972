#include "ops/custom.h"

#include <set>

#include "core/format.h"
#include "core/in_quotes.h"
#include "core/utf8.h"
#include "graph/graph.h"
#include "kernels/custom/custom.h"

namespace weft {
namespace {

bool is_identifier(const std::string& s) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !s.empty() && letter(s[0]) &&
         std::ranges::all_of(s, [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

// Whether the text's head has a p.<name> of its own.
bool is_taken(const CustomKernel& kernel, std::string_view name) {
  if (name == "threads" || name == "first_group") return true;
  const auto belongs_to = [&](const std::string& operand) {
    if (!name.starts_with(operand + "_")) return false;
    const std::string_view rest = name.substr(operand.size() + 1);
    return rest == "count" || rest == "o" ||
           (rest.size() > 1 && rest[0] == 'n' && rest.find_first_not_of("0123456789", 1) == std::string_view::npos);
  };
  return std::ranges::any_of(kernel.inputs, belongs_to) || std::ranges::any_of(kernel.outputs, belongs_to);
}

void check_kernel(const CustomKernel& kernel, std::size_t operands) {
  const auto fail = [&](const std::string& why) {
    throw InvalidArgument("custom kernel {}: {}", in_quotes(kernel.name), why);
  };
  if (!kernel.infer) fail("infer is missing, which says the results' types");
  if (kernel.outputs.empty()) fail("it has no outputs");
  if (kernel.inputs.size() != operands) fail(std::format("{} operands, expected {}", operands, kernel.inputs.size()));
  if (operands == 0) fail("it has no inputs");
  for (const std::string& e : kernel.enables) {
    if (e != "f16" && e != "subgroups") fail(std::format("enables {}, expected f16 or subgroups", in_quotes(e)));
  }
  if (const std::size_t bad = find_invalid_utf8(kernel.wgsl); bad < kernel.wgsl.size()) {
    const auto line = std::count(kernel.wgsl.begin(), kernel.wgsl.begin() + static_cast<std::ptrdiff_t>(bad), '\n') + 1;
    fail(std::format("line {} of its text is not UTF-8", line));
  }
  std::set<std::string> names;
  const auto check_name = [&](const std::string& n) {
    if (!is_identifier(n)) fail(std::format("{} is no name for an operand or number", in_quotes(n)));
    if (!names.insert(n).second) fail(std::format("{} stands for two things", in_quotes(n)));
  };
  for (const auto& n : kernel.inputs) check_name(n);
  for (const auto& n : kernel.outputs) check_name(n);
  for (const auto& n : kernel.numbers) check_name(n.first);
  for (const auto& n : kernel.numbers) {
    if (is_taken(kernel, n.first)) fail(std::format("p.{} is there already; the number needs another name", n.first));
  }
}

}  // namespace

void CustomOp::visit(AttributeVisitor& v) const {
  std::string name = kernel_->name;
  v("kernel", name, "the kernel's name");
}

std::string CustomOp::hidden_identity() const {
  return std::format("object={}", static_cast<const void*>(kernel_.get()));
}

std::vector<TensorType> CustomOp::infer(std::span<const TensorType> in) const {
  std::vector<TensorType> results = kernel_->infer(in);
  if (results.size() != kernel_->outputs.size()) {
    throw InvalidArgument("custom kernel {}: infer gives {} types for {} outputs", in_quotes(kernel_->name),
                          results.size(), kernel_->outputs.size());
  }
  if (kernel_->threads && !kernel_->workgroups) {
    if (const std::int64_t threads = kernel_->threads(in, results); threads < 0) {
      throw InvalidArgument("custom kernel {}: `threads` gives {}, expected 0 or more", in_quotes(kernel_->name),
                            threads);
    }
  }
  return results;
}

void CustomOp::lower(const Launch& call) const {
  if (gpu::Commands* commands = call.stream.gpu()) {
    return kernels::custom(*commands, *kernel_, call.inputs, call.outputs);
  }
  kernel_->cpu(call.inputs, call.outputs);
}

// Also the time to refuse a text that does not compile.
std::optional<std::string> CustomOp::unsupported(const Launch& call) const {
  if (gpu::Commands* commands = call.stream.gpu()) {
    kernels::check_custom(*commands, *kernel_, call.inputs, call.outputs);
  } else if (!kernel_->cpu) {
    return std::format("custom kernel {} has no CPU function; give it one, or compile for a GPU",
                       in_quotes(kernel_->name));
  }
  return std::nullopt;
}

std::vector<Tensor> custom(std::shared_ptr<const CustomKernel> kernel, std::span<const Tensor> inputs) {
  if (!kernel) throw InvalidArgument("custom: no kernel");
  check_kernel(*kernel, inputs.size());
  for (const Tensor& v : inputs) {
    if (!v.defined())
      throw InvalidArgument("custom kernel {}: an operand is an undefined Tensor", in_quotes(kernel->name));
  }
  const std::size_t count = kernel->outputs.size();
  const Tensor first = apply(make_op<CustomOp>(std::move(kernel)), inputs);
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < count; ++i) results.push_back(result(first, static_cast<int>(i)));
  return results;
}

}  // namespace weft
