#include "gpu/shader_check.h"

#include "gpu/device_impl.h"

namespace weft::gpu {

std::optional<ShaderProblem> shader_problem(const Device& device, const std::string& wgsl) {
  Context& context = *device.impl().context;
  const std::lock_guard held(context.lock);
  wgpu::ShaderSourceWGSL source;
  source.code = std::string_view(wgsl);
  wgpu::ShaderModuleDescriptor descriptor;
  descriptor.nextInChain = &source;
  ErrorScope scope(context);
  const wgpu::ShaderModule module = context.device.CreateShaderModule(&descriptor);
  struct Answer : Event {
    std::optional<ShaderProblem> found;
  };
  const auto answer = std::make_shared<Answer>();
  answer->future = module.GetCompilationInfo(
      context.callbacks(),
      [](wgpu::CompilationInfoRequestStatus, const wgpu::CompilationInfo* info, std::shared_ptr<Answer>* callback) {
        const auto answer = from_callback(callback);
        for (std::size_t i = 0; info && i < info->messageCount && !answer->found; ++i) {
          const wgpu::CompilationMessage& m = info->messages[i];
          if (m.type != wgpu::CompilationMessageType::Error) continue;
          answer->found = ShaderProblem{m.lineNum, to_string(m.message)};
        }
        answer->finish();
      },
      held_by_callback(answer));
  auto failure = scope.take();
  context.wait(*answer);
  std::optional<ShaderProblem>& found = answer->found;
  if (context.lost()) context.raise_lost();
  // Errors without a line, such as a missing entry point.
  if (!found && failure) found = ShaderProblem{0, failure->message};
  return found;
}

}  // namespace weft::gpu
