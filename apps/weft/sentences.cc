#include "sentences.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <format>
#include <map>
#include <thread>

#include "command_line.h"

namespace weft::app {

void add_sentence_arguments(CLI::App& command, SentenceArguments& a) {
  command
      .add_option("--model", a.model,
                  "Directory of a BERT or DistilBERT encoder in Hugging Face's layout, or an encoder in ONNX's format: "
                  "FILE.onnx, or a "
                  "directory that has onnx/model.onnx, with its tokenizer")
      ->required()
      ->check(check_path);
  command
      .add_option(
          "--prompt", a.prompt,
          "The model's prompt that is put before each sentence, or none; by default the one that its files name")
      ->type_name("NAME|none");
  const std::map<std::string, text::InputFormat> formats = {{"text", text::InputFormat::lines},
                                                            {"jsonl", text::InputFormat::json_lines}};
  command
      .add_option_function<std::string>(
          "--format",
          [&a, formats](const std::string& name) {
            const auto format = formats.find(name);
            if (format == formats.end())
              throw CLI::ValidationError("--format: '" + name + "' is neither text nor jsonl");
            a.format = format->second;
          },
          "What the input is: a sentence a line as it is, or JSON lines; by default what the file's name says")
      ->type_name("text|jsonl");
  command.add_option("FILE", a.input, "Sentences, a line each; '-' is standard input")
      ->check(check_path)
      ->capture_default_str();
}

bool is_typed(const std::string& input) { return input == "-" && isatty(STDIN_FILENO); }

void say_if_typed(const std::string& input) {
  if (!is_typed(input)) return;
  std::fprintf(stderr, "weft: waiting for sentences on standard input, a line each; Ctrl-D ends them\n");
}

SentenceQueue::SentenceQueue(const SentenceArguments& arguments, std::size_t capacity) {
  const std::string& path = arguments.input;
  auto input = std::make_shared<text::SentenceReader>(text::SentenceReader::open(path, arguments.format));
  std::error_code none;
  if (path != "-" && std::filesystem::is_regular_file(path, none)) total_ = std::filesystem::file_size(path, none);
  std::thread([state = state_, input, capacity] {
    State& s = *state;
    std::exception_ptr error;
    try {
      for (std::string sentence; input->next(sentence);) {
        std::unique_lock lock(s.mutex);
        s.changed.wait(lock, [&] { return !s.full(capacity) || s.abandoned; });
        if (s.abandoned) return;
        s.bytes += sentence.size();
        s.waiting.push_back({std::move(sentence), input->bytes()});
        s.json_like = input->json_like();
        s.changed.notify_all();
      }
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(s.mutex);
    s.error = error;
    s.ended = true;
    s.changed.notify_all();
  }).detach();
}

SentenceQueue::~SentenceQueue() {
  const std::lock_guard lock(state_->mutex);
  state_->abandoned = true;
  state_->changed.notify_all();
}

std::vector<std::string> SentenceQueue::take(std::size_t most) {
  constexpr auto kPause = std::chrono::milliseconds(20);
  State& s = *state_;
  std::unique_lock lock(s.mutex);
  s.changed.wait(lock, [&] { return !s.waiting.empty() || s.ended; });
  for (std::size_t seen = 0; !s.full(most) && !s.ended && s.waiting.size() != seen;) {
    seen = s.waiting.size();
    s.changed.wait_for(lock, kPause, [&] { return s.full(most) || s.ended; });
  }
  if (s.waiting.empty() && s.error) std::rethrow_exception(s.error);
  const auto end = s.waiting.begin() + static_cast<std::ptrdiff_t>(std::min(most, s.waiting.size()));
  std::vector<std::string> taken;
  for (auto sentence = s.waiting.begin(); sentence != end; ++sentence) {
    s.bytes -= sentence->text.size();
    taken.push_back(std::move(sentence->text));
    position_ = sentence->end;
  }
  s.waiting.erase(s.waiting.begin(), end);
  taken_ += taken.size();
  s.changed.notify_all();
  return taken;
}

void SentenceQueue::report(std::size_t cut, int max_length) const {
  const auto of_all = [&](std::size_t count) { return std::format("{} of {} sentences", count, taken_); };
  if (cut > 0) {
    std::fprintf(stderr, "weft: %s had more than the model's %d tokens and %s cut there\n", of_all(cut).c_str(),
                 max_length, cut == 1 ? "was" : "were");
  }
  const std::lock_guard lock(state_->mutex);
  if (state_->json_like == 0) return;
  std::fprintf(stderr,
               "weft: %s looked like JSON and %s taken as text; --format jsonl reads JSON, --format text says "
               "that it is text\n",
               of_all(state_->json_like).c_str(), state_->json_like == 1 ? "was" : "were");
}

}  // namespace weft::app
