// The commands of the command line, a file each. Each adds its subcommand to the app; its callback does the work and
// throws weft::Error.
#pragma once

#include <CLI/CLI.hpp>

namespace weft::app {

void add_check(CLI::App& app);
void add_embed(CLI::App& app);
void add_tokenize(CLI::App& app);
void add_devices(CLI::App& app);
void add_graph(CLI::App& app);
void add_info(CLI::App& app);
void add_kernels(CLI::App& app);
void add_ops(CLI::App& app);
void add_profile(CLI::App& app);
void add_run(CLI::App& app);

}  // namespace weft::app
