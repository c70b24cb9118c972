// The sentences of `weft embed` and `weft tokenize`, and their common options.
#pragma once

#include <CLI/CLI.hpp>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "text/input.h"

namespace weft::app {

struct SentenceArguments {
  std::string model;
  std::optional<std::string> prompt;
  std::string input = "-";
  text::InputFormat format = text::InputFormat::automatic;
};

// --model, --prompt, --format and FILE, with their help.
void add_sentence_arguments(CLI::App& command, SentenceArguments& arguments);

inline constexpr const char* kInputHelp =
    "FILE holds a sentence a line; '-' or none reads standard input. A file named .jsonl, or --format jsonl, holds a\n"
    "JSON string, or an object with \"text\", a line, so that a sentence may hold any character, line breaks too.\n";

// Says that the program waits for sentences, if they are to be typed.
void say_if_typed(const std::string& input);
bool is_typed(const std::string& input);

// Reads sentences on a thread of its own and returns them in windows.
class SentenceQueue {
 public:
  // Throws IoError when the input cannot be opened, FormatError when it is JSON of another form. At most `capacity`
  // sentences are buffered, and fewer where they are long: 64 MiB, or one sentence.
  SentenceQueue(const SentenceArguments& arguments, std::size_t capacity);
  ~SentenceQueue();

  // Up to `most` sentences, in order; fewer if the input ends or pauses (a pipe with interactive input), or if they are
  // long. Empty at the end. An error of the input is thrown after the sentences before it were returned.
  std::vector<std::string> take(std::size_t most);
  // Bytes of the input up to the last sentence returned, and in all (0: unknown), for a progress bar.
  std::uint64_t position() const { return position_; }
  std::uint64_t total() const { return total_; }

  // Says, on standard error, what of the sentences returned is probably not what was meant: those that look like JSON,
  // and `cut` of them that have more tokens than the model reads.
  void report(std::size_t cut, int max_length) const;

 private:
  struct Sentence {
    std::string text;
    std::uint64_t end = 0;  // in the input, bytes
  };
  // Shared with the reading thread, which may outlive the queue, because a read of standard input cannot be
  // interrupted.
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<Sentence> waiting;
    std::size_t bytes = 0;  // of their texts
    bool full(std::size_t sentences) const { return waiting.size() >= sentences || bytes >= std::size_t{64} << 20; }
    std::exception_ptr error;
    std::size_t json_like = 0;
    bool ended = false, abandoned = false;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
  std::uint64_t position_ = 0, total_ = 0;
  std::size_t taken_ = 0;
};

}  // namespace weft::app
