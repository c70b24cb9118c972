// A sentence encoder: from ids to embeddings; and the time to the first vector of a new process.
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "bench.h"
#include "core/format.h"
#include "weft/error.h"
#include "weft/models.h"

namespace weft::bench {
void bench_encoder(const Options& o, Report& report) {
  const Device device = Device::open(o.device);
  models::EmbedOptions load;
  load.compile.precision = o.precision == "f16"    ? Precision::f16
                           : o.precision == "auto" ? Precision::automatic
                                                   : Precision::strict;
  auto encoder = models::SentenceEncoder::load(o.model, device, load);
  std::mt19937 rng(7);
  for (std::size_t at = 0; at < o.shapes.size();) {
    const std::size_t comma = std::min(o.shapes.find(',', at), o.shapes.size());
    int batch = 0, length = 0;
    const std::string shape = o.shapes.substr(at, comma - at);
    const char* const end = shape.data() + shape.size();
    const auto [cross, bad_batch] = std::from_chars(shape.data(), end, batch);
    const auto [rest, bad_length] = std::from_chars(std::min(cross + 1, end), end, length);
    if (bad_batch != std::errc() || bad_length != std::errc() || *cross != 'x' || rest != end || batch < 1 ||
        length < 1) {
      throw InvalidArgument("--shapes: '{}'; expected batch x length, such as 32x128", shape);
    }
    at = comma + 1;
    Executable exe = encoder.executable(batch, length);
    Tensor ids(device, DType::i32, {batch, length}), lengths(device, DType::i32, {batch});
    const Tensor out(device, DType::f32, {batch, encoder.dimension()});
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
    // A GPU lowers its clock while the host compiles, and takes a while to raise it.
    for (const auto begin = Clock::now(); seconds_since(begin) < 0.5;) call();
    std::vector<double> samples;
    for (const auto begin = Clock::now();
         samples.size() < 3 || (seconds_since(begin) < o.timing.seconds && samples.size() < 500);) {
      const auto start = Clock::now();
      call();
      samples.push_back(seconds_since(start) * 1e3);
    }
    double norm = 0;
    for (int i = 0; i < encoder.dimension(); ++i) norm += double{result[i]} * result[i];
    const double ms = median(samples);
    report.add(std::format("encoder {} {}x{}", o.precision == "strict" ? "f32" : o.precision, batch, length), ms, "ms",
               false,
               {{"device", device.name()},
                {"batch", batch},
                {"length", length},
                {"ms", ms},
                {"runs", samples.size()},
                {"steps", exe.report().steps.size()},
                {"planned_bytes", exe.report().planned_bytes}},
               std::format("{:32} {:4} x {:4} {:10.3f} ms {:10.0f} sentences/s   {} steps", device.name(), batch,
                           length, ms, 1e3 * batch / ms, exe.report().steps.size()));
    if (!close(norm, 1, 1e-3)) {
      throw InternalError("batch {} x {}: an embedding's squared norm is {}, expected 1", batch, length, norm);
    }
  }
}

void bench_start(const Options& o, Report& report, const std::string& program) {
  const auto once = [&](bool cold) {
    const std::string cache = std::filesystem::temp_directory_path() / "weft-bench-cache";
    if (cold) std::filesystem::remove_all(cache);
    const std::string command =
        std::format("echo 'One sentence.' | WEFT_CACHE_DIR='{}' '{}' embed --quiet --model '{}' {} - >/dev/null", cache,
                    program, o.model, o.device.empty() ? "" : "--device '" + o.device + "'");
    const auto start = Clock::now();
    if (std::system(command.c_str()) != 0) throw InternalError("it failed: {}", command);
    return seconds_since(start) * 1e3;
  };
  const double cold = once(true);
  std::vector<double> warm;
  for (int i = 0; i < 5; ++i) warm.push_back(once(false));
  report.add("first vector, cold", cold, "ms", false, {{"device", o.device}},
             std::format("first vector, whole process, empty cache: {:.0f} ms", cold));
  report.add("first vector, warm", median(warm), "ms", false, {{"device", o.device}},
             std::format("first vector, whole process, warm cache: {:.0f} ms", median(warm)));
}

}  // namespace weft::bench
