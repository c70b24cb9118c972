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
      wgpu::CallbackMode::AllowSpontaneous,
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
  const auto failure = scope.take("checking a shader");
  if (context.lost()) context.raise_lost();
  // Dawn answers at once. Where WebGPU answers later the pipeline is made meanwhile, and says what is wrong.
  if (!answer->is_done()) return std::nullopt;
  std::optional<ShaderProblem>& found = answer->found;
  // Errors without a line, such as a missing entry point.
  if (!found && failure) found = ShaderProblem{0, failure->message};
  return found;
}

}  // namespace weft::gpu
