// weft kernels: the table of the kernel library.

#include <cstdio>
#include <format>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "kernel_types.h"
#include "weft/error.h"
#include "weft/kernels/table.h"

namespace weft::app {
namespace {

struct Options {
  std::string filter;
  bool json = false;
};

void run(const Options& o) {
  auto all = nlohmann::ordered_json::array();
  std::string family;
  int shown = 0;
  for (const kernels::KernelInfo& k : kernels::table()) {
    const bool named = (k.name + ' ' + k.other_names).find(o.filter) != std::string::npos;
    if (!named && k.family != o.filter) continue;
    ++shown;
    const std::string types = kernel_types(k);
    if (o.json) {
      all.push_back({{"name", k.name}, {"other_names", k.other_names}, {"family", k.family}, {"inputs", k.inputs},
                     {"outputs", k.outputs}, {"types", types}, {"attributes", k.attributes},
                     {"summary", k.summary}});
      continue;
    }
    if (k.family != family) std::printf("%s%s\n", family.empty() ? "" : "\n", k.family.c_str());
    family = k.family;
    std::printf("  %-20s %-22s -> %-6s %s\n", k.name.c_str(), k.inputs.c_str(), k.outputs.c_str(), k.summary.c_str());
    if (!k.attributes.empty()) std::printf("  %-20s %s\n", "", k.attributes.c_str());
    std::printf("  %-20s %s\n", "", types.c_str());
    if (!k.other_names.empty()) std::printf("  %-20s also %s\n", "", k.other_names.c_str());
  }
  if (shown == 0) {
    throw InvalidArgument("no kernel's name holds '{}' and no family is called so; 'weft kernels' lists all", o.filter);
  }
  if (o.json) std::printf("%s\n", all.dump(2).c_str());
}

}  // namespace

void add_kernels(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("kernels", "List the kernel library: names, operands, types, attributes");
  command->add_option("FILTER", options->filter, "Only kernels whose name holds this, or of this family");
  command->add_flag("--json", options->json, "Write JSON instead of text");
  command->footer("weft/kernels.h has them as functions, weft/kernels/table.h by name.\n"
                  "Optional operands end in a question mark; attributes with a default need not be given.\n"
                  "Types are what a kernel takes on the CPU; GPUs only move f64. Numbers are floats and integers.\n\n"
                  "Examples\n  weft kernels reduce\n  weft kernels --json | jq '.[].name'");
  command->callback([options] { run(*options); });
}

}  // namespace weft::app
