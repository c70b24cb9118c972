// What the parts of weft_bench share: options, reports, and measuring a kernel call.
//
// A family of cases is a function in bench/cases that calls measure() for each case, registered by a line
//   const bool registered = register_cases("copy", copy_cases);
// A case's name says kernel, type and shape as "softmax f32 [65536, 1024]": bench/torch_kernels.py uses the same names.
#pragma once

#include <format>
#include <fstream>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "weft/calibration.h"
#include "weft/device.h"
#include "weft/kernels.h"

namespace weft::bench {

struct Options {
  std::string device, model, only, shapes = "1x16,1x128,32x16,32x128", dtype = "f32";
  std::vector<std::string> families;    // of kernels; none: all
  double seconds = 0.3, warm_up = 0.4;  // a case: measured time, and time under load before that
  std::uint64_t mebibytes = 256;
  bool json = false;
  std::string output, compare, plot;  // files
};

// Prints each result as it comes, as text or as a JSON line, beside the result of the same name in --compare's file,
// and writes it to --output; at the end draws --plot's picture. Throws IoError, for files that cannot be written at
// once.
class Report {
 public:
  explicit Report(const Options& options);
  std::size_t size() const { return results_.size(); }
  // `name` joins results of different runs; `value` in `unit` is what is compared and drawn.
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

double median(std::vector<double> values);
bool close(double got, double expected, double tolerance);  // relative, or absolute below 1

enum class Unit { bytes, flop };

class KernelBench {
 public:
  KernelBench(const Device& device, const Options& options, Report& report);

  // Uniform in [-1, 1); integers: all bits random.
  View random(const Shape& shape, DType type = DType::f32);
  // Every byte 0xff: NaN, or -1.
  View poisoned(const Shape& shape, DType type = DType::f32);
  // Makes a dense view so, to the end of its last word.
  void poison(const View& view);
  // Elements of a dense view, counted in row-major order.
  std::vector<double> read(const View& view, std::int64_t first, std::int64_t count);
  // All elements of a view of any strides.
  std::vector<double> read(const View& view);
  // Scratch of that size; none for 0.
  std::optional<View> workspace(std::uint64_t bytes);
  // Answers a question that takes a stream, such as …_workspace.
  std::uint64_t ask(const std::function<std::uint64_t(Stream&)>& question);

  // Whether measure() would do anything for a case of that name.
  bool asked(const std::string& name) const;
  // Runs the call once and checks it, warms up, then times it. `amount` in bytes or FLOP; `more`: what else the call
  // does, for the cpu's estimate (a GPU's dispatches say it themselves).
  void measure(const std::string& name, Unit unit, double amount, const std::function<void(Stream&)>& call,
               const std::function<bool()>& check, const Work& more = {});

  // Runs the call so often, and waits.
  void run(const std::function<void(Stream&)>& call, int times = 1);
  // Works for a second: a GPU that slept takes that long to raise its clocks.
  void wake();
  std::int64_t bytes() const;  // of the large tensors
  // bytes(), and of 1, 4, 16 and 64 MiB those below it.
  std::vector<std::int64_t> sizes() const;
  const Device& device() const { return device_; }
  bool wrong() const { return wrong_; }
  // How far the cost model's estimates were off: the median of the larger of estimate / time and time / estimate.
  void report_estimates();

 private:
  double estimate(const Work& work, const std::function<void(Stream&)>& call);
  Device device_;
  const Options& options_;
  Report& report_;
  Calibration calibration_;
  std::vector<double> errors_;  // of the estimates, as factors of 1 or more
  bool wrong_ = false;
};

bool register_cases(const std::string& family, void (*cases)(KernelBench&));
std::vector<std::string> families();

void bench_kernels(const Options& options, Report& report);
void bench_encoder(const Options& options, Report& report);
void bench_start(const Options& options, Report& report, const std::string& program);

}  // namespace weft::bench
