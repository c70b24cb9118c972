#include "sentences.h"

#include <chrono>
#include <filesystem>

#include "text/input.h"

namespace weft::app {

void add_sentence_arguments(CLI::App& command, SentenceArguments& a) {
  command.add_option("--model", a.model, "Directory of a BERT or DistilBERT encoder in Hugging Face's layout")->required();
  command.add_option("FILE", a.input, "Sentences, a line each; '-' is standard input")->capture_default_str();
}

SentenceQueue::SentenceQueue(const std::string& path, std::size_t capacity) : capacity_(capacity) {
  auto input = std::make_shared<text::SentenceReader>(text::SentenceReader::open(path));
  std::error_code none;
  if (path != "-" && std::filesystem::is_regular_file(path, none)) total_ = std::filesystem::file_size(path, none);
  reader_ = std::thread([this, input] {
    try {
      for (std::string sentence; input->next(sentence);) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return waiting_.size() < capacity_ || abandoned_; });
        if (abandoned_) return;
        waiting_.push_back(std::move(sentence));
        changed_.notify_all();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      error_ = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  });
}

SentenceQueue::~SentenceQueue() {
  {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
    changed_.notify_all();
    // A thread that waits for standard input cannot be woken; the process is about to end then.
    if (!ended_ && waiting_.size() < capacity_) {
      reader_.detach();
      return;
    }
  }
  reader_.join();
}

std::vector<std::string> SentenceQueue::take(std::size_t most) {
  constexpr auto kPause = std::chrono::milliseconds(20);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !waiting_.empty() || ended_; });
  for (std::size_t seen = 0; waiting_.size() < most && !ended_ && waiting_.size() != seen;) {
    seen = waiting_.size();
    changed_.wait_for(lock, kPause, [&] { return waiting_.size() >= most || ended_; });
  }
  if (waiting_.empty() && error_) std::rethrow_exception(error_);
  const std::size_t count = std::min(most, waiting_.size());
  std::vector<std::string> taken(std::make_move_iterator(waiting_.begin()),
                                 std::make_move_iterator(waiting_.begin() + static_cast<std::ptrdiff_t>(count)));
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
  for (const std::string& s : taken) position_ += s.size() + 1;
  changed_.notify_all();
  return taken;
}

}  // namespace weft::app
