#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <ranges>

#include "bench.h"
#include "core/format.h"
#include "cpu/executor.h"
#include "weft/error.h"
#include "weft/small_float.h"

namespace weft::bench {
namespace {

std::map<std::string, void (*)(KernelBench&)>& registry() {
  static std::map<std::string, void (*)(KernelBench&)> all;
  return all;
}

double element(const std::byte* p, DType type) {
  const auto as = [&]<class T>(T value) {
    std::memcpy(&value, p, sizeof(T));
    return value;
  };
  switch (type) {
    case DType::f32:
      return as(float{});
    case DType::f64:
      return as(double{});
    case DType::f16:
      return float16::from_bits(as(std::uint16_t{}));
    case DType::bf16:
      return bfloat16::from_bits(as(std::uint16_t{}));
    case DType::i8:
      return as(std::int8_t{});
    case DType::i16:
      return as(std::int16_t{});
    case DType::i32:
      return as(std::int32_t{});
    case DType::i64:
      return static_cast<double>(as(std::int64_t{}));
    case DType::boolean:
    case DType::u8:
      return as(std::uint8_t{});
    case DType::u16:
      return as(std::uint16_t{});
    case DType::u32:
      return as(std::uint32_t{});
    case DType::u64:
      return static_cast<double>(as(std::uint64_t{}));
    default:
      throw InternalError("the benchmark does not read {}", name(type));
  }
}

}  // namespace

bool close(double got, double expected, double tolerance) {
  if (std::isnan(expected)) return std::isnan(got);
  return std::abs(got - expected) <= tolerance * std::max(1.0, std::abs(expected));
}

bool asked(const Options& options, std::string_view name) {
  for (const auto text : std::views::split(options.only, '|')) {
    if (name.find(std::string_view(text.begin(), text.end())) != std::string_view::npos) return true;
  }
  return options.only.empty();
}

bool register_cases(const std::string& family, void (*cases)(KernelBench&)) {
  return registry().emplace(family, cases).second;
}

std::vector<std::string> families() {
  std::vector<std::string> names;
  for (const auto& [family, cases] : registry()) names.push_back(family);
  return names;
}

KernelBench::KernelBench(const Device& device, const Options& options, Report& report)
    : device_(device), options_(options), report_(report), calibration_(Calibration::load_or_measure(device)) {}

std::int64_t KernelBench::bytes() const { return static_cast<std::int64_t>(options_.mebibytes << 20); }

std::vector<std::int64_t> KernelBench::sizes() const {
  std::vector<std::int64_t> all{bytes()};
  for (const std::int64_t mebibytes : {1, 4, 16, 64}) {
    if (mebibytes << 20 < bytes()) all.push_back(mebibytes << 20);
  }
  return all;
}

TensorType KernelBench::tensor(DType type, Shape shape, std::int64_t bytes) const {
  std::int64_t count = (bytes ? bytes : this->bytes()) * 8 / bits(type);
  for (const std::int64_t n : shape) count /= std::max<std::int64_t>(n, 1);
  for (std::int64_t& n : shape) n = n < 0 ? std::max<std::int64_t>(count, 1) : n;
  return {type, shape};
}

View KernelBench::random(const Shape& shape, DType type, float low, float high) {
  constexpr std::uint64_t kBlock = 16 << 20;  // repeated; larger than caches hold of one tensor
  const std::uint64_t bytes = byte_size(type, static_cast<std::uint64_t>(element_count(shape)));
  std::vector<std::byte> block(std::min(bytes, kBlock));
  std::mt19937 rng(7);
  std::uniform_real_distribution<float> uniform(low, high);
  const auto fill = [&]<class T>(T, auto&& next) {
    for (std::size_t at = 0; at + sizeof(T) <= block.size(); at += sizeof(T)) {
      const T v = next();
      std::memcpy(&block[at], &v, sizeof(T));
    }
  };
  switch (type) {
    case DType::f32:
    case DType::c64:
      fill(float{}, [&] { return uniform(rng); });
      break;
    case DType::f16:
      fill(std::uint16_t{}, [&] { return float16(uniform(rng)).bits; });
      break;
    case DType::bf16:
      fill(std::uint16_t{}, [&] { return bfloat16(uniform(rng)).bits; });
      break;
    case DType::boolean:
      fill(std::uint8_t{}, [&] { return static_cast<std::uint8_t>(rng() & 1); });
      break;
    default:
      fill(std::uint8_t{}, [&] { return static_cast<std::uint8_t>(rng()); });
  }
  const View view(device_.allocate(std::max<std::uint64_t>((bytes + 3) / 4 * 4, 4)), 0, type, shape);
  for (std::uint64_t at = 0; at < bytes; at += block.size()) {
    device_.upload(view.buffer, at, std::span(block).first(std::min<std::uint64_t>(block.size(), bytes - at)));
  }
  return view;
}

View KernelBench::poisoned(const Shape& shape, DType type) {
  const std::uint64_t bytes = byte_size(type, static_cast<std::uint64_t>(element_count(shape)));
  const View view(device_.allocate((bytes + 3) / 4 * 4), 0, type, shape);
  poison(view);
  return view;
}

void KernelBench::poison(const View& view) {
  const std::uint64_t bytes = byte_size(view.dtype, static_cast<std::uint64_t>(view.count()));
  const View words(view.buffer, view.offset, DType::i32, {static_cast<std::int64_t>((bytes + 3) / 4)});
  run([&](Stream& s) { kernels::fill(s, -1, words); });
}

std::vector<double> KernelBench::read(const View& view, std::int64_t first, std::int64_t count) {
  const auto size = static_cast<std::uint64_t>(bits(view.dtype) / 8);
  std::vector<std::byte> raw(static_cast<std::size_t>(count) * size);
  // Reads start and end at whole words.
  const std::uint64_t begin = view.offset + static_cast<std::uint64_t>(first) * size, from = begin / 4 * 4;
  const std::uint64_t to = (begin + raw.size() + 3) / 4 * 4;
  std::vector<std::byte> words(to - from);
  device_.read(view.buffer, from, words);
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(element(&words[begin - from + static_cast<std::size_t>(i) * size], view.dtype));
  }
  return values;
}

