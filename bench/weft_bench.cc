// weft_bench: how fast kernels, a sentence encoder and start-up are on a device. Every result is checked in the run
// that is timed; data are random; outputs are poisoned first. docs/performance.md says how its table was made.

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>

#include "weft/cpu.h"
#include "weft/error.h"
#include "weft/kernels.h"
#include "weft/models.h"

namespace {

using namespace weft;
using Clock = std::chrono::steady_clock;
using nlohmann::ordered_json;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

struct Options {
  std::string device, model, only, shapes = "1x16,1x128,32x16,32x128";
  double seconds = 0.3;  // measured time a case
  std::uint64_t mebibytes = 1024;
  bool json = false;
};

void print(const Options& o, const ordered_json& line, const std::string& text) {
  std::printf("%s\n", o.json ? line.dump().c_str() : text.c_str());
  std::fflush(stdout);
}

// ---- Kernels

// A kernel call with its operands; `work` in bytes or FLOP.
struct Case {
  std::string name;
  enum class Unit { bytes, flop } unit;
  double work;
  std::function<void(Stream&)> call;
  std::function<bool()> check;
};

class KernelBench {
 public:
  KernelBench(const Device& device, const Options& options) : device_(device), options_(options) {}

  View random(const Shape& shape, DType type = DType::f32) {
    const auto count = static_cast<std::size_t>(element_count(shape));
    if (random_.size() < std::min<std::size_t>(count, kBlock)) {
      random_.resize(kBlock);
      std::mt19937 rng(7);
      std::uniform_real_distribution<float> uniform(-1, 1);
      for (float& v : random_) v = uniform(rng);
    }
    const Buffer buffer = device_.allocate(byte_size(type, count));
    const auto bytes = std::as_bytes(std::span(random_));
    for (std::uint64_t at = 0; at < buffer.size(); at += bytes.size()) {
      device_.upload(buffer, at, bytes.first(std::min<std::uint64_t>(bytes.size(), byte_size(type, count) - at)));
      if (at + bytes.size() >= byte_size(type, count)) break;
    }
    return View(buffer, 0, type, shape);
  }
  View poisoned(const Shape& shape) {
    const View v(device_.allocate(byte_size(DType::f32, static_cast<std::uint64_t>(element_count(shape)))), 0, DType::f32, shape);
    run([&](Stream& s) { kernels::fill(s, std::numeric_limits<double>::quiet_NaN(), v); }, 1);
    return v;
  }
  std::vector<float> read(const View& view, std::int64_t first, std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    device_.read(view.buffer, view.offset + static_cast<std::uint64_t>(first) * 4, std::as_writable_bytes(std::span(values)));
    return values;
  }

  void run(const std::function<void(Stream&)>& call, int times) {
    if (!device_.is_gpu()) {
      cpu::Executor executor;
      for (int i = 0; i < times; ++i) call(executor);
      return;
    }
    gpu::Recording recording(device_.gpu());
    call(recording);
    gpu::Encoder encoder(device_.gpu());
    for (int i = 0; i < times; ++i) encoder.replay(recording);
    encoder.submit();
    device_.wait();
  }

  void measure(const Case& c) {
    if (!options_.only.empty() && c.name.find(options_.only) == std::string::npos) return;
    run(c.call, 1);
    const bool right = c.check();
    // GPUs raise their clocks only under load: 100 ms of it, which also says how many calls make a sample.
    int warm = 1;
    double per_call = 0;
    for (double total = 0; total < 100;) {
      const auto start = Clock::now();
      run(c.call, warm);
      const double ms = milliseconds_since(start);
      total += ms;
      per_call = ms / warm;
      if (ms < 20) warm *= 2;
    }
    const int calls = std::max(1, static_cast<int>(20 / per_call));
    std::vector<double> samples;
    for (const auto begin = Clock::now(); samples.size() < 3 || milliseconds_since(begin) < options_.seconds * 1e3;) {
      const auto start = Clock::now();
      run(c.call, calls);
      samples.push_back(milliseconds_since(start) / calls);
    }
    const double ms = median(samples);
    const double rate = c.work / (ms * 1e-3);
    const bool bytes = c.unit == Case::Unit::bytes;
    print(options_,
          {{"kernel", c.name}, {"device", device_.name()}, {"ms", ms}, {bytes ? "GB/s" : "TFLOP/s", rate / (bytes ? 1e9 : 1e12)},
           {"right", right}},
          std::format("{:44} {:10.4f} ms {:10.2f} {}{}", c.name, ms, rate / (bytes ? 1e9 : 1e12), bytes ? "GB/s" : "TFLOP/s",
                      right ? "" : "   WRONG RESULT"));
    wrong_ |= !right;
  }

