// The main program of elementwise_bench and rows_bench.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "bench.h"

using namespace weft;
using namespace weft::bench;

int main(int argc, char** argv) try {
  Options o;
  CLI::App app(
      "Times kernels over more shapes than weft_bench has, and in forms that are forced on them: what their "
      "choices are made by.\nIt times as weft_bench kernels does, but operands come from memory, and results "
      "are not checked.");
  add_report_options(app, o);
  add_kernel_options(app, o, "only,--only");
  app.get_option("--families")->allow_extra_args(false);  // positional arguments after them are `only`
  app.add_option("--cold", o.cold, "MiB of operands that calls take turns over; 0: no turns, as in weft_bench")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  Report report(o);
  const Device device = Device::open(o.device);
  if (!o.json) std::printf("%s\n", device.reason().c_str());
  bench_kernels(device, o, report);
  report.draw();
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s: %s\n", argv[0], e.what());
  return 1;
}