std::vector<double> KernelBench::read(const View& view) {
  if (view.is_dense()) return read(view, 0, view.count());
  const View dense = poisoned(view.shape(), view.dtype);
  run([&](Stream& s) { kernels::copy(s, view, dense); });
  return read(dense, 0, dense.count());
}

bool agrees(const Device& device, std::span<const View> inputs, const View& y, const Operation& operation,
            const Tolerance& tolerance) {
  const auto on_host = [&](const View& v) {
    View copy = v;
    copy.buffer = Buffer::host(v.buffer.size());
    const std::span<std::byte> bytes(copy.buffer.data(), v.buffer.size());
    if (device.is_gpu())
      device.read(v.buffer, 0, bytes);
    else
      std::copy_n(v.buffer.data(), bytes.size(), bytes.data());
    return copy;
  };
  std::vector<View> host_inputs;
  for (const View& v : inputs) host_inputs.push_back(on_host(v));
  const View got = on_host(y);
  View expected = got;
  expected.buffer = Buffer::host(got.buffer.size());
  cpu::Executor executor;
  operation(executor, host_inputs, expected);
  const auto numbers = [&](const View& v) {
    const View dense(Buffer::host(static_cast<std::uint64_t>(v.count()) * 4), 0, DType::f32, v.shape());
    kernels::copy(executor, v, dense);
    return std::pair(
        dense, std::span(reinterpret_cast<const float*>(dense.buffer.data()), static_cast<std::size_t>(v.count())));
  };
  const auto [got_view, a] = numbers(got);
  const auto [expected_view, b] = numbers(expected);
  double greatest = 0, error = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double distance = std::abs(double{a[i]} - b[i]);
    if (std::isnan(distance)) return false;
    error = std::max(error, distance);
    greatest = std::max(greatest, std::abs(double{b[i]}));
  }
  const double tolerated = tolerance.relative * greatest + tolerance.absolute;
  if (error <= tolerated) return true;
  std::fputs(std::format("off by {:.2g}, where {:.2g} is tolerated:\n", error, tolerated).c_str(), stderr);
  return false;
}