  bool wrong() const { return wrong_; }
  const Device& device() const { return device_; }

 private:
  static constexpr std::size_t kBlock = 1 << 22;
  Device device_;
  const Options& options_;
  std::vector<float> random_;
  bool wrong_ = false;
};

bool close(double got, double expected, double tolerance) {
  return std::abs(got - expected) <= tolerance * std::max(1.0, std::abs(expected));
}

void bench_kernels(const Options& o) {
  KernelBench b(Device::open(o.device), o);
  const std::int64_t count = static_cast<std::int64_t>(o.mebibytes << 20) / 4;
  const std::int64_t columns = 1024, rows = count / columns / 4;
  {
    const View x = b.random({count}), y = b.poisoned({count});
    const auto same = [&] { return b.read(x, count - 1000, 1000) == b.read(y, count - 1000, 1000); };
    const double moved = 8.0 * static_cast<double>(count);
    b.measure({"copy", Case::Unit::bytes, moved, [&](Stream& s) { kernels::copy(s, x, y); }, same});
    b.measure({"relu", Case::Unit::bytes, moved, [&](Stream& s) { kernels::unary(s, ScalarOp::relu, x, y); }, [&] {
                 const auto in = b.read(x, 5, 100), out = b.read(y, 5, 100);
                 for (int i = 0; i < 100; ++i) {
                   if (out[i] != std::max(in[i], 0.0f)) return false;
                 }
                 return true;
               }});
    const std::int64_t side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(count))) / 64 * 64;
    const View xs(x.buffer, 0, DType::f32, {side, side}), ys(y.buffer, 0, DType::f32, {side, side});
    constexpr std::array<int, 2> kTransposed{1, 0};
    b.measure({std::format("transpose [{0}, {0}]", side), Case::Unit::bytes, 8.0 * static_cast<double>(side * side),
               [&](Stream& s) { kernels::copy(s, xs.permuted(kTransposed), ys); },
               [&] { return b.read(xs, side * 3 + 1, 1) == b.read(ys, side + 3, 1); }});
  }
  {
    const View x = b.random({rows, columns}), row = b.random({1, columns}), y = b.poisoned({rows, columns});
    const double moved = 8.0 * static_cast<double>(rows * columns);
    const View scale(row.buffer, 0, DType::f32, {columns});
    const auto last_row = [&] { return b.read(x, (rows - 1) * columns, columns); };
    b.measure({std::format("add row [{}, {}]", rows, columns), Case::Unit::bytes, moved,
               [&](Stream& s) { kernels::binary(s, ScalarOp::add, x, row, y); }, [&] {
                 return close(b.read(y, (rows - 1) * columns + 7, 1)[0], last_row()[7] + b.read(row, 7, 1)[0], 1e-6);
               }});
    b.measure({std::format("softmax [{}, {}]", rows, columns), Case::Unit::bytes, moved,
               [&](Stream& s) { kernels::softmax(s, x, y, -1); }, [&] {
                 const auto in = last_row(), out = b.read(y, (rows - 1) * columns, columns);
                 double sum = 0;
                 for (float v : in) sum += std::exp(double{v});
                 return close(out[7], std::exp(double{in[7]}) / sum, 1e-6);
               }});
    b.measure({std::format("layer norm [{}, {}]", rows, columns), Case::Unit::bytes, moved,
               [&](Stream& s) { kernels::layer_norm(s, x, scale, scale, y, 1, 1e-5f); }, [&] {
                 const auto in = last_row(), out = b.read(y, (rows - 1) * columns, columns);
                 double mean = 0, variance = 0;
                 for (float v : in) mean += v / static_cast<double>(columns);
                 for (float v : in) variance += (v - mean) * (v - mean) / static_cast<double>(columns);
                 const double w = b.read(row, 7, 1)[0];
                 return close(out[7], (in[7] - mean) / std::sqrt(variance + 1e-5) * w + w, 1e-5);
               }});
    const View sums = b.poisoned({rows, 1});
    constexpr std::array<int, 1> kLast{1};
    b.measure({std::format("sum of rows [{}, {}]", rows, columns), Case::Unit::bytes, moved / 2,
               [&](Stream& s) { kernels::reduce(s, ReduceOp::sum, x, sums, kLast); }, [&] {
                 double sum = 0;
                 for (float v : last_row()) sum += v;
                 return close(b.read(sums, rows - 1, 1)[0], sum, 1e-4);
               }});
  }
  struct Product {
    std::int64_t m, n, k;
  };
  std::vector<Product> products = {{1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 4096, 4096}};
  for (std::int64_t tokens : {16, 128, 4096, 32768}) {
    for (const auto& [n, k] : {std::pair<std::int64_t, std::int64_t>{1152, 384}, {384, 384}, {1536, 384}, {384, 1536}}) {
      products.push_back({tokens, n, k});
    }
  }
  for (const auto& [m, n, k] : products) {
    const double flop = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    // Software devices and CPUs would take minutes for what a GPU does in one.
    if (o.mebibytes < 1024 && flop > 2e10) continue;
    const View a = b.random({m, k}), w = b.random({n, k}), y = b.poisoned({m, n});
    constexpr std::array<int, 2> kTransposed{1, 0};
    const View bt = w.permuted(kTransposed);
    const std::uint64_t scratch = [&] {
      std::uint64_t bytes = 0;
      b.run([&](Stream& s) { bytes = kernels::matmul_workspace(s, a, bt, y); }, 0);
      if (b.device().is_gpu()) {
        gpu::Encoder encoder(b.device().gpu());
        bytes = kernels::matmul_workspace(encoder, a, bt, y);
      }
      return bytes;
    }();
    std::optional<View> workspace;
    if (scratch) workspace = View(b.device().allocate(scratch), 0, DType::u8, {static_cast<std::int64_t>(scratch)});
    b.measure({std::format("matmul f32 [{}, {}] x [{}, {}]T", m, k, n, k), Case::Unit::flop, flop,
               [&](Stream& s) { kernels::matmul(s, a, bt, y, {}, workspace); }, [&] {
                 const std::int64_t i = m - 1, j = n / 2 + 1;
                 const auto ra = b.read(a, i * k, k), rw = b.read(w, j * k, k);
                 double sum = 0;
                 for (std::int64_t t = 0; t < k; ++t) sum += double{ra[t]} * rw[t];
                 return close(b.read(y, i * n + j, 1)[0], sum, 1e-4);
               }});
  }
  if (b.wrong()) throw InternalError("a kernel gave a wrong result (see above)");
}

