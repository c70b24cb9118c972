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

constexpr const char* kFooter = R"(Examples
  weft info resnet50.onnx
)";

void info(const std::string& path) {
  const onnx::Description d = onnx::describe(path);
  Output out("-");
  out.write(std::format("{}{}\n", d.name.empty() ? path : d.name, d.producer.empty() ? "" : ", made by " + d.producer));
  std::string opsets;
  for (const auto& [domain, version] : d.opsets) opsets += std::format("{}{} {}", opsets.empty() ? "" : ", ", domain.empty() ? "ai.onnx" : domain, version);
  out.write(std::format("IR {}, opsets {}\n{} parameters, {} bytes of weights\n\nInputs\n", d.ir_version, opsets, d.parameters, d.weight_bytes));
  for (const onnx::Port& port : d.inputs) out.write("  " + to_text(port) + "\n");
  out.write("Outputs\n");
  for (const onnx::Port& port : d.outputs) out.write("  " + to_text(port) + "\n");
  out.write("Operators\n");
  std::size_t missing = 0;
  for (const onnx::OperatorUse& use : d.operators) {
    out.write(std::format("  {:5} {}{}{}{}\n", use.count, use.domain, use.domain.empty() ? "" : ".", use.name,
                          use.supported ? "" : "   not supported"));
    if (!use.supported) missing += use.count;
  }
  out.write(missing ? std::format("It does not run here: {} nodes have operators that Weft lacks.\n", missing) : "All operators are supported.\n");
  out.commit();
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
