// weft_bench: how fast kernels, a sentence encoder and start-up are on a device. Every result is checked in the run
// that is timed; data are random; outputs are poisoned first. docs/performance.md says how its table was made.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "bench.h"
#include "gpu/surfaceless.h"
#include "weft/error.h"

using namespace weft;
using namespace weft::bench;

int main(int argc, char** argv) try {
  gpu::allow_surfaceless();
  Options o;
  if (const char* model = std::getenv("WEFT_MODEL_DIR")) o.model = model;
  CLI::App app("Measures Weft on a device. Every result is checked in the run that is timed.", "weft_bench");
  app.require_subcommand(0, 1);
  app.fallthrough();
  app.add_option("--device", o.device, "cpu, gpu, or an adapter's number, backend or part of its name; none: the best");
  app.add_option("--seconds", o.seconds, "Measured time a case")->capture_default_str();
  app.add_flag("--json", o.json, "A JSON line a result");
  app.add_option("--output", o.output, "Write the results there too, a JSON line each");
  app.add_option("--compare", o.compare, "Results to compare with: --output of another run, or torch_kernels.py's")
      ->check(CLI::ExistingFile);
  app.add_option("--plot", o.plot, "Draw the results there, as SVG");
  CLI::App* kernels = app.add_subcommand("kernels", "Single kernels: GB/s and TFLOP/s");
  kernels->add_option("--families", o.families, "Families of cases, separated by commas; none: all")
      ->delimiter(',')->check(CLI::IsMember(families()));
  kernels->add_option("--only", o.only, "Cases whose name holds this, or one of several texts parted by |");
  kernels->add_option("--mebibytes", o.mebibytes, "Size of the large tensors; below 256 large products are left out")
      ->capture_default_str();
  kernels->add_option("--warm-up", o.warm_up, "Seconds of load before a case is timed; without hardware a quarter")
      ->capture_default_str();
  CLI::App* encoder = app.add_subcommand("encoder", "A sentence encoder: ids in, embeddings out");
  encoder->add_option("--model", o.model, "Directory of the model [WEFT_MODEL_DIR]");
  encoder->add_option("--shapes", o.shapes, "batch x length, separated by commas")->capture_default_str();
  encoder->add_option("--dtype", o.dtype, "Storage of weights and activations")
      ->check(CLI::IsMember({"f32", "f16", "auto"}))->capture_default_str();
  CLI::App* start = app.add_subcommand("start", "The first vector of a new process, cold and warm");
  std::string program = (std::filesystem::path(argv[0]).parent_path() / "../apps/weft").lexically_normal();
  start->add_option("--program", program, "The weft command line")->capture_default_str();
  start->add_option("--model", o.model, "Directory of the model [WEFT_MODEL_DIR]");
  app.footer("Examples\n  weft_bench encoder --device cpu --shapes 32x128\n  weft_bench kernels --only softmax\n"
             "  weft_bench kernels --families copy,rows --seconds 0.1 --warm-up 0.1\n"
             "  weft_bench kernels --output today.jsonl --compare yesterday.jsonl --plot today.svg\n"
             "Against other libraries in the same run: ./dev bench peers --help\n");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  const bool all = app.get_subcommands().empty();
  if ((all || *encoder || *start) && o.model.empty()) {
    throw InvalidArgument("--model DIR is missing (or WEFT_MODEL_DIR)");
  }
  Report report(o);
  if (all || *kernels) {
    if (all) o.mebibytes = Device::open(o.device).is_gpu() ? o.mebibytes : 64;
    bench_kernels(o, report);
  }
  if (all || *encoder) bench_encoder(o, report);
  if (all || *start) bench_start(o, report, program);
  report.draw();
} catch (const std::exception& e) {
  std::fprintf(stderr, "weft_bench: %s\n", e.what());
  return 1;
}
