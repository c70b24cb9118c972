// weft_bench: measures kernels, their calls on the host, compiling, runs, evaluations, decoding, a sentence encoder and
// start-up on a device. Results of kernels are checked in the run that is timed; data are random; outputs are poisoned
// first. docs/performance.md describes how its tables were made.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "bench.h"
#include "weft/error.h"

using namespace weft;
using namespace weft::bench;

int main(int argc, char** argv) try {
  Options o;
  if (const char* model = std::getenv("WEFT_MODEL_DIR")) o.model = model;
  CLI::App app("Measures Weft on a device. Every result is checked in the run that is timed.", "weft_bench");
  app.require_subcommand(0, 1);
  app.fallthrough();
  add_report_options(app, o);
  CLI::App* kernels = app.add_subcommand("kernels", "Single kernels: GB/s and TFLOP/s");
  add_kernel_options(*kernels, o);
  CLI::App* host = app.add_subcommand("host", "The host's time of a kernel call that was made before, on a GPU");
  add_only_option(*host, o);
  host->add_option("--calls", o.calls, "Calls in a submit")->check(CLI::Range(16, 8192))->capture_default_str();
  host->footer(
      "Timed are calls such as kernels::softmax(encoder, x, y, -1) of small tensors, one after another; what opens an "
      "encoder, submits and waits is not. Medians, of 16 calls at a time.\n"
      "- buffers seen before: 16 sets of tensors take turns, which calls before had, too\n"
      "- new buffers: each call has buffers that no call had before; allocating them is not timed\n"
      "- new sizes: each call has a number of rows that no call had before; its pipeline is compiled already\n"
      "Beside each, in the same run, the same dispatches by Dawn alone: SetPipeline, SetBindGroup with a dynamic "
      "offset, DispatchWorkgroups; for new buffers and new sizes with a bind group made for each. A software GPU "
      "computes on the cores that are timed: there only the ratios say something.");
  CLI::App* compile = app.add_subcommand("compile", "Compiling graphs in new shapes");
  compile->add_option("--kernels", o.kernels, "Kernels of the graphs, separated by commas")
      ->delimiter(',')
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  compile->footer(
      "Timed is compile() of products, softmax and layer norms in a chain, each of which is a step, in shapes that the "
      "device has not met, when all kernels are compiled. Beside it its parts, timed one by one: the passes over the "
      "graph (--json: each of them), the schedule, the plans of kernel calls, the memory plan; recording dispatches is "
      "in the rest. Medians.");
  CLI::App* runs = app.add_subcommand("runs", "Runs that change a number, a row of a cache, or parameters in place");
  runs->footer(
      "- a - b * rate of 1,024 elements with another rate in each run, and the result read back\n"
      "- one row of each head of a KV cache, by donation (in place) and without it (copied)\n"
      "- a step of Adam over 100 parameters in place: --json gives live and peak memory\n"
      "The last two are runs one after another, waited for together. Medians. GB/s count what a run must touch.");
  CLI::App* tensors = app.add_subcommand("tensors", "Tensors that are computed when their values are wanted");
  tensors->add_option("--mebibytes", o.mebibytes, "Size of the large tensors")->capture_default_str();
  tensors->footer(
      "- a node: recording an operation, without evaluating it\n"
      "- an expression of ten nodes again, with other numbers: host time of eval(), which does not wait\n"
      "- the same for the first time, waited for: with an empty cache on disk, with that cache, and in another shape\n"
      "- sqrt(a * b + c) of large tensors, and softmax(x @ x.T)\n"
      "bench/torch_tensors.py times the same in PyTorch, under the same names, for --compare. Medians.");
  CLI::App* arrays =
      app.add_subcommand("arrays", "Functions of arrays of 2^20 elements, as programs for NumPy use them");
  add_only_option(*arrays, o);
  arrays->footer(
      "Each is an expression that is evaluated again and again: short trailing axes, moves, sorting and searching, "
      "division of integers, small products. The least time; on the cpu that of all threads together.\n"
      "bench/numpy_arrays.py times the same in NumPy, under the same names, for --compare.");
  CLI::App* evaluations =
      app.add_subcommand("evaluations", "What an evaluation costs that was compiled before, by parts");
  add_only_option(*evaluations, o);
  evaluations->footer(
      "Expressions of 1,000 elements that are recorded, evaluated and read again and again; below each its parts. The "
      "least time of many, in which 16 follow each other.\n"
      "- recorded: the calls that describe it\n"
      "- collected, and its key: what eval() does before it knows which executable it is\n"
      "- run: the executable alone, on tensors that are there\n"
      "- eval: both, with finding the executable, and memory for the result\n"
      "- read, released: the values as a std::vector; dropping the tensor\n"
      "bench/numpy_evaluations.py times the same in NumPy, under the same names, for --compare.");
  CLI::App* functions = app.add_subcommand("functions", "Every public function on tensors of 10^5 elements");
  add_only_option(*functions, o);
  functions
      ->add_option("--elements", o.elements, "Elements of the tensors: of few it is the fixed cost of an evaluation")
      ->check(CLI::Range(400, 100'000'000))
      ->capture_default_str();
  functions->footer(
      "Each is evaluated again and again; the least time that passes.\n"
      "bench/functions_peers.py runs this on one thread, times the same in NumPy, SciPy and PyTorch, and lists all by "
      "how many times as long Weft takes as the fastest of these.");
  CLI::App* derivatives =
      app.add_subcommand("derivatives", "Derivatives: high orders, loops, recurrent networks, training");
  add_only_option(*derivatives, o);
  derivatives->footer(
      "- the n-th derivative of sin(x) exp(x) at 1,000 points, with the readback; the error against the formula\n"
      "- loops of small kernels; the condition of while_loop is read back in each turn\n"
      "- an LSTM and a GRU with their gradients, and a step of training a perceptron\n"
      "bench/derivatives_peers.py times the same in PyTorch and JAX, under the same names, for --compare. Medians.");
  CLI::App* decode =
      app.add_subcommand("decode", "The products of a language model for one token, with quantised weights");
  add_only_option(*decode, o);
  decode->add_option("--layers", o.layers, "Layers of the model")->check(CLI::Range(1, 1024))->capture_default_str();
  decode->add_option("--width", o.width, "Columns of its tokens' vectors, a multiple of 512; other sizes in proportion")
      ->check(CLI::Range(512, 65536))
      ->capture_default_str();
  decode->add_option("--mebibytes", o.mebibytes, "Size of what is copied, to compare with")->capture_default_str();
  decode->footer(
      "Timed are the seven products of each layer of Llama 3 8B and the last one, for one token. Each takes an earlier "
      "one's result, and weights of its own (4.2 GB in all). GB/s count packed values, scales and zeros; beside them "
      "the rate at which a copy reads and writes.\n"
      "- tokens back to back, which the device is busy with\n"
      "- the host's time of a token: its recorded dispatches replayed and submitted, and the kernels called anew\n"
      "- both with the wait for the result. Medians.");
  CLI::App* encoder = app.add_subcommand("encoder", "A sentence encoder: ids in, embeddings out");
  encoder->add_option("--model", o.model, "Directory of the model [WEFT_MODEL_DIR]");
  encoder->add_option("--shapes", o.shapes, "batch x length, separated by commas")->capture_default_str();
  encoder->add_option("--precision", o.precision, "What may be stored as f16, as for weft embed")
      ->check(CLI::IsMember({"strict", "f16", "auto"}))
      ->capture_default_str();
  CLI::App* start = app.add_subcommand("start", "The first vector of a new process, cold and warm");
  std::string program = (std::filesystem::path(argv[0]).parent_path() / "../apps/weft").lexically_normal();
  start->add_option("--program", program, "The weft command line")->capture_default_str();
  start->add_option("--model", o.model, "Directory of the model [WEFT_MODEL_DIR]");
  app.footer(
      "Examples\n  weft_bench encoder --device cpu --shapes 32x128\n  weft_bench kernels --only softmax\n"
      "  weft_bench host --only softmax\n"
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
    const Device device = Device::open(o.device);
    if (all && !device.is_gpu()) o.mebibytes = 64;
    bench_kernels(device, o, report);
  }
  if (all || *host) {
    const Device device = Device::open(o.device);
    if (*host || device.is_gpu()) bench_host(device, o, report);
  }
  if (all || *compile) bench_compile(Device::open(o.device), o, report);
  if (all || *runs) bench_runs(Device::open(o.device), o, report);
  if (all || *tensors) bench_tensors(Device::open(o.device), o, report);
  if (all || *arrays) bench_arrays(Device::open(o.device), o, report);
  if (all || *evaluations) bench_evaluations(Device::open(o.device), o, report);
  if (*functions) bench_functions(Device::open(o.device), o, report);
  if (all || *derivatives) bench_derivatives(Device::open(o.device), o, report);
  if (all || *decode) {
    const Device device = Device::open(o.device);
    if (all && (!device.is_gpu() || device.gpu().capabilities().software)) o.layers = 1, o.width = 512;
    bench_decode(device, o, report);
  }
  if (all || *encoder) bench_encoder(o, report);
  if (all || *start) bench_start(o, report, program);
  report.draw();
} catch (const std::exception& e) {
  std::fprintf(stderr, "weft_bench: %s\n", e.what());
  return 1;
}
