#include "kernels/custom/custom.h"

#include <algorithm>

#include "core/format.h"
#include "gpu/shader_check.h"
#include "gpu/shaders_only.h"
#include "kernels/call.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

constexpr std::uint32_t kWorkgroup = 64;

TensorType type_of(const View& v) { return {v.dtype, v.shape()}; }

}  // namespace

void custom(gpu::Commands& commands, const CustomKernel& kernel, std::span<const View> inputs,
            std::span<const View> outputs) {
  Call call(commands, "custom");
  if (inputs.size() + outputs.size() > call.capabilities().max_storage_buffers) {
    throw Unsupported("custom kernel '{}' has {} operands; this device binds {}", kernel.name,
                      inputs.size() + outputs.size(), call.capabilities().max_storage_buffers);
  }
  for (const std::string& extension : kernel.enables) {
    const bool there = extension == "f16" ? call.capabilities().f16 : call.capabilities().subgroups;
    if (!there) throw Unsupported("custom kernel '{}' enables {}, which this device lacks", kernel.name, extension);
    call.enable(extension);
  }
  std::vector<TensorType> in, out;
  const auto sizes = [&](const std::string& name, const View& v) {
    call.index_param(name + "_count", v.count());
    for (int d = 0; d < v.rank(); ++d) call.index_param(std::format("{}_n{}", name, d), v.shape()[d]);
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    in.push_back(type_of(inputs[i]));
    call.read(kernel.inputs[i], inputs[i]);
    sizes(kernel.inputs[i], inputs[i]);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    out.push_back(type_of(outputs[i]));
    call.write(kernel.outputs[i], outputs[i]);
    sizes(kernel.outputs[i], outputs[i]);
  }
  for (const auto& [name, number] : kernel.numbers) {
    std::visit([&](auto value) { call.param(name, value); }, number);
  }
  const std::uint32_t workgroup = workgroup_size(call.capabilities(), kWorkgroup);
  call.set("text", kernel.wgsl).set("each", !kernel.workgroups).set("workgroup", workgroup);
  if (kernel.workgroups) {
    const auto [x, y, z] = kernel.workgroups(in, out);
    return call.dispatch(kernel.name, x, y, z);
  }
  const std::int64_t threads = kernel.threads ? kernel.threads(in, out) : outputs[0].count();
  call.index_param("threads", threads);
  call.dispatch_groups(kernel.name, ceil_div(threads, workgroup));
}

void check_custom(gpu::Commands& commands, const CustomKernel& kernel, std::span<const View> inputs,
                  std::span<const View> outputs) {
  gpu::ShadersOnly shaders(commands.device());
  custom(shaders, kernel, inputs, outputs);
  const std::string& wgsl = shaders.last();
  if (wgsl.empty()) return;
  const auto problem = gpu::shader_problem(commands.device(), wgsl);
  if (!problem) return;
  // The range of lines that the user's text has in the shader.
  const std::size_t at = wgsl.find(kernel.wgsl);
  const auto head = std::count(wgsl.begin(), wgsl.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  const auto own = std::count(kernel.wgsl.begin(), kernel.wgsl.end(), '\n') + 1;
  const auto line = static_cast<std::int64_t>(problem->line) - head;
  throw KernelError(kernel.name, line >= 1 && line <= own ? static_cast<int>(line) : 0, problem->message);
}

}  // namespace weft::kernels
