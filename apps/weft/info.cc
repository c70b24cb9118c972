// weft info: what is in a model of ONNX.

#include <format>
#include <memory>

#include "command_line.h"
#include "commands.h"
#include "core/format.h"
#include "model_inputs.h"
#include "output.h"
#include "weft/onnx.h"

namespace weft::app {
namespace {

constexpr const char* kFooter =
    R"(Weights are not read, nor need be there: a model whose weights are in other files is told without them.
The exit code is 1 where the model does not run here; what is told then says why.

Examples
  weft info resnet50.onnx
)";

std::string size_text(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"KB", "MB", "GB", "TB"};
  if (bytes < 1000) return std::format("{} bytes", bytes);
  double size = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  for (; size >= 1000 && unit + 1 < std::size(kUnits); ++unit) size /= 1000;
  return std::format("{:.3g} {} ({} bytes)", size, kUnits[unit], bytes);
}

void info(const std::string& path) {
  const onnx::Description d = onnx::describe(path);
  Output out("-");
  out.write(std::format("{}{}\n", d.name.empty() ? path : d.name, d.producer.empty() ? "" : ", made by " + d.producer));
  std::string opsets;
  for (const auto& [domain, version] : d.opsets)
    opsets += std::format("{}{} {}", opsets.empty() ? "" : ", ", domain.empty() ? "ai.onnx" : domain, version);
  out.write(
      std::format("IR {}, opsets {}\n{} parameters, {} of weights{}\n\nInputs\n", d.ir_version, opsets, d.parameters,
                  size_text(d.weight_bytes),
                  d.external_bytes ? std::format(", {} of them in other files", size_text(d.external_bytes)) : ""));
  for (const onnx::Port& port : d.inputs) out.write("  " + to_text(port) + "\n");
  out.write("Outputs\n");
  for (const onnx::Port& port : d.outputs) out.write("  " + to_text(port) + "\n");
  out.write("Operators\n");
  std::size_t missing = 0;
  for (const onnx::OperatorUse& use : d.operators) {
    std::string note = use.reason.empty() ? "" : std::format("   ({})", use.reason);
    if (!use.supported) note = std::format("   not supported: {}", use.reason);
    out.write(std::format("  {:5} {}{}{}{}\n", use.count, use.domain, use.domain.empty() ? "" : ".", use.name, note));
    if (!use.supported) missing += use.count;
  }
  for (const std::string& remark : d.remarks) out.write(std::format("Note: {}.\n", remark));
  for (const std::string& problem : d.problems) out.write(std::format("It does not run here: {}.\n", problem));
  if (missing) out.write(std::format("It does not run here: {} nodes have operators that Weft lacks.\n", missing));
  const bool runs = missing == 0 && d.problems.empty();
  if (runs) out.write("All operators are supported.\n");
  out.commit();
  if (!runs) throw Reported();
}

}  // namespace

void add_info(CLI::App& app) {
  auto path = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("info", "What is in a model, and whether it runs here: FILE.onnx");
  command->add_option("MODEL", *path, "A model in ONNX's format")->required()->check(check_path);
  command->footer(kFooter);
  command->callback([path] { info(*path); });
}

}  // namespace weft::app
