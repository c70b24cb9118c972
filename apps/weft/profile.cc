// weft profile: times every kernel call, of a model or of any program that uses Weft.

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <random>

#include "command_line.h"
#include "commands.h"
#include "core/format.h"
#include "core/suffix.h"
#include "graph/graph.h"
#include "model_inputs.h"
#include "onnx_sentences.h"
#include "output.h"
#include "profile_output.h"
#include "sentences.h"
#include "weft/error.h"
#include "weft/flags.h"
#include "weft/graph_file.h"
#include "weft/models.h"
#include "weft/onnx.h"
#include "weft/profile_report.h"

namespace weft::app {
namespace {

struct ProfileArguments : SentenceArguments, ReportArguments {
  std::vector<std::string> program;  // and its arguments
  std::string fallback;
  int batch = 32, length = 32;
  InputArguments inputs;  // of a model of ONNX
};

void add_common(CLI::App& command, ProfileArguments& a) {
  add_device(command);
  add_precision(command);
  command.add_option("--batch", a.batch, "Sentences that run together, at most: long ones are fewer")
      ->check(whole_number(1, 65536))
      ->capture_default_str();
  command.add_option("--runs", a.runs, "How often it runs while it is profiled, after a run to warm up")
      ->check(whole_number(1, 10000))
      ->capture_default_str();
  add_report_options(command, a);
}

std::string model_name(const std::string& directory) {
  return std::filesystem::weakly_canonical(directory).filename().string();
}

void profile_embed(const ProfileArguments& a) {
  ReportFiles files(a);
  if (find_onnx(a.model)) {
    throw InvalidArgument("{} is in ONNX's format: weft run {} --text … --profile profiles it", a.model, a.model);
  }
  say_if_typed(a.input);
  SentenceQueue queue(a, 1 << 20);
  const Device device = Device::open();
  auto encoder = models::SentenceEncoder::load(a.model, device, {.batch = a.batch, .prompt = a.prompt});
  std::vector<std::string> sentences;
  for (std::vector<std::string> next; !(next = queue.take(1 << 16)).empty();) {
    sentences.insert(sentences.end(), next.begin(), next.end());
  }
  if (sentences.empty()) throw InvalidArgument("there is no sentence to profile");
  std::size_t cut = 0;
  encoder.embed_ids(encoder.tokenizer().encode_batch(sentences, &cut)).read<float>();
  queue.report(cut, encoder.tokenizer().max_length());
  // Every shape has the same weights.
  const std::uint64_t weights = encoder.executable(1, 8).report().constant_bytes;
  Profiler profiler(device);
  for (int i = 0; i < a.runs; ++i) {
    std::vector<text::Ids> ids;
    Tensor vectors;
    profiler.span("tokenize", [&] { ids = encoder.tokenizer().encode_batch(sentences); });
    profiler.span("embed", [&] { vectors = encoder.embed_ids(ids); });
    profiler.span("read back", [&] { vectors.read<float>(); });
  }
  write_report(a, files, profiler.finish(), device,
               std::format("{}: {} sentence{} in batches of {}", model_name(a.model), sentences.size(),
                           sentences.size() == 1 ? "" : "s", a.batch),
               {}, weights);
}

void profile_graph(const ProfileArguments& a) {
  ReportFiles files(a);
  const Device device = Device::open();
  auto encoder = models::SentenceEncoder::load(a.model, device, {.batch = a.batch, .tokenizer = false});
  Executable exe = encoder.executable(a.batch, a.length);
  Tensor ids(device, DType::i32, {a.batch, a.length}), lengths(device, DType::i32, {a.batch});
  const Tensor result(device, DType::f32, {a.batch, encoder.dimension()});
  std::vector<std::int32_t> host_ids(static_cast<std::size_t>(a.batch) * a.length);
  std::mt19937 rng(7);
  for (auto& id : host_ids) {
    id = static_cast<std::int32_t>(rng() % static_cast<unsigned>(encoder.vocabulary()));
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
  write_report(a, files, profiler.finish(), device,
               std::format("{}: {} × {} tokens", model_name(a.model), a.batch, a.length), exe.report());
}

// Values for an input of any graph: floats between -1 and 1, integers and booleans 0 and 1, which are good indices.
std::vector<std::byte> some_values(const TensorType& type, std::mt19937& rng) {
  std::vector<std::byte> bytes(byte_size(type));
  const auto width = static_cast<std::size_t>(bits(type.dtype) / 8);
  if (width == 0) {  // several elements a byte
    for (std::byte& b : bytes) b = static_cast<std::byte>(rng());
    return bytes;
  }
  const bool floats = is_floating(type.dtype) || type.dtype == DType::c64;
  for (std::size_t at = 0; at < bytes.size(); at += width) {
    const std::uint64_t element =
        (floats ? Number(static_cast<double>(rng()) / 0x1p31 - 1) : Number(rng() % 2)).bits(type.dtype);
    for (std::size_t k = 0; k < width; ++k) bytes[at + k] = static_cast<std::byte>(element >> (8 * k));
  }
  return bytes;
}

void profile_graph_file(const ProfileArguments& a) {
  ReportFiles files(a);
  const Device device = Device::open();
  const Graph graph = load_graph_file(a.model, a.inputs);
  Executable exe = compile(graph, device);
  std::mt19937 rng(7);
  std::vector<std::pair<Tensor, std::vector<std::byte>>> inputs;
  std::vector<Tensor> given, results;
  for (const GraphPort& input : graph.impl().inputs) {
    const TensorType& type = input.value.type();
    given.emplace_back(device, type.dtype, type.shape);
    inputs.emplace_back(given.back(), some_values(type, rng));
  }
  for (const GraphPort& output : graph.impl().outputs) {
    results.emplace_back(device, output.value.dtype(), output.value.shape());
  }
  const std::vector<Number> numbers(graph.impl().numbers.size(), Number(1));
  const auto run = [&](auto&& span) {
    span("upload", [&] {
      for (auto& [tensor, values] : inputs) tensor.write(values);
    });
    span("run", [&] { exe.run(given, results, numbers); });
    span("read back", [&] {
      for (const Tensor& t : results) t.async_read_bytes().get();
    });
  };
  for (int i = 0; i < 3; ++i) run([](const char*, const auto& work) { work(); });
  Profiler profiler(device);
  for (int i = 0; i < a.runs; ++i) run([&](const char* name, const auto& work) { profiler.span(name, work); });
  write_report(a, files, profiler.finish(), device, model_name(a.model), exe.report());
}

void profile_onnx(const ProfileArguments& a) {
  ReportFiles files(a);
  const Device device = Device::open();
  set_default_device(device);
  const auto model = onnx::Model::load(a.model, {.device = device, .fallback = fallback_device(a.fallback)});
  const std::vector<onnx::NamedValue> inputs =
      make_inputs(a.model, model.inputs(), a.inputs, [](const std::string&) {});
  std::vector<onnx::PortValue> outputs;
  const auto run = [&](auto&& span) {
    span("run", [&] {
      outputs = model.run_values(inputs);
      device.wait();
    });
  };
  for (int i = 0; i < 3; ++i) run([](const char*, const auto& work) { work(); });
  Profiler profiler(device);
  for (int i = 0; i < a.runs; ++i) run([&](const char* name, const auto& work) { profiler.span(name, work); });
  write_report(a, files, profiler.finish(), device, model_name(a.model), {}, model.description().weight_bytes);
}

// The environment of the program that is profiled: this one's, with the settings of the command line and the file for
// the profile.
std::vector<std::string> environment_for(const std::filesystem::path& trace) {
  std::map<std::string, std::string, std::less<>> changed;
  for (const FlagInfo& flag : flags()) {
    if (flag_source(flag.flag).starts_with('-')) changed[std::string(flag.environment)] = flag_text(flag.flag);
  }
  changed[std::string(info(Flag::profile_to).environment)] = trace.string();
  std::vector<std::string> all;
  for (const auto& [name, value] : changed) all.push_back(name + "=" + value);
  for (char** e = environ; *e; ++e) {
    const std::string_view entry = *e;
    if (!changed.contains(entry.substr(0, entry.find('=')))) all.emplace_back(entry);
  }
  return all;
}

// Runs a program, which writes its profile to `trace`, and returns how it ended, in words; empty if it succeeded.
std::string run_program(const std::vector<std::string>& program, const std::filesystem::path& trace) {
  std::vector<char*> words;
  for (const std::string& word : program) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  std::vector<std::string> settings = environment_for(trace);
  std::vector<char*> environment;
  for (std::string& setting : settings) environment.push_back(setting.data());
  environment.push_back(nullptr);
  // It gets the signals that any program does, although this one ignores them.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t usual;
  sigemptyset(&usual);
  for (const int signal : {SIGPIPE, SIGXFSZ}) sigaddset(&usual, signal);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  const int error = posix_spawnp(&child, words[0], nullptr, &attributes, words.data(), environment.data());
  posix_spawnattr_destroy(&attributes);
  if (error) {
    throw IoError("{}: cannot be run: {}", program[0], std::strerror(error));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw IoError("{}: cannot be waited for: {}", program[0], std::strerror(errno));
  }
  if (WIFSIGNALED(status)) return std::format("was ended by signal {}", WTERMSIG(status));
  if (WEXITSTATUS(status) != 0) return std::format("ended with status {}", WEXITSTATUS(status));
  return {};
}

void profile_program(const ProfileArguments& a) {
  ReportFiles files(a);
  const TemporaryFile trace(std::filesystem::temp_directory_path() / std::format("weft-profile-{}.json", getpid()));
  const std::string failure = run_program(a.program, trace.path());
  std::ifstream file(trace.path(), std::ios::binary);
  if (!file) {
    throw InvalidArgument("{} {} no profile: it opened no device of Weft, or did not end by exit() or from main()",
                          a.program[0], failure.empty() ? "wrote" : failure + " and wrote");
  }
  Profile profile = read_chrome_trace(std::string(std::istreambuf_iterator<char>(file), {}));
  if (!failure.empty()) std::fprintf(stderr, "weft: %s %s\n", a.program[0].c_str(), failure.c_str());
  std::string title;
  for (const std::string& word : a.program) title += (title.empty() ? "" : " ") + word;
  const Device device = Device::open(profile.device);
  write_report(a, files, std::move(profile), device, std::move(title));
  if (!failure.empty()) throw InvalidArgument("the profile is of a program that {}", failure);
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
  CLI::App* graph = command->add_subcommand(
      "graph", "A model's graph on random tokens of one shape; a model of ONNX; a graph in a file");
  graph
      ->add_option(
          "MODEL", a->model,
          "Directory in Hugging Face's layout, FILE.onnx, or a graph in a file, FILE.safetensors, as save(path, graph) "
          "writes it")
      ->required()
      ->check(check_path);
  add_common(*graph, *a);
  graph->add_option("--length", a->length, "Tokens a sentence")->check(whole_number(1, 65536))->capture_default_str();
  graph->footer(
      "A graph in a file runs on random numbers between -1 and 1; integers are 0 and 1, numbers of the graph 1. A "
      "model\n"
      "of ONNX runs on what weft run makes of its inputs; weft run --profile takes pictures, sounds and texts.\n"
      "Examples\n"
      "  weft profile graph MODEL --batch 32 --length 128 --trace trace.json\n"
      "  weft profile graph step.safetensors --shape x=8,384 --html step.html\n"
      "  weft profile graph resnet50.onnx --shape batch=8 --html resnet50.html\n");
  add_shape_options(*graph, a->inputs);
  add_input_option(
      *graph, a->inputs,
      "A value of a model's input: a number, zeros, random, FILE.npy, or another file as weft run takes it");
  add_fallback(*graph, a->fallback);
  graph->callback([a, graph] {
    const bool is_onnx = has_suffix(a->model, ".onnx");
    const bool from_file = is_graph_file(*graph, a->model, {"--batch", "--length"});
    if (!is_onnx && graph->count("--fallback")) throw CLI::ValidationError("--fallback", "is for models of ONNX");
    if (!is_onnx && graph->count("--input")) throw CLI::ValidationError("--input", "is for models of ONNX");
    if (!is_onnx && !from_file && graph->count("--shape"))
      throw CLI::ValidationError("--shape", "is for models of ONNX and graphs in files");
    if (is_onnx && from_file) return profile_onnx(*a);
    if (from_file) return profile_graph_file(*a);
    profile_graph(*a);
  });
  CLI::App* run = command->add_subcommand("run", "Any program that uses Weft; also: weft profile -- PROGRAM ARGS…");
  add_report_options(*run, *a);
  run->add_option("PROGRAM", a->program, "The program and its arguments, after --")->required();
  run->footer(
      "The profile is of the first device that the program opens, from then until the program ends.\n"
      "Example: weft profile run --html profile.html -- ./train --steps 10\n");
  run->callback([a] {
    a->runs = 1;
    profile_program(*a);
  });
  command->footer("The column 'limit' compares with what this device was measured to do: weft devices --calibrate.\n");
}

}  // namespace weft::app