// ---- A sentence encoder: ids in, embeddings out

void bench_encoder(const Options& o) {
  const Device device = Device::open(o.device);
  auto encoder = models::SentenceEncoder::load(o.model, device);
  std::mt19937 rng(7);
  for (std::size_t at = 0; at < o.shapes.size();) {
    const std::size_t comma = std::min(o.shapes.find(',', at), o.shapes.size());
    int batch = 0, length = 0;
    const std::string shape = o.shapes.substr(at, comma - at);
    if (std::sscanf(shape.c_str(), "%dx%d", &batch, &length) != 2 || batch < 1 || length < 1) {
      throw InvalidArgument("--shapes: '{}'; expected batch x length, such as 32x128", shape);
    }
    at = comma + 1;
    Executable exe = encoder.executable(batch, length);
    DeviceTensor ids(device, DType::i32, {batch, length}), lengths(device, DType::i32, {batch});
    const DeviceTensor out(device, DType::f32, {batch, encoder.dimension()});
    std::vector<std::int32_t> host_ids(static_cast<std::size_t>(batch) * length);
    std::uniform_int_distribution<std::int32_t> tokens(1000, encoder.tokenizer().vocab_size() - 1);
    for (auto& id : host_ids) id = tokens(rng);
    const std::vector<std::int32_t> host_lengths(static_cast<std::size_t>(batch), length);
    lengths.write(std::as_bytes(std::span(host_lengths)));
    std::vector<float> result;
    const auto call = [&] {
      ids.write(std::as_bytes(std::span(host_ids)));
      exe.run({{"ids", ids}, {"lengths", lengths}}, {{"embeddings", out}});
      result = out.read<float>();
    };
    for (const auto begin = Clock::now(); milliseconds_since(begin) < 200;) call();
    std::vector<double> samples;
    for (const auto begin = Clock::now();
         samples.size() < 3 || (milliseconds_since(begin) < o.seconds * 1e3 && samples.size() < 500);) {
      const auto start = Clock::now();
      call();
      samples.push_back(milliseconds_since(start));
    }
    double norm = 0;
    for (int i = 0; i < encoder.dimension(); ++i) norm += double{result[i]} * result[i];
    const double ms = median(samples);
    print(o,
          {{"device", device.name()}, {"batch", batch}, {"length", length}, {"ms", ms}, {"runs", samples.size()},
           {"steps", exe.report().steps.size()}, {"planned_bytes", exe.report().planned_bytes}},
          std::format("{:32} {:4} x {:4} {:10.3f} ms {:10.0f} sentences/s   {} steps", device.name(), batch, length, ms,
                      1e3 * batch / ms, exe.report().steps.size()));
    if (!close(norm, 1, 1e-3)) throw InternalError("batch {} x {}: an embedding's squared norm is {}, expected 1", batch, length, norm);
  }
}

