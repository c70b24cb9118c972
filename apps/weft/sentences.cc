#include "sentences.h"

#include <chrono>
#include <filesystem>
#include <thread>

#include "text/input.h"

namespace weft::app {

void add_sentence_arguments(CLI::App& command, SentenceArguments& a) {
  command.add_option("--model", a.model, "Directory of a BERT or DistilBERT encoder in Hugging Face's layout")
      ->required();
  command.add_option("FILE", a.input, "Sentences, a line each; '-' is standard input")->capture_default_str();
}

SentenceQueue::SentenceQueue(const std::string& path, std::size_t capacity) {
  auto input = std::make_shared<text::SentenceReader>(text::SentenceReader::open(path));
  std::error_code none;
  if (path != "-" && std::filesystem::is_regular_file(path, none)) total_ = std::filesystem::file_size(path, none);
  std::thread([state = state_, input, capacity] {
    State& s = *state;
    std::exception_ptr error;
    try {
      for (std::string sentence; input->next(sentence);) {
        std::unique_lock lock(s.mutex);
        s.changed.wait(lock, [&] { return s.waiting.size() < capacity || s.abandoned; });
        if (s.abandoned) return;
        s.waiting.push_back(std::move(sentence));
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
  for (std::size_t seen = 0; s.waiting.size() < most && !s.ended && s.waiting.size() != seen;) {
    seen = s.waiting.size();
    s.changed.wait_for(lock, kPause, [&] { return s.waiting.size() >= most || s.ended; });
  }
  if (s.waiting.empty() && s.error) std::rethrow_exception(s.error);
  const auto end = s.waiting.begin() + static_cast<std::ptrdiff_t>(std::min(most, s.waiting.size()));
  std::vector<std::string> taken(std::make_move_iterator(s.waiting.begin()), std::make_move_iterator(end));
  s.waiting.erase(s.waiting.begin(), end);
  for (const std::string& sentence : taken) position_ += sentence.size() + 1;
  s.changed.notify_all();
  return taken;
}

}  // namespace weft::app
