// weft embed: sentences in, vectors out.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <format>
#include <functional>
#include <future>
#include <memory>
#include <optional>

#include "command_line.h"
#include "commands.h"
#include "core/in_quotes.h"
#include "gpu/device_impl.h"
#include "onnx_sentences.h"
#include "sentences.h"
#include "vector_writer.h"
#include "weft/error.h"
#include "weft/flags.h"
#include "weft/log.h"
#include "weft/models.h"

namespace weft::app {
namespace {

struct EmbedArguments : SentenceArguments {
  std::string output = "-";
  int batch = 32;
  bool quiet = false;
};

// Sentences on their way through the device.
struct Window {
  std::uint64_t sentences = 0;
  std::uint64_t begin = 0, end = 0;  // in the input, bytes
};

// The device that a thread opens.
Future<Device> open_on_a_thread() {
  struct Opening final : Completion {
    std::shared_future<Device> device = std::async(std::launch::async, [] { return Device::open(); });
    bool ready() override { return device.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }
    void wait() override { device.wait(); }
    void when_ready(std::function<void()> callback) override {
      wait();
      callback();
    }
  };
  const auto opening = std::make_shared<Opening>();
  return {opening, [opening] { return opening->device.get(); }};
}

void run(const EmbedArguments& a) {
  refuse_dispatch_only("vectors");
  if (!a.quiet) say_if_typed(a.input);
  // A window of sentences is sorted by length and runs as batches; while the device works on one window, the vectors of
  // the last one are written.
  constexpr std::size_t kMostSentences = 16384;  // whose vectors are in memory at a time
  const std::size_t size = std::min(static_cast<std::size_t>(a.batch) * 16, kMostSentences);
  SentenceQueue sentences(a, 2 * size);
  // Neither vectors nor what is typed share the terminal with it.
  const bool alone = !(a.output == "-" && isatty(STDOUT_FILENO)) && !is_typed(a.input);
  Progress progress("embed", sentences.total(), !a.quiet && alone);

  std::uint64_t done = 0;  // sentences, before the window that is embedded
  Window window;
  const auto batch_done = [&](std::size_t count) {
    const std::uint64_t part = (window.end - window.begin) * count / window.sentences;
    progress.update(window.begin + part, done + count);
  };
  const auto embed = [&](auto& encoder) {
    if (!a.quiet) progress.say(encoder.device().reason());
    if (const std::string& prompt = encoder.tokenizer().prompt(); !a.quiet && !prompt.empty()) {
      progress.say(std::format("{} comes before each sentence, as --prompt or the model says", in_quotes(prompt)));
    }
    VectorWriter writer(a.output, encoder.dimension(),
                        flag_text(Flag::precision) == "f16" ? " in f16: try --precision auto or strict" : "");
    progress.begin();

    std::size_t all_cut = 0;
    std::optional<Tensor> running;
    std::uint64_t running_end = 0;
    const auto finish = [&] {
      if (!running) return;
      writer.write(running->read<float>());
      log_mark("vectors are written");
      progress.update(running_end, done);
      running.reset();
    };
    for (std::vector<std::string> next; !(next = sentences.take(size)).empty();) {
      window = {.sentences = next.size(), .begin = window.end, .end = sentences.position()};
      std::size_t cut = 0;
      const std::vector<text::Ids> ids = encoder.tokenizer().encode_batch(next, &cut);
      Tensor vectors = encoder.embed_ids(ids);
      all_cut += cut;
      finish();
      running = std::move(vectors);
      running_end = window.end;
      done += next.size();
      if (next.size() < size) finish();  // the input has ended or paused: write these vectors now
    }
    finish();
    writer.commit();
    progress.end();
    if (!a.quiet) sentences.report(all_cut, encoder.tokenizer().max_length());
    // Dawn stores new pipelines in the cache only when the device is destroyed.
    const gpu::DiskCache* cache = encoder.device().is_gpu() ? encoder.device().gpu().impl().cache : nullptr;
    // A profile of the program is written at its ordinary end.
    const bool profiled = !flag_text(Flag::profile_to).empty();
    if (!profiled && (!cache || cache->figures().stores == 0)) leave();
  };
  if (const auto file = find_onnx(a.model)) {
    OnnxSentences encoder(*file, Device::open(), a.batch, a.prompt, batch_done);
    embed(encoder);
    return;
  }
  // Initialising the driver takes as long as loading the model: both run in parallel.
  auto encoder = models::SentenceEncoder::load(a.model, open_on_a_thread(),
                                               {.batch = a.batch, .progress = batch_done, .prompt = a.prompt});
  embed(encoder);
}

std::string check_output(const std::string& path) {
  try {
    vector_format(path);
    return {};
  } catch (const InvalidArgument& e) {
    return e.what();
  }
}

}  // namespace

void add_embed(CLI::App& app) {
  auto a = std::make_shared<EmbedArguments>();
  CLI::App* command = app.add_subcommand("embed", "Turn sentences into vectors");
  add_sentence_arguments(*command, *a);
  command
      ->add_option("-o,--output", a->output,
                   "'-': JSON lines to standard output; FILE.npy: NumPy; FILE.safetensors: the tensor \"embeddings\"; "
                   "FILE.jsonl: JSON lines")
      ->check(check_path)
      ->check(check_output)
      ->capture_default_str();
  add_device(*command);
  add_precision(*command);
  command->add_option("--batch", a->batch, "Sentences that run together, at most: long ones are fewer")
      ->check(whole_number(1, 65536))
      ->capture_default_str();
  command->add_flag("-q,--quiet", a->quiet, "No word on standard error unless something fails");
  command->footer(std::string(kInputHelp) +
                  "A line of output is {\"embedding\": [0.1, …]}, in the order of the sentences.\n\n"
                  "Examples\n"
                  "  weft embed --model MODEL notes.txt > vectors.jsonl\n"
                  "  weft embed --model MODEL --output vectors.npy --device cpu notes.txt\n"
                  "  weft embed --model all-MiniLM-L6-v2/onnx/model.onnx notes.txt\n"
                  "  echo 'One sentence.' | weft embed --model MODEL -\n");
  command->callback([a] { run(*a); });
}

}  // namespace weft::app
