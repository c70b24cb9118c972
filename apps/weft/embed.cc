// weft embed: sentences in, vectors out.

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <future>
#include <optional>

#include "commands.h"
#include "dtype.h"
#include "gpu/device_impl.h"
#include "output.h"
#include "sentences.h"
#include "weft/error.h"
#include "weft/flags.h"
#include "weft/log.h"
#include "weft/models.h"

namespace weft::app {
namespace {

struct EmbedArguments : SentenceArguments {
  std::string device, output = "-", dtype;
  int batch = 32;
  bool quiet = false;
};

// Vectors to JSON lines or .npy, in order.
class VectorWriter {
 public:
  // `advice`: what to try if values are not finite.
  VectorWriter(const std::string& path, int dimension, std::string advice)
      : out_(path), npy_(path.ends_with(".npy")), dimension_(dimension), advice_(std::move(advice)) {
    if (npy_) out_.write(npy_header());
  }

  void write(std::span<const float> rows) {
    const auto bad = std::ranges::find_if(rows, [](float v) { return !std::isfinite(v); });
    if (bad != rows.end()) {
      const auto row = static_cast<std::uint64_t>((bad - rows.begin()) / dimension_);
      throw InvalidArgument("sentence {} of the input: its vector holds {}; the model's weights hold such numbers, or "
                            "make them{}", count_ + row + 1, *bad, advice_);
    }
    count_ += rows.size() / static_cast<std::size_t>(dimension_);
    if (npy_) return out_.write({reinterpret_cast<const char*>(rows.data()), rows.size_bytes()});
    for (std::size_t begin = 0; begin < rows.size(); begin += static_cast<std::size_t>(dimension_)) {
      line_ = "{\"embedding\": [";
      for (int i = 0; i < dimension_; ++i) {
        char digits[32];
        const auto end = std::to_chars(digits, digits + sizeof digits, rows[begin + static_cast<std::size_t>(i)]).ptr;
        if (i) line_ += ", ";
        line_.append(digits, end);
      }
      line_ += "]}\n";
      out_.write(line_);
    }
    out_.flush();
  }

  void commit() {
    if (npy_) out_.rewrite_head(npy_header());
    out_.commit();
  }

 private:
  // NumPy's format 1.0: 128 bytes, so that the count can be filled in at the end.
  std::string npy_header() const {
    std::string head =
        std::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", count_, dimension_);
    head.resize(128 - 10 - 1, ' ');
    head += '\n';
    return std::string("\x93NUMPY\x01\x00", 8) + std::string("\x76\x00", 2) + head;
  }

  Output out_;
  bool npy_;
  int dimension_;
  std::string advice_;
  std::uint64_t count_ = 0;
  std::string line_;
};

void run(const EmbedArguments& a) {
  // A window of sentences is sorted by length and runs as batches; while the device works on one window, the vectors of
  // the last one are written.
  const auto window = static_cast<std::size_t>(a.batch) * 16;
  SentenceQueue sentences(a.input, 2 * window);
  CompileOptions options;
  options.precision = precision_of(a.dtype);
  // Initialising the driver takes as long as loading the model: both run in parallel.
  auto opening = std::async(std::launch::async, [&] { return Device::open(a.device); });
  auto encoder = models::SentenceEncoder::load(a.model, std::move(opening),
                                               {.batch = a.batch, .progress = {}, .compile = options});
  if (!a.quiet) std::fprintf(stderr, "weft: %s\n", encoder.device().reason().c_str());
  VectorWriter writer(a.output, encoder.dimension(),
                      options.precision == Precision::f16 ? " in f16: try --dtype auto or f32" : "");
  Progress progress("embed", sentences.total(), !a.quiet && !(a.output == "-" && isatty(STDOUT_FILENO)));

  std::uint64_t done = 0;
  std::optional<Tensor> running;
  const auto finish = [&] {
    if (!running) return;
    writer.write(running->read<float>());
    log_mark("vectors are written");
    done += static_cast<std::uint64_t>(running->shape()[0]);
    progress.update(sentences.position(), done);
    running.reset();
  };
  for (std::vector<std::string> next; !(next = sentences.take(window)).empty();) {
    Tensor vectors = encoder.embed(next);
    finish();
    running = std::move(vectors);
    if (next.size() < window) finish();  // the input has ended or paused: write these vectors now
  }
  finish();
  writer.commit();
  // Dawn stores new pipelines in the cache only when the device is destroyed.
  const gpu::DiskCache* cache = encoder.device().is_gpu() ? encoder.device().gpu().impl().cache : nullptr;
  // A profile of the program is written at its ordinary end.
  const bool profiled = !flag_text(Flag::profile_to).empty();
  if (!profiled && (!cache || cache->figures().stores == 0)) leave();
}

}  // namespace

void add_embed(CLI::App& app) {
  auto a = std::make_shared<EmbedArguments>();
  CLI::App* command = app.add_subcommand("embed", "Turn sentences into vectors");
  add_sentence_arguments(*command, *a);
  command->add_option("-o,--output", a->output, "'-': JSON lines to standard output; FILE.npy: NumPy; else JSON lines")
      ->capture_default_str();
  command->add_option("--device", a->device,
                      "cpu, gpu, or an adapter's number, backend or part of its name (weft devices lists them); "
                      "none: the best GPU, else the cpu");
  add_dtype(*command, a->dtype);
  command->add_option("--batch", a->batch, "Sentences that run together")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  command->add_flag("-q,--quiet", a->quiet, "No word on standard error unless something fails");
  command->footer(std::string(kInputHelp) +
                  "A line of output is {\"embedding\": [0.1, …]}, in the order of the sentences.\n\n"
                  "Examples\n"
                  "  weft embed --model MODEL notes.txt > vectors.jsonl\n"
                  "  weft embed --model MODEL --output vectors.npy --device cpu notes.txt\n"
                  "  echo 'One sentence.' | weft embed --model MODEL -\n");
  command->callback([a] { run(*a); });
}

}  // namespace weft::app
