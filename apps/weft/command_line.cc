#include "command_line.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <format>
#include <map>
#include <sstream>

#include "core/format.h"
#include "core/nearest.h"
#include "core/suffix.h"
#include "weft/error.h"

namespace weft::app {
namespace {

constexpr const char* kSettings = "Settings, of every command; the environment variable does the same";

const CLI::App& root_of(const CLI::App& app) {
  const CLI::App* root = &app;
  while (root->get_parent()) root = root->get_parent();
  return *root;
}

// Help with the commands first, and with the settings only if asked for.
class Help : public CLI::Formatter {
 public:
  mutable bool settings = false;

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    if (mode == CLI::AppFormatMode::Sub) return Formatter::make_help(app, std::move(name), mode);
    const bool root = app->get_parent() == nullptr;
    std::string text = app->get_description() + "\n" + make_usage(app, std::move(name));
    text.pop_back();  // groups begin with an empty line
    text += make_positionals(app);
    if (root) text += make_subcommands(app, mode);
    text += own_options(*app);
    if (!root) text += make_subcommands(app, mode);
    if (settings) text += all_settings(*app);
    return text + make_footer(app);
  }

 private:
  // All groups but the settings.
  std::string own_options(const CLI::App& app) const {
    std::string text;
    for (const std::string& group : app.get_groups()) {
      if (!group.empty() && group != kSettings) text += options_of(app, group);
    }
    return text;
  }

  std::string options_of(const CLI::App& app, const std::string& group) const {
    const std::vector<const CLI::Option*> options = app.get_options(
        [&](const CLI::Option* option) { return option->get_group() == group && option->nonpositional(); });
    return options.empty() ? "" : make_group(group, false, options);
  }

