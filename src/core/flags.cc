#include "weft/flags.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <format>
#include <mutex>

#include "core/ascii.h"
#include "core/format.h"
#include "core/nearest.h"
#include "core/system.h"
#include "weft/error.h"
#include "weft/log.h"

namespace weft {

namespace {

constexpr FlagInfo kFlags[] = {
    {Flag::device, FlagKind::text, "device", "WEFT_DEVICE", "",
     "Where to compute: cpu, gpu, or a GPU's number, a part of its name or its backend, as `weft devices` shows them. "
     "By default the best hardware GPU, else the cpu."},
    {Flag::backend, FlagKind::choice, "backend", "WEFT_BACKEND", "", "Only GPUs of this backend.",
     "vulkan|metal|d3d12|opengles|opengl"},
    {Flag::minimum_device, FlagKind::toggle, "minimum-device", "WEFT_MINIMUM_DEVICE", "off",
     "Use the GPU as if it had no optional feature and the smallest limits that WebGPU allows, as phones and browsers "
     "may have it. For tests."},
    {Flag::f16, FlagKind::toggle, "f16", "WEFT_F16", "on",
     "Use the GPU's own arithmetic on 16-bit floats where it has any; off computes them in f32."},
    {Flag::subgroups, FlagKind::toggle, "subgroups", "WEFT_SUBGROUPS", "on",
     "Let neighbouring threads of the GPU exchange values directly (subgroup operations) where they can."},
    {Flag::matrices, FlagKind::toggle, "matrices", "WEFT_MATRICES", "on",
     "Use the GPU's matrix units (cooperative matrices, tensor cores) for products where they pass a self-test."},
    {Flag::fusion, FlagKind::toggle, "fusion", "WEFT_FUSION", "on",
     "Compute several operations of a graph in one kernel, which saves memory traffic; off runs a kernel for each."},
    {Flag::packed_qkv, FlagKind::toggle, "packed-qkv", "WEFT_PACKED_QKV", "on",
     "Compute the products of one tensor with several weights, such as attention's queries, keys and values, as one "
     "product."},
    {Flag::precision, FlagKind::choice, "precision", "WEFT_PRECISION", "strict",
     "Which weights and results a graph may store as 16-bit floats: none (strict), all that can be (f16), or those "
     "whose products stay within --f16-error-bound (auto).",
     "strict|f16|auto"},
    {Flag::f16_error_bound, FlagKind::number, "f16-error-bound", "WEFT_F16_ERROR_BOUND", "0.0078125",
     "With --precision auto, the largest error that a product with 16-bit weights may have, as a fraction of the root "
     "mean square of its column."},
    {Flag::force_f16, FlagKind::text, "force-f16", "WEFT_FORCE_F16", "",
     "With --precision f16 or auto, weights that are stored as f16 without measuring, by parts of their names, "
     "separated by commas; after a minus sign those that stay f32."},
    {Flag::validation, FlagKind::toggle, "validation", "WEFT_VALIDATION", "on",
     "Let WebGPU check every call; off is faster, and relies on the kernels to be right."},
    {Flag::robustness, FlagKind::toggle, "robustness", "WEFT_ROBUSTNESS", "on",
     "Let WebGPU keep every memory access of a shader within bounds; off is faster, and relies on the kernels to be "
     "right."},
    {Flag::debug_labels, FlagKind::toggle, "debug-labels", "WEFT_DEBUG_LABELS", "off",
     "Give each dispatch a name that RenderDoc, PIX, Xcode and Nsight show."},
    {Flag::cache_dir, FlagKind::path, "cache-dir", "WEFT_CACHE_DIR", "",
     "The directory that keeps compiled shaders and measured rates from run to run, or off for none; by default weft "
     "in the user's cache directory."},
    {Flag::memory_limit, FlagKind::bytes, "memory-limit", "WEFT_MEMORY_LIMIT", "",
     "The most GPU memory that tensors may take together, such as 512M or 8G; by default as much as there is."},
    {Flag::binding_limit, FlagKind::bytes, "binding-limit", "WEFT_BINDING_LIMIT", "",
     "The most bytes of one tensor that a dispatch may see, 4096 or more; larger tensors are processed in parts. By "
     "default what the GPU allows.",
     "", 4096},
    {Flag::dispatch_limit, FlagKind::count, "dispatch-limit", "WEFT_DISPATCH_LIMIT", "",
     "The most work in one dispatch or submission, in operations, a byte moved counting as ten, such as 100G; more is "
     "divided, so that no watchdog stops the GPU. By default by the kind of GPU."},
    {Flag::lapack, FlagKind::toggle, "lapack", "WEFT_LAPACK", "on",
     "Decompose matrices on the cpu by LAPACK, where the library was built with it; off uses the kernels' own loops, "
     "which sum in f64."},
    {Flag::always_upload, FlagKind::toggle, "always-upload", "WEFT_ALWAYS_UPLOAD", "off",
     "Upload the inputs of every run, even those whose content is what it was."},
    {Flag::dispatch_only, FlagKind::toggle, "dispatch-only", "WEFT_DISPATCH_ONLY", "off",
     "Do not read results back; they count as zeros. For measuring the GPU alone."},
    {Flag::dispatch_report, FlagKind::toggle, "dispatch-report", "WEFT_DISPATCH_REPORT", "off",
     "Print to standard error what each compiled graph runs: its kernels, the variant of each and why, grids, bytes "
     "and operations."},
    {Flag::dump_values, FlagKind::toggle, "dump-values", "WEFT_DUMP_VALUES", "off",
     "Run one step at a time and print the largest absolute value of each result to standard error; with --fusion off "
     "each operation is a step. For finding where a NaN comes from."},
    {Flag::dump_wgsl, FlagKind::path, "dump-wgsl", "WEFT_DUMP_WGSL", "",
     "A directory into which the WGSL source of every compiled kernel is written."},
    {Flag::log, FlagKind::text, "log", "WEFT_LOG", "warn",
     "What is printed to standard error: off, warn, info or debug, and the topics schedule, passes, precision, "
     "calibration and start, separated by commas."},
    {Flag::profile_to, FlagKind::path, "profile-to", "WEFT_PROFILE_TO", "",
     "A file for a profile of the first device that the program opens, written when it ends; ui.perfetto.dev and "
     "`weft profile run` show it."},
};

// What only ./dev, the tests and the benchmarks read.
constexpr VariableInfo kOtherVariables[] = {
    {"WEFT_MODEL_DIR", "The model's directory for ./dev, the tests and the benchmarks, instead of fetching it."},
    {"WEFT_PRESET", "./dev: the CMake preset."},
    {"WEFT_ENVIRONMENT", "./dev: where to build, on this host as it is or in the Debian root."},
    {"WEFT_MIRROR", "./dev: the Debian mirror."},
    {"WEFT_SNAPSHOT", "./dev: the date of the Debian archive to take."},
    {"WEFT_MLX_SOURCE", "./dev mlx: a directory that holds MLX's source, instead of fetching it."},
    {"WEFT_NAGA", "Tests: the program naga, the other WGSL compiler."},
    {"WEFT_REQUIRE_NAGA", "Tests: on: without naga they fail."},
    {"WEFT_ARRAY_API_TESTS", "Tests of the Python package: a checkout of array-api-tests."},
    {"WEFT_ARRAY_API_EXAMPLES", "Tests of the Python package: examples of each of these."},
    {"WEFT_PYTHON_EXAMPLES", "Tests of the Python package: random programs and arrays of each kind."},
    {"WEFT_ONNX_KEEP", "Tests: a directory that keeps the models that they write, with inputs and results."},
    {"WEFT_ONNX_SEEDS", "Tests: a directory to which the models are written with which the fuzzer begins."},
    {"WEFT_REQUIRE_PYPI", "Tests of the Python package: on: without PyPI they fail."},
    {"WEFT_TEST_DATA", "Tests: where their data are, if not in the source tree."},
    {"WEFT_TEST_DEVICES", "Tests: the devices that they run on; all by default."},
    {"WEFT_REQUIRE_DEVICES", "Tests: devices without which they fail."},
    {"WEFT_TESTS_QUICK", "Tests: on: a part of their problems; ./dev test --quick sets it."},
    {"WEFT_TESTS_WHOLE", "Tests: on: also the problems that only nightly runs have on GPUs."},
    {"WEFT_SEED", "Tests: where the seeds of random kernel problems begin."},
    {"WEFT_DIFFERENTIAL_CASES", "Tests: random problems of each kernel."},
    {"WEFT_DIFFERENTIAL_ALIKE", "Tests: how many of them have one form and share their shaders."},
    {"WEFT_DIFFERENTIAL_SECONDS", "Tests: the time after which no further random problem begins."},
    {"WEFT_LEAST_PROBLEMS", "Tests: the number of random kernel problems below which a run has failed."},
    {"WEFT_RANDOM_SEED", "Tests: the first seed of random graphs, programs and derivatives."},
    {"WEFT_FUSED_PAIRS", "Tests: functions H for each pair of F and G in one kernel, or all."},
    {"WEFT_FUSED_NIGHTS", "random_problems.sh: the days in which all fused functions are tested, a part each day."},
    {"WEFT_FUSED_PART", "Tests: the part of the fused functions that a process tests, such as 2/16."},
    {"WEFT_RANDOM_GRAPHS", "Tests: random graphs."},
    {"WEFT_RANDOM_PROGRAMS", "Tests: random programs of tensor operations."},
    {"WEFT_RANDOM_DERIVATIVES", "Tests: random functions that are differentiated."},
    {"WEFT_MEMORY_TURNS", "Tests: turns of each loop whose memory must not grow."},
    {"WEFT_FFT_LENGTHS", "Tests: random lengths of Fourier transforms up to 2^24, beside all to 4,096."},
    {"WEFT_RANDOM_DRAWS", "Tests: random numbers of each distribution."},
    {"WEFT_FORMS", "Tests: random problems of each kernel and kind of device whose forms are compiled."},
    {"WEFT_FORMS_PART", "Tests: the part of the kernels whose forms are compiled, such as 2/8."},
    {"WEFT_FORMS_REPORT", "Tests: a file for the options of kernels that no problem had."},
    {"WEFT_HOSTILE_CASES", "Tests: kernel calls with arguments that do not fit."},
    {"WEFT_HOSTILE_GRAPHS", "Tests: graphs that do not fit."},
    {"WEFT_FREEZE", "Tests: a folder for texts and results of random graphs, to compare builds by."},
};

struct Overrides {
  std::mutex mutex;
  std::array<std::optional<std::string>, std::size(kFlags)> values;
  std::atomic<bool> any = false;  // some are set
};

Overrides& overrides() {
  static Overrides o;
  return o;
}

bool parse_toggle(const FlagInfo& flag, std::string_view value) {
  if (value == "on" || value == "off") return value == "on";  // as the defaults are
  const std::string v = lower(value);
  for (const char* yes : {"on", "1", "true", "yes"}) {
    if (v == yes) return true;
  }
  for (const char* no : {"off", "0", "false", "no"}) {
    if (v == no) return false;
  }
  throw InvalidArgument("{} (--{}) is '{}'; it takes on or off", flag.environment, flag.name, value);
}

// A whole number with a suffix: K is 1024 for bytes and 1000 for other units.
std::optional<std::uint64_t> parse_count(const FlagInfo& flag, std::string_view value) {
  if (value.empty()) return std::nullopt;
  const bool bytes = flag.kind == FlagKind::bytes;
  std::uint64_t count = 0;
  const char* const last = value.data() + value.size();
  const auto [end, error] = std::from_chars(value.data(), last, count);
  std::string suffix = lower(std::string_view(end, last));
  if (bytes && suffix.ends_with("ib"))
    suffix.resize(suffix.size() - 2);
  else if (bytes && suffix.ends_with("b"))
    suffix.resize(suffix.size() - 1);
  const std::size_t power = suffix.empty() ? 0 : std::string_view("kmgt").find(suffix) + 1;
  std::uint64_t unit = 1;
  for (std::size_t i = 0; i < power; ++i) unit *= bytes ? 1024 : 1000;
  if (error != std::errc{} || suffix.size() > 1 || (!suffix.empty() && power == 0) || count > UINT64_MAX / unit) {
    throw InvalidArgument("{} (--{}) is '{}'; it takes a count{} such as 512M or 8G", flag.environment, flag.name,
                          value, bytes ? " of bytes" : "");
  }
  if (count * unit < flag.least) {
    throw InvalidArgument("{} (--{}) is '{}', expected {} or more", flag.environment, flag.name, value, flag.least);
  }
  return count * unit;
}

double parse_number(const FlagInfo& flag, std::string_view value) {
  double number = -1;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || end != value.data() + value.size() || !(number >= 0) || std::isinf(number)) {
    throw InvalidArgument("{} (--{}) is '{}'; it takes a number of 0 or more", flag.environment, flag.name, value);
  }
  return number;
}

void check_choice(const FlagInfo& flag, std::string_view given) {
  const std::string value = lower(given);
  if (value == flag.default_value) return;
  for (std::string_view rest = flag.choices; !rest.empty();) {
    const auto bar = rest.find('|');
    if (rest.substr(0, bar) == value) return;
    rest = bar == std::string_view::npos ? "" : rest.substr(bar + 1);
  }
  throw InvalidArgument("{} (--{}) is '{}'; it takes {}", flag.environment, flag.name, given, flag.choices);
}

void check(const FlagInfo& flag, std::string_view value) {
  if (flag.kind == FlagKind::choice) check_choice(flag, value);
  if (flag.kind == FlagKind::toggle) parse_toggle(flag, value);
  if (flag.kind == FlagKind::number) parse_number(flag, value);
  if (flag.kind == FlagKind::bytes || flag.kind == FlagKind::count) parse_count(flag, value);
}

struct Current {
  std::string text;
  std::string source;  // as flag_source()
};

// What set_flag() was given, if it was.
std::optional<std::string> given(const FlagInfo& f) {
  Overrides& o = overrides();
  if (!o.any.load(std::memory_order_acquire)) return std::nullopt;
  const std::lock_guard lock(o.mutex);
  return o.values[static_cast<std::size_t>(f.flag)];
}

// The variable's value; null if it is not set, or empty. (The names in the table end in zeros.)
const char* variable(const FlagInfo& f) {
  const char* value = std::getenv(f.environment.data());
  return value && *value ? value : nullptr;
}

Current current(const FlagInfo& f) {
  if (auto value = given(f)) return {std::move(*value), std::format("--{}", f.name)};
  if (const char* value = variable(f)) return {value, std::string(f.environment)};
  return {std::string(f.default_value), ""};
}

}  // namespace

