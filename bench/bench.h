// Shared by the parts of weft_bench and the tuning programs: options, reports, and measuring a kernel call.
//
// A family of cases is a function in bench/cases that calls measure() for each case, registered by a line
//   const bool registered = register_cases("copy", copy_cases);
// A case's name gives kernel, type and shape, as "softmax f32 [65536, 1024]": bench/torch_kernels.py uses the same
// names.
#pragma once

#include <format>
#include <fstream>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "timing.h"
#include "weft/calibration.h"
#include "weft/kernels.h"
#include "weft/tensor_type.h"

namespace weft::bench {

struct Options {
  std::string device, model, only, shapes = "1x16,1x128,32x16,32x128", precision = "strict";
  std::vector<std::string> families;    // of kernels; none: all
  int calls = 192;                      // of a submit, for measuring the host's time
  std::vector<int> kernels{1, 20, 48};  // of the graphs that are compiled
  int layers = 32;                      // of the model that decodes, and the columns of its tokens' vectors
  std::int64_t width = 4096;
  std::int64_t elements = 100'000;  // of the tensors of functions
  Timing timing;
  std::uint64_t mebibytes = 256, cold = 512;  // of the large tensors; of the operands of a ColdCase, with their copies
  bool json = false;
  std::string output, compare, plot;  // files
};
// --device, --seconds, and the options for results.
void add_report_options(CLI::App& app, Options& options);
// --only, by these names.
void add_only_option(CLI::App& app, Options& options, const std::string& names = "--only");
// Which kernels, and their size. `only`: the names of that option.
void add_kernel_options(CLI::App& app, Options& options, const std::string& only = "--only");

// Prints each result when it is ready, as text or as a JSON line, with the result of the same name in --compare's file,
// and writes it to --output; at the end draws --plot's picture. Throws IoError at once for files that cannot be
// written.
class Report {
 public:
  explicit Report(const Options& options);
  std::size_t size() const { return results_.size(); }
  // `name` matches results of different runs; `value` in `unit` is compared and drawn.
  void add(const std::string& name, double value, const std::string& unit, bool larger_is_better,
           const nlohmann::ordered_json& details, const std::string& text);
  void draw() const;

 private:
  struct Result {
    std::string name, unit;
    double value;
  };
  void read_before();
  const Options& options_;
  std::vector<Result> results_, before_;
  std::ofstream output_;
};

bool close(double got, double expected, double tolerance);  // relative, or absolute below 1

struct Tolerance {
  double relative = 0;  // times the greatest magnitude in the result
  double absolute = 0;
};
using Operation = std::function<void(Stream&, std::span<const View> inputs, const View& y)>;
// True if y, the result of an operation, agrees with the CPU's result on copies of the inputs, as f32; reports it if
// not.
bool agrees(const Device& device, std::span<const View> inputs, const View& y, const Operation& operation,
            const Tolerance& tolerance);
// True if --only selects a case of that name.
bool asked(const Options& options, std::string_view name);

enum class Unit { bytes, flop };

// A call whose operands come from memory, not from a cache: calls rotate through copies of them.
struct ColdCase {
  using Views = std::span<const View>;  // inputs, then outputs
  std::string name;
  std::vector<TensorType> inputs, outputs;
  double moved;  // bytes, in sizes of the first input
  std::function<void(Stream&, Views)> call;
  float low = -1, high = 1;  // the range of random floats
};

class KernelBench {
 public:
  KernelBench(const Device& device, const Options& options, Report& report);

  // Uniform in [low, high); integers: all bits random.
  View random(const Shape& shape, DType type = DType::f32, float low = -1, float high = 1);
  // Every byte 0xff: NaN, or -1.
  View poisoned(const Shape& shape, DType type = DType::f32);
  // Fills a dense view with 0xff, to the end of its last word.
  void poison(const View& view);
  // Elements of a dense view, counted in row-major order.
  std::vector<double> read(const View& view, std::int64_t first, std::int64_t count);
  // All elements of a view of any strides.
  std::vector<double> read(const View& view);

  bool agrees(std::span<const View> inputs, const View& y, const Operation& operation,
              const Tolerance& tolerance) const {
    return bench::agrees(device_, inputs, y, operation, tolerance);
  }

  // True if measure() would run a case of that name.
  bool asked(std::string_view name) const { return bench::asked(options_, name); }
  // Runs the call, warms up, times it, and checks its result, if there is a check. `amount` in bytes or FLOP; `more`:
  // additional work of the call, for the cpu's estimate (a GPU's dispatches declare theirs); `turns`: how many times
  // the call does all that; `dispatches`: what it dispatches, if it is of an executable.
  void measure(const std::string& name, Unit unit, double amount, const Call& call, const std::function<bool()>& check,
               const Work& more = {}, int turns = 1, std::span<const KernelRun> dispatches = {});
  // Without a check; calls rotate through copies of their operands.
  void measure(const ColdCase& cold);

  void run(const Call& call) { bench::run(device_, call); }
  std::int64_t bytes() const;  // of the large tensors
  // bytes(), and those of 1, 4, 16 and 64 MiB that are smaller.
  std::vector<std::int64_t> sizes() const;
  // A tensor of that many bytes, or of bytes(): they determine its dimension of -1.
  TensorType tensor(DType type, Shape shape, std::int64_t bytes = 0) const;
  const Device& device() const { return device_; }
  bool wrong() const { return wrong_; }
  // The error of the cost model's estimates: the median of the larger of estimate / time and time / estimate.
  void report_estimates();

 private:
  // Milliseconds of a call, which does the work so many times.
  double estimate(const Work& work, int turns, const Call& call, std::span<const KernelRun> dispatches);
  Device device_;
  const Options& options_;
  Report& report_;
  Calibration calibration_;
  std::vector<double> errors_;  // of the estimates, as factors of 1 or more
  bool wrong_ = false;
  Clock::time_point busy_until_ = Clock::now();
};

bool register_cases(const std::string& family, void (*cases)(KernelBench&));
std::vector<std::string> families();

void bench_kernels(const Device& device, const Options& options, Report& report);
void bench_host(const Device& device, const Options& options, Report& report);
void bench_compile(const Device& device, const Options& options, Report& report);
void bench_runs(const Device& device, const Options& options, Report& report);
void bench_tensors(const Device& device, const Options& options, Report& report);
void bench_derivatives(const Device& device, const Options& options, Report& report);
void bench_evaluations(const Device& device, const Options& options, Report& report);
void bench_arrays(const Device& device, const Options& options, Report& report);
void bench_functions(const Device& device, const Options& options, Report& report);
void bench_decode(const Device& device, const Options& options, Report& report);
void bench_encoder(const Options& options, Report& report);
void bench_start(const Options& options, Report& report, const std::string& program);

}  // namespace weft::bench
