#include "run_command_line.h"

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <sstream>

#include "command_line.h"
#include "commands.h"
#include "core/ascii.h"
#include "gpu/choose.h"
#include "gpu/surfaceless.h"
#include "output.h"
#include "signals.h"
#include "weft/error.h"
#include "weft/log.h"
#include "weft/version.h"

namespace weft {
namespace {

constexpr int kUsage = 2;

constexpr const char* kExamples = R"(Examples
  weft devices                                      what can compute here
  weft embed --model MODEL notes.txt                a vector a line, as JSON
  echo 'One sentence.' | weft embed --model MODEL -
  weft embed --model MODEL --output v.npy notes.txt
  weft tokenize --model MODEL notes.txt             what the model will read
  weft graph MODEL --output model.svg               a picture of it
  weft profile graph MODEL --html profile.html      where the time goes
  weft profile -- PROGRAM ARGS                      and where that of a program that uses Weft goes
  weft run FILE.onnx --input x=image.npy            a model of ONNX; weft info FILE.onnx says what is in it
  weft check webnn DIR                              conformance data of the Web Neural Network API
  weft check onnx DIR                               and ONNX's own

MODEL is a directory in Hugging Face's layout. Every command explains itself: weft COMMAND --help.
Exit codes: 0 done, 1 failed (standard error says why), 2 the command line is wrong, 130 interrupted.)";

int usage(const std::string& what, const CLI::App& app) {
  std::fprintf(stderr, "weft: %s\nweft: try '%s --help'\n", what.c_str(), app::recognised(app).c_str());
  return kUsage;
}

// Throws DeviceError for a name of no device on the command line, also of a command that opens none.
void check_device() {
  const std::string name = lower(flag_text(Flag::device));
  if (name.empty() || name == "cpu" || name == "gpu" || !flag_source(Flag::device).starts_with('-')) return;
  try {
    gpu::choose({});
  } catch (const NoDevice&) {  // one that needs a GPU says so itself
  }
}

// Parses the words and runs the command; the exit code.
int run(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(app::words_of(argc, argv, app));
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() != 0) return usage(app::message(app, e), app);
    std::ostringstream text;  // --help, --version
    app.exit(e, text, text);
    app::Output out("-");
    out.write(text.str());
    out.commit();
  } catch (const DeviceError& e) {
    // A name of no device is a wrong word where the command line gives it.
    if (!flag_source(Flag::device).starts_with('-')) throw;
    return usage(e.what(), app);
  }
  log_mark("done");
  app::Output("-").commit();
  return 0;
}

}  // namespace

int app::run_command_line(int argc, char** argv) {
  app::handle_signals();
  gpu::allow_surfaceless();
  CLI::App app("Weft: tensors and neural networks on any GPU, through WebGPU", "weft");
  app.set_version_flag("--version", "weft " WEFT_VERSION, "Print the version and exit");
  app.require_subcommand(1);
  app.footer(kExamples);
  app.fallthrough();
  app::add_settings(app);
  app::add_embed(app);
  app::add_tokenize(app);
  app::add_devices(app);
  app::add_graph(app);
  app::add_kernels(app);
  app::add_ops(app);
  app::add_run(app);
  app::add_info(app);
  app::add_profile(app);
  app::add_check(app);
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) command->group("COMMANDS");
  // After the line was read and before a command runs. A variable that means nothing is told whatever the command.
  app.parse_complete_callback([] {
    check_flags();
    check_device();
  });
  try {
    return run(app, argc, argv);
  } catch (const app::NobodyReads&) {
    return 128 + SIGPIPE;
  } catch (const app::Reported&) {
    return 1;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "weft: the host's memory is exhausted; a smaller --batch takes less\n");
  } catch (const std::exception& e) {
    std::fprintf(stderr, "weft: %s\n", e.what());
  }
  return 1;
}

}  // namespace weft