std::span<const FlagInfo> flags() { return kFlags; }

const FlagInfo& info(Flag flag) {
  // The rows by their flags; the table is in the order of help.
  static constexpr auto kRows = [] {
    std::array<const FlagInfo*, std::size(kFlags)> rows{};
    for (const FlagInfo& f : kFlags) rows.at(static_cast<std::size_t>(f.flag)) = &f;
    return rows;
  }();
  return *kRows.at(static_cast<std::size_t>(flag));
}

std::span<const VariableInfo> other_variables() { return kOtherVariables; }

std::string flag_text(Flag flag) {
  const FlagInfo& f = info(flag);
  const std::string value = current(f).text;
  if (f.kind != FlagKind::choice) return value;
  check_choice(f, value);
  return lower(value);
}

std::string flag_source(Flag flag) { return current(info(flag)).source; }

// (Runs and reads ask for some, so that it takes no memory where nothing is set.)
bool flag_on(Flag flag) {
  const FlagInfo& f = info(flag);
  if (const auto value = given(f)) return parse_toggle(f, *value);
  const char* value = variable(f);
  return parse_toggle(f, value ? value : f.default_value);
}
double flag_number(Flag flag) { return parse_number(info(flag), flag_text(flag)); }
std::optional<std::uint64_t> flag_bytes(Flag flag) { return parse_count(info(flag), flag_text(flag)); }
std::optional<std::uint64_t> flag_count(Flag flag) { return parse_count(info(flag), flag_text(flag)); }