// ---- The first vector, whole process

void bench_start(const Options& o, const std::string& program) {
  const auto once = [&](bool cold) {
    const std::string cache = std::filesystem::temp_directory_path() / "weft-bench-cache";
    if (cold) std::filesystem::remove_all(cache);
    const std::string command = std::format(
        "echo 'One sentence.' | WEFT_CACHE_DIR='{}' '{}' embed --quiet --model '{}' {} - >/dev/null", cache, program, o.model,
        o.device.empty() ? "" : "--device '" + o.device + "'");
    const auto start = Clock::now();
    if (std::system(command.c_str()) != 0) throw InternalError("it failed: {}", command);
    return milliseconds_since(start);
  };
  const double cold = once(true);
  std::vector<double> warm;
  for (int i = 0; i < 5; ++i) warm.push_back(once(false));
  print(o, {{"device", o.device}, {"cold_ms", cold}, {"warm_ms", median(warm)}},
        std::format("first vector, whole process: cold {:.0f} ms, warm {:.0f} ms", cold, median(warm)));
}

}  // namespace

int main(int argc, char** argv) try {
  Options o;
  if (const char* model = std::getenv("WEFT_MODEL_DIR")) o.model = model;
  CLI::App app("Measures Weft on a device. Every result is checked in the run that is timed.", "weft_bench");
  app.require_subcommand(0, 1);
  app.fallthrough();
  app.add_option("--device", o.device, "cpu, gpu, or an adapter's number, backend or part of its name; none: the best");
  app.add_option("--seconds", o.seconds, "Measured time a case")->capture_default_str();
  app.add_flag("--json", o.json, "A JSON line a result");
  CLI::App* kernels = app.add_subcommand("kernels", "Single kernels: GB/s and TFLOP/s");
  kernels->add_option("--only", o.only, "Cases whose name holds this");
  kernels->add_option("--mebibytes", o.mebibytes, "Size of the large tensors; below 1024 large products are left out")
      ->capture_default_str();
  CLI::App* encoder = app.add_subcommand("encoder", "A sentence encoder: ids in, embeddings out");
  encoder->add_option("--model", o.model, "Directory of the model [WEFT_MODEL_DIR]");
  encoder->add_option("--shapes", o.shapes, "batch x length, separated by commas")->capture_default_str();
  CLI::App* start = app.add_subcommand("start", "The first vector of a new process, cold and warm");
  std::string program = (std::filesystem::path(argv[0]).parent_path() / "../apps/weft").lexically_normal();
  start->add_option("--program", program, "The weft command line")->capture_default_str();
  start->add_option("--model", o.model, "Directory of the model [WEFT_MODEL_DIR]");
  app.footer("Examples\n  weft_bench encoder --device cpu --shapes 32x128\n  weft_bench kernels --only softmax\n"
             "Against other libraries in the same run: ./dev bench peers --help\n");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  const bool all = app.get_subcommands().empty();
  if (all || *kernels) {
    if (all) o.mebibytes = Device::open(o.device).is_gpu() ? o.mebibytes : 64;
    bench_kernels(o);
  }
  if ((all || *encoder || *start) && o.model.empty()) throw InvalidArgument("--model DIR is missing (or WEFT_MODEL_DIR)");
  if (all || *encoder) bench_encoder(o);
  if (all || *start) bench_start(o, program);
} catch (const std::exception& e) {
  std::fprintf(stderr, "weft_bench: %s\n", e.what());
  return 1;
}
