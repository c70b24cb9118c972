// The input of `embed` and `tokenize`, and their common options.
#pragma once

#include <CLI/CLI.hpp>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace weft::app {

struct SentenceArguments {
  std::string model;
  std::string input = "-";
};

// --model and FILE, with their help.
void add_sentence_arguments(CLI::App& command, SentenceArguments& arguments);

inline constexpr const char* kInputHelp =
    "FILE holds a sentence a line; '-' or none reads standard input. A file named .jsonl holds a JSON string,\n"
    "or an object with \"text\", a line, so that a sentence may hold any character, line breaks too.\n";

// Reads sentences on a thread of its own and returns them in windows.
class SentenceQueue {
 public:
  // Throws IoError when the input cannot be opened. At most `capacity` sentences are buffered.
  SentenceQueue(const std::string& path, std::size_t capacity);
  ~SentenceQueue();

  // Up to `most` sentences, in order; fewer if the input ends or pauses (a pipe with interactive input). Empty at the
  // end. An error of the input is thrown after the sentences before it were returned.
  std::vector<std::string> take(std::size_t most);
  // Bytes returned so far and in all (0: unknown), for a progress bar.
  std::uint64_t position() const { return position_; }
  std::uint64_t total() const { return total_; }

 private:
  // Shared with the reading thread, which may outlive the queue, because a read of standard input cannot be
  // interrupted.
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::string> waiting;
    std::exception_ptr error;
    bool ended = false, abandoned = false;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
  std::uint64_t position_ = 0, total_ = 0;
};

}  // namespace weft::app