std::vector<std::string> unknown_variables() {
  constexpr std::string_view kPrefix = "WEFT_";
  std::vector<std::string_view> known;
  for (const FlagInfo& f : kFlags) known.push_back(f.environment.substr(kPrefix.size()));
  const std::size_t settings = known.size();
  for (const VariableInfo& v : kOtherVariables) known.push_back(v.name.substr(kPrefix.size()));
  std::vector<std::string> messages;
  for (const std::string& entry : environment()) {
    const std::string_view name = std::string_view(entry).substr(0, entry.find('='));
    if (!name.starts_with(kPrefix)) continue;
    const std::string_view rest = name.substr(kPrefix.size());
    if (std::ranges::find(known, rest) != known.end()) continue;
    const std::string near = nearest(rest, std::span(known).first(settings));
    messages.push_back(std::format("the variable {} has no meaning{}", name,
                                   near.empty() ? "; `weft --help-all` lists those that have one"
                                                : std::format("; the nearest name is WEFT_{}", near)));
  }
  return messages;
}

void check_flags() {
  for (const FlagInfo& f : kFlags) check(f, current(f).text);
  static std::once_flag once;
  std::call_once(once, [] {
    for (const std::string& message : unknown_variables()) log(LogLevel::warning, "{}", message);
  });
}

void set_flag(Flag flag, std::string_view value) {
  check(info(flag), value);
  std::lock_guard lock(overrides().mutex);
  overrides().values[static_cast<std::size_t>(flag)] = value;
  overrides().any.store(true, std::memory_order_release);
}

void reset_flags() {
  std::lock_guard lock(overrides().mutex);
  for (auto& value : overrides().values) value.reset();
  overrides().any.store(false, std::memory_order_release);
}

}  // namespace weft
