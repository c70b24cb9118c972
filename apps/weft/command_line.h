// What is common to all commands' lines: the settings, help, and what is said of a line that is wrong.
#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "weft/device.h"
#include "weft/flags.h"

namespace weft::app {

// Adds every setting of the library, from its own table, to the app, and help that lists them on --help-all only.
// Before the commands are added.
void add_settings(CLI::App& app);

// Adds a setting to a command under its own name, so that the command's help shows it. `help`: instead of the table's.
void add_setting(CLI::App& command, Flag flag, std::string help = {});
// --device and --precision, which most commands have.
void add_device(CLI::App& command);
void add_precision(CLI::App& command);

// --fallback: where a model's nodes run that its device cannot compute. And the device that it names; none if it is
// empty.
void add_fallback(CLI::App& command, std::string& name);
std::optional<Device> fallback_device(const std::string& name);

// For CLI::Option::check() of every option that names files or directories: what is wrong with the value. An empty one
// is that of a variable of a script that is not set.
std::string check_path(const std::string& path);

// For CLI::Option::check(): a whole number in [least, most].
CLI::Validator whole_number(std::int64_t least, std::int64_t most);

// Whether a command's MODEL is a file of a graph (weft/graph_file.h), not a directory; of what is not there its name
// tells. Such a file has its shapes: then throws CLI::ValidationError if one of these options is given.
bool is_graph_file(const CLI::App& command, const std::string& model, std::initializer_list<const char*> of_models);

// Throws InvalidArgument if nothing is read back from the device (--dispatch-only): `what` would be zeros.
void refuse_dispatch_only(std::string_view what);

// The words after the program's name, the last one first, as CLI11 takes them. `weft profile [OPTIONS] -- PROGRAM` is
// `weft profile run [OPTIONS] -- PROGRAM`, --help-all is --help with the settings, and --output= has an empty value.
std::vector<std::string> words_of(int argc, char** argv, const CLI::App& app);

// What the command line lacks, in a line: an unknown word with the nearest known one, before what CLI11 says.
std::string message(const CLI::App& app, const CLI::ParseError& error);
// The command as far as it was recognised: "weft profile graph".
std::string recognised(const CLI::App& app);

}  // namespace weft::app
