// weft profile: times every kernel call.

#include <cstdio>
#include <filesystem>
#include <optional>
#include <random>

#include "commands.h"
#include "dtype.h"
#include "output.h"
#include "sentences.h"
#include "weft/error.h"
#include "weft/models.h"
#include "weft/profile_report.h"

namespace weft::app {
namespace {

struct ProfileArguments : SentenceArguments {
  std::string device, dtype, trace, html;
  int runs = 10, batch = 32, length = 32;
  bool json = false, all = false, dispatches = false;
};

std::string is_file(const std::string& path) {
  return path == "-" ? "'-' is where the table or the JSON goes; name a file" : "";
}

void add_common(CLI::App& command, ProfileArguments& a) {
  command.add_option("--device", a.device, "cpu, gpu, or an adapter's number, backend or part of its name");
  add_dtype(command, a.dtype);
  command.add_option("--batch", a.batch, "Sentences that run together")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  command.add_option("--runs", a.runs, "How often it runs while it is profiled, after a run to warm up")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  command.add_option("--trace", a.trace, "Write a trace for ui.perfetto.dev or chrome://tracing to this file")
      ->check(is_file);
  command.add_option("--html", a.html, "Write a page with timeline, roofline and memory to this file")
      ->check(is_file);
  command.add_flag("--json", a.json, "Write JSON instead of the table");
  command.add_flag("--dispatches", a.dispatches,
                   "List every dispatch of a run, too: grid, bytes, operations, form and why");
  command.add_flag("--all", a.all, "All rows, not the 30 that take most time");
}

std::string model_name(const std::string& directory) {
  return std::filesystem::weakly_canonical(directory).filename().string();
}

// The requested files, opened before the work, so that a name that cannot be written costs no time.
struct Files {
  explicit Files(const ProfileArguments& a) {
    if (!a.trace.empty()) trace.emplace(a.trace);
    if (!a.html.empty()) page.emplace(a.html);
  }
  std::optional<Output> trace, page;
};

models::EmbedOptions options_of(const ProfileArguments& a) {
  models::EmbedOptions options;
  options.batch = a.batch;
  options.compile.precision = precision_of(a.dtype);
  return options;
}

// Returns nothing, with a warning, if calibration needs more than the device has: the profile is useful without it.
Calibration limits_of(const Device& device) {
  try {
    return Calibration::load_or_measure(device);
  } catch (const Error& e) {
    std::fprintf(stderr, "weft: the profile is without limits, since the device could not be measured: %s\n", e.what());
    return {};
  }
}

void report(const ProfileArguments& a, Files& files, Profile profile, const Device& device, std::string title,
            std::optional<CompileReport> compiled = {}) {
  ProfileReport r = make_report(std::move(profile), limits_of(device), std::move(title), a.runs);
  r.compiled = std::move(compiled);
  r.dispatches = a.dispatches;
  Output out("-");
  out.write(a.json ? profile_json(r) : profile_table(r, a.all ? 0 : 30));
  out.commit();
  const auto write = [](std::optional<Output>& file, const std::string& path, auto&& text) {
    if (!file) return;
    file->write(text());
    file->commit();
    std::fprintf(stderr, "weft: %s written\n", path.c_str());
  };
  write(files.trace, a.trace, [&] { return chrome_trace(r.profile); });
  write(files.page, a.html, [&] { return profile_page(r); });
}

void profile_embed(const ProfileArguments& a) {
  Files files(a);
  const Device device = Device::open(a.device);
  auto encoder = models::SentenceEncoder::load(a.model, device, options_of(a));
  SentenceQueue queue(a.input, 1 << 20);
  std::vector<std::string> sentences;
  for (std::vector<std::string> next; !(next = queue.take(1 << 16)).empty();) {
    sentences.insert(sentences.end(), next.begin(), next.end());
  }
  if (sentences.empty()) throw InvalidArgument("there is no sentence to profile");
  encoder.embed(sentences).read<float>();
  Profiler profiler(device);
  for (int i = 0; i < a.runs; ++i) {
    std::vector<text::Ids> ids;
    Tensor vectors;
    profiler.span("tokenize", [&] { ids = encoder.tokenizer().encode_batch(sentences); });
    profiler.span("embed", [&] { vectors = encoder.embed_ids(ids); });
    profiler.span("read back", [&] { vectors.read<float>(); });
  }
  report(a, files, profiler.finish(), device,
         std::format("{}: {} sentence{} in batches of {}", model_name(a.model), sentences.size(),
                     sentences.size() == 1 ? "" : "s", a.batch));
}

void profile_graph(const ProfileArguments& a) {
  Files files(a);
  const Device device = Device::open(a.device);
  auto encoder = models::SentenceEncoder::load(a.model, device, options_of(a));
  Executable exe = encoder.executable(a.batch, a.length);
  Tensor ids(device, DType::i32, {a.batch, a.length}), lengths(device, DType::i32, {a.batch});
  const Tensor result(device, DType::f32, {a.batch, encoder.dimension()});
  std::vector<std::int32_t> host_ids(static_cast<std::size_t>(a.batch) * a.length);
  std::mt19937 rng(7);
  for (auto& id : host_ids) {
    id = static_cast<std::int32_t>(rng() % static_cast<unsigned>(encoder.tokenizer().vocab_size()));
  }
  const std::vector<std::int32_t> host_lengths(static_cast<std::size_t>(a.batch), a.length);
  using Span = std::function<void(const char*, const std::function<void()>&)>;
  const auto run = [&](const Span& span) {
    span("upload", [&] {
      ids.write(std::as_bytes(std::span(host_ids)));
      lengths.write(std::as_bytes(std::span(host_lengths)));
    });
    span("run", [&] { exe.run({{"ids", ids}, {"lengths", lengths}}, {{"embeddings", result}}); });
    span("read back", [&] { result.read<float>(); });
  };
  for (int i = 0; i < 3; ++i) run([](const char*, const std::function<void()>& work) { work(); });
  Profiler profiler(device);
  for (int i = 0; i < a.runs; ++i) {
    run([&](const char* name, const std::function<void()>& work) { profiler.span(name, work); });
  }
  report(a, files, profiler.finish(), device,
         std::format("{}: {} × {} tokens", model_name(a.model), a.batch, a.length), exe.report());
}

}  // namespace

void add_profile(CLI::App& app) {
  CLI::App* command = app.add_subcommand("profile", "Time every kernel: table, trace, page");
  command->require_subcommand(1);
  auto a = std::make_shared<ProfileArguments>();
  CLI::App* embed = command->add_subcommand("embed", "Sentences through a model");
  add_sentence_arguments(*embed, *a);
  add_common(*embed, *a);
  embed->footer(std::string(kInputHelp) +
                "\nExample: weft profile embed --model MODEL --html profile.html notes.txt\n");
  embed->callback([a] { profile_embed(*a); });
  CLI::App* graph = command->add_subcommand("graph", "A model's graph on random tokens of one shape");
  graph->add_option("MODEL", a->model, "Directory in Hugging Face's layout")->required();
  add_common(*graph, *a);
  graph->add_option("--length", a->length, "Tokens a sentence")->check(CLI::Range(1, 65536))->capture_default_str();
  graph->footer("Example: weft profile graph MODEL --batch 32 --length 128 --trace trace.json\n");
  graph->callback([a] { profile_graph(*a); });
  command->footer("The column 'limit' compares with what this device was measured to do: weft devices --calibrate.\n");
}

}  // namespace weft::app
