#include "gpu/shader_check.h"

#include "gpu/device_impl.h"

namespace weft::gpu {

std::optional<ShaderProblem> shader_problem(const Device& device, const std::string& wgsl) {
  Context& context = *device.impl().context;
  wgpu::ShaderSourceWGSL source;
  source.code = std::string_view(wgsl);
  wgpu::ShaderModuleDescriptor descriptor;
  descriptor.nextInChain = &source;
  ErrorScope scope(context);
  const wgpu::ShaderModule module = context.device.CreateShaderModule(&descriptor);
  std::optional<ShaderProblem> found;
  context.wait(module.GetCompilationInfo(
      wgpu::CallbackMode::WaitAnyOnly,
      [](wgpu::CompilationInfoRequestStatus, const wgpu::CompilationInfo* info, std::optional<ShaderProblem>* result) {
        for (std::size_t i = 0; info && i < info->messageCount; ++i) {
          const wgpu::CompilationMessage& m = info->messages[i];
          if (m.type != wgpu::CompilationMessageType::Error) continue;
          *result = ShaderProblem{m.lineNum, to_string(m.message)};
          return;
        }
      },
      &found));
  auto failure = scope.take();
  if (context.lost()) context.raise_lost();
  // Errors without a line, such as a missing entry point.
  if (!found && failure) found = ShaderProblem{0, failure->message};
  return found;
}

}  // namespace weft::gpu