void KernelBench::measure(const std::string& name, Unit unit, double amount, const Call& call,
                          const std::function<bool()>& check, const Work& more, int turns,
                          std::span<const KernelRun> dispatches) {
  if (!asked(name)) return;
  // Load while the call is compiled; longer if the GPU slept while the host computed the last expected result.
  occupy(device_, seconds_since(busy_until_) > 0.3 ? 1 : options_.timing.warm_up);
  bench::run(device_, call, 1, !dispatches.empty());
  const double ms = time_call(device_, call, options_.timing, !dispatches.empty()).wall / turns * 1e3;
  busy_until_ = Clock::now();
  const bool right = !check || check();  // after timing: GPUs lower their clocks while the host computes
  const double rate = amount / (ms * 1e-3) / (unit == Unit::bytes ? 1e9 : 1e12);
  Work work = more;
  if (unit == Unit::bytes)
    work.bytes = static_cast<std::uint64_t>(amount);
  else
    work.flops = amount;
  const double estimated = estimate(work, turns, call, dispatches) / turns;
  errors_.push_back(std::max(estimated / ms, ms / estimated));
  const char* const unit_name = unit == Unit::bytes ? "GB/s" : "TFLOP/s";
  nlohmann::ordered_json details = {{"device", device_.name()}, {"ms", ms}, {"estimated_ms", estimated}};
  if (check) details["right"] = right;
  report_.add(name, rate, unit_name, true, details,
              std::format("{:44} {:10.4f} ms {:10.2f} {:7}  estimate {:5.2f}x{}", name, ms, rate, unit_name,
                          estimated / ms, right ? "" : "   WRONG RESULT"));
  wrong_ |= !right;
}

void KernelBench::measure(const ColdCase& cold) {
  if (!asked(cold.name)) return;
  std::vector<TensorType> tensors = cold.inputs;
  tensors.insert(tensors.end(), cold.outputs.begin(), cold.outputs.end());
  std::uint64_t bytes = 0;
  for (const TensorType& t : tensors) bytes += byte_size(t);
  const auto turns = std::clamp<std::uint64_t>((options_.cold << 20) / bytes, 1, 256);
  std::vector<std::vector<View>> operands(turns);
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    const auto& [type, shape] = tensors[k];
    const std::uint64_t step = (byte_size(tensors[k]) + 255) / 256 * 256;
    const Shape all{static_cast<std::int64_t>(step * turns * 8) / bits(type)};
    const View whole = k < cold.inputs.size() ? random(all, type, cold.low, cold.high) : poisoned(all, type);
    for (std::size_t i = 0; i < turns; ++i) operands[i].emplace_back(whole.buffer, i * step, type, shape);
  }
  const auto call = [&](Stream& s) {
    for (const auto& o : operands) cold.call(s, o);
  };
  measure(cold.name, Unit::bytes, cold.moved * static_cast<double>(byte_size(tensors[0])), call, {}, {},
          static_cast<int>(turns));
}

double KernelBench::estimate(const Work& work, int turns, const Call& call, std::span<const KernelRun> dispatches) {
  if (!device_.is_gpu()) return turns * calibration_.estimate_seconds(work) * 1e3;
  const auto seconds_of = [&](std::span<const KernelRun> all) {
    double seconds = 0;
    for (const KernelRun& d : all) seconds += calibration_.estimate_seconds(d.work);
    return seconds;
  };
  if (!dispatches.empty()) return seconds_of(dispatches) * 1e3;
  gpu::Recording recording(device_.gpu());
  call(recording);
  return seconds_of(recording.dispatches()) * 1e3;
}

void KernelBench::report_estimates() {
  if (errors_.empty()) return;
  const double middle = median(errors_);
  report_.add("cost model's median error", middle, "x", false, {{"device", device_.name()}, {"cases", errors_.size()}},
              std::format("the cost model is off by a median factor of {:.2f} over {} cases", middle, errors_.size()));
}

void add_only_option(CLI::App& app, Options& o, const std::string& names) {
  app.add_option(names, o.only, "Cases whose name holds this, or one of several texts parted by |");
}

void add_kernel_options(CLI::App& app, Options& o, const std::string& only) {
  app.add_option("--families", o.families, "Families of cases, separated by commas; none: all")
      ->delimiter(',')
      ->check(CLI::IsMember(families()));
  add_only_option(app, o, only);
  app.add_option("--mebibytes", o.mebibytes, "Size of the large tensors; below 256 large products are left out")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  add_warm_up_option(app, o.timing);
}

void bench_kernels(const Device& device, const Options& options, Report& report) {
  KernelBench b(device, options, report);
  wake(device);
  for (const auto& [family, cases] : registry()) {
    if (options.families.empty() || std::ranges::count(options.families, family)) cases(b);
  }
  if (report.size() == 0) throw InvalidArgument("no case's name holds '{}'", options.only);
  b.report_estimates();
  if (b.wrong()) throw InternalError("a kernel gave a wrong result (see above)");
}

}  // namespace weft::bench
