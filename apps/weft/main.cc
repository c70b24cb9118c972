// weft: the command line. Exit codes: 0, 1 (something failed; a line on standard error gives the reason), 2 (usage).

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <format>
#include <new>

#include "commands.h"
#include "gpu/surfaceless.h"
#include "weft/error.h"
#include "weft/flags.h"
#include "weft/log.h"
#include "weft/version.h"

namespace {

constexpr const char* kExamples = R"(Examples
  weft devices                                      what can compute here
  weft embed --model MODEL notes.txt                a vector a line, as JSON
  echo 'One sentence.' | weft embed --model MODEL -
  weft embed --model MODEL --output v.npy notes.txt
  weft tokenize --model MODEL notes.txt             what the model will read
  weft graph MODEL --output model.svg               a picture of it
  weft profile graph MODEL --html profile.html      where the time goes
  weft profile -- PROGRAM ARGS                      and where that of a program that uses Weft goes

MODEL is a directory in Hugging Face's layout. Every command explains itself: weft COMMAND --help.
Exit codes: 0 done, 1 failed (standard error says why), 2 the command line is wrong.)";

// Adds every switch of the library from its own table.
void add_flags(CLI::App& app) {
  for (const weft::FlagInfo& flag : weft::flags()) {
    app.add_option_function<std::string>(
           "--" + std::string(flag.name),
           [&flag](const std::string& value) {
             try {
               weft::set_flag(flag.flag, value);
             } catch (const weft::InvalidArgument& e) {
               throw CLI::ValidationError(std::string(e.what()));
             }
           },
           std::format("{} [{}]", flag.help, flag.environment))
        ->group("Settings, of every command; the environment variable does the same")
        ->type_name(flag.kind == weft::FlagKind::toggle  ? "on|off"
                    : flag.kind == weft::FlagKind::bytes ? "BYTES"
                    : flag.kind == weft::FlagKind::count ? "COUNT"
                    : flag.kind == weft::FlagKind::number ? "NUMBER"
                    : flag.kind == weft::FlagKind::choice ? std::string(flag.choices)
                                                         : "TEXT");
  }
}

// The message for an error of the command line. CLI11 only reports a missing command if a word is not one.
std::string message(const CLI::App& at, const std::vector<std::string>& rest, const std::string& command,
                    const CLI::ParseError& e) {
  std::string commands;
  for (const CLI::App* sub : at.get_subcommands([](const CLI::App*) { return true; })) {
    commands += (commands.empty() ? "" : ", ") + sub->get_name();
  }
  if (commands.empty() || e.get_exit_code() != static_cast<int>(CLI::ExitCodes::RequiredError)) return e.what();
  if (rest.empty()) return std::format("'{}' needs a command: {}", command, commands);
  if (rest.front().starts_with('-')) return std::format("there is no option {}", rest.front());
  return std::format("'{}' is no command of '{}'; there are {}", rest.front(), command, commands);
}

// The words after the program's name, the last one first, as CLI11 takes them. `weft profile -- PROGRAM` is
// `weft profile run -- PROGRAM`.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (words.size() > 1 && words[0] == "profile" && words[1] == "--") words.insert(words.begin() + 1, "run");
  std::ranges::reverse(words);
  return words;
}

}  // namespace

int main(int argc, char** argv) {
  // Without this a closed pipe would end the process; so write() reports it, like any other error.
  std::signal(SIGPIPE, SIG_IGN);
  weft::gpu::allow_surfaceless();
  CLI::App app("Weft: tensors and neural networks on any GPU, through WebGPU", "weft");
  app.set_version_flag("--version", "weft " WEFT_VERSION, "Print the version and stop");
  app.require_subcommand(1);
  app.footer(kExamples);
  app.get_formatter()->column_width(34);
  app.get_formatter()->enable_footer_formatting(false);  // keeps the line breaks of examples
  app.fallthrough();
  add_flags(app);
  weft::app::add_embed(app);
  weft::app::add_tokenize(app);
  weft::app::add_devices(app);
  weft::app::add_graph(app);
  weft::app::add_kernels(app);
  weft::app::add_ops(app);
  weft::app::add_profile(app);
  try {
    app.parse(words_of(argc, argv));
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    // The command as far as it was parsed: "weft profile graph".
    const CLI::App* at = &app;
    std::string command = "weft";
    while (!at->get_subcommands().empty()) {
      at = at->get_subcommands().front();
      command += " " + at->get_name();
    }
    std::fprintf(stderr, "weft: %s\n", message(*at, app.remaining(true), command, e).c_str());
    std::fprintf(stderr, "weft: try '%s --help'\n", command.c_str());
    return 2;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "weft: the host's memory is exhausted; a smaller --batch takes less\n");
    return 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "weft: %s\n", e.what());
    return 1;
  }
  weft::log_mark("done");
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    std::fprintf(stderr, "weft: standard output: cannot be written: %s\n", std::strerror(errno));
    return 1;
  }
  return 0;
}