  std::string all_settings(const CLI::App& app) const {
    std::string text = options_of(root_of(app), kSettings);
    text += "\nVariables of ./dev, the tests and the benchmarks:\n";
    for (const VariableInfo& v : other_variables()) text += std::format("  {:<31} {}\n", v.name, v.help);
    return text;
  }
};

const char* type_name(const FlagInfo& flag) {
  switch (flag.kind) {
    case FlagKind::toggle:
      return "on|off";
    case FlagKind::bytes:
      return "BYTES";
    case FlagKind::count:
      return "COUNT";
    case FlagKind::number:
      return "NUMBER";
    case FlagKind::choice:
      return flag.choices.data();  // of literals
    case FlagKind::path:
      return "PATH";
    case FlagKind::text:
      break;
  }
  return "TEXT";
}

void require_path(const FlagInfo& flag, const std::string& value) {
  if (const std::string error = check_path(value); !error.empty()) {
    throw CLI::ValidationError(std::format("--{}: {}", flag.name, error));
  }
}

CLI::Option* add_flag(CLI::App& app, const FlagInfo& flag, const std::string& help) {
  const auto set = [&flag](const std::string& value) {
    try {
      if (flag.kind == FlagKind::path) require_path(flag, value);
      set_flag(flag.flag, value);
    } catch (const InvalidArgument& e) {
      throw CLI::ValidationError(std::string(e.what()));
    }
  };
  return app
      .add_option_function<std::string>("--" + std::string(flag.name), set,
                                        std::format("{} [{}]", help, flag.environment))
      ->type_name(type_name(flag));
}

// The command that was recognised last.
const CLI::App& innermost(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return *at;
}

// The options that may stand here: the command's and those of every command.
std::vector<std::string> options_at(const CLI::App& at) {
  std::vector<std::string> names;
  for (const CLI::App* app = &at; app; app = app->get_parent()) {
    for (const CLI::Option* option : app->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return names;
}

}  // namespace

void add_settings(CLI::App& app) {
  app.formatter(std::make_shared<Help>());
  app.get_formatter()->column_width(34);
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.get_formatter()->enable_footer_formatting(false);  // keeps the line breaks of examples
  // words_of() makes it --help.
  app.add_flag("--help-all", "Print this help with all settings, which also a command's help then shows, and exit");
  for (const FlagInfo& flag : flags()) add_flag(app, flag, std::string(flag.help))->group(kSettings);
}

std::string check_path(const std::string& path) {
  return path.empty() ? "its value is empty, expected the name of a file or a directory" : "";
}

CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
  const auto check = [least, most](const std::string& text) -> std::string {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (end != text.data() + text.size() || error == std::errc::invalid_argument) {
      return std::format("'{}' is no whole number, expected {} to {}", text, least, most);
    }
    if (error == std::errc{} && number >= least && number <= most) return {};
    return std::format("{} is not in {} to {}", text, least, most);
  };
  return {check, std::format("INT in [{} - {}]", least, most)};
}

void add_setting(CLI::App& command, Flag flag, std::string help) {
  const FlagInfo& f = info(flag);
  add_flag(command, f, help.empty() ? std::string(f.help) : help);
}

void add_device(CLI::App& command) { add_setting(command, Flag::device); }

void add_precision(CLI::App& command) {
  add_setting(
      command, Flag::precision,
      "What weights and what lies between kernels may be stored in as f16: nothing (strict), all (f16), or what "
      "keeps the error bound (auto; --log precision says what)");
}

void add_fallback(CLI::App& command, std::string& name) {
  const auto check = [](const std::string& text) { return text == "cpu" ? "" : std::format("'{}' is not cpu", text); };
  command
      .add_option(
          "--fallback", name,
          "cpu: nodes that the device cannot compute, as those of float64 on a GPU, run on the CPU, and are listed; "
          "without it they are an error that names all of them")
      ->check(check)
      ->type_name("cpu");
}

std::optional<Device> fallback_device(const std::string& name) {
  return name.empty() ? std::nullopt : std::optional(Device::cpu());
}

bool is_graph_file(const CLI::App& command, const std::string& model, std::initializer_list<const char*> of_models) {
  std::error_code ignored;
  const bool named_as_file = has_suffix(model, ".safetensors") && !std::filesystem::exists(model, ignored);
  if (!named_as_file && !std::filesystem::is_regular_file(model, ignored)) return false;
  for (const char* option : of_models) {
    if (command.count(option) == 0) continue;
    throw CLI::ValidationError(option, has_suffix(model, ".onnx")
                                           ? "is for directories; --shape gives the sizes of a model of ONNX"
                                           : "is for models; --shape gives the sizes of a graph in a file");
  }
  return true;
}

void refuse_dispatch_only(std::string_view what) {
  if (!flag_on(Flag::dispatch_only)) return;
  throw InvalidArgument(
      "{} is on, so that nothing is read back and {} would be zeros; it is for weft profile and "
      "benchmarks",
      flag_source(Flag::dispatch_only), what);
}

std::vector<std::string> words_of(int argc, char** argv, const CLI::App& app) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  // The first word that is a command; what follows it is an option, and somewhere the program comes.
  const auto command = std::ranges::find_if(
      words, [&](const std::string& word) { return word == "--" || app.get_subcommand_no_throw(word) != nullptr; });
  if (command != words.end() && *command == "profile" && command + 1 != words.end() && command[1].starts_with('-') &&
      std::find(command, words.end(), "--") != words.end()) {
    words.insert(command + 1, "run");
  }
  for (auto word = words.begin(); word != words.end() && *word != "--"; ++word) {
    if (word->starts_with("--") && word->find('=') == word->size() - 1) {
      // CLI11 would take the next word for the value of "--output=".
      word->pop_back();
      word = words.insert(word + 1, "");
    }
    if (*word != "--help-all") continue;
    *word = "--help";
    static_cast<const Help&>(*app.get_formatter()).settings = true;
  }
  std::ranges::reverse(words);
  return words;
}

std::string recognised(const CLI::App& app) {
  std::string command = app.get_name();
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    command += " " + at->get_name();
  }
  return command;
}

std::string message(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& at = innermost(app);
  const std::string command = recognised(app);
  const int code = error.get_exit_code();
  const bool lacks = code == static_cast<int>(CLI::ExitCodes::RequiredError);
  if (!lacks && code != static_cast<int>(CLI::ExitCodes::ExtrasError)) return error.what();

  // CLI11 reports what is missing before what it does not know, which is probably the missing one, misspelt.
  const std::vector<std::string> rest = app.remaining(true);
  const auto option =
      std::ranges::find_if(rest, [](const std::string& word) { return word.starts_with('-') && word != "--"; });
  if (option != rest.end()) {
    const std::string word = option->substr(0, option->find('='));
    return std::format("'{}' has no option {}{}", command, word, nearest_text(nearest(word, options_at(at))));
  }
  std::vector<std::string> commands;
  for (const CLI::App* sub : at.get_subcommands([](const CLI::App*) { return true; })) {
    commands.push_back(sub->get_name());
  }
  if (commands.empty()) {
    return lacks || rest.empty() ? error.what() : std::format("'{}' has no place for '{}'", command, rest.front());
  }
  std::string list;
  for (const std::string& name : commands) list += (list.empty() ? "" : ", ") + name;
  if (rest.empty()) return std::format("'{}' needs a command: {}", command, list);
  return std::format("'{}' is no command of '{}'{}; there are {}", rest.front(), command,
                     nearest_text(nearest(rest.front(), commands)), list);
}

}  // namespace weft::app
