#include "support/generated.h"

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/mapped_file.h"
#include "core/utf8.h"
#include "support/data.h"

namespace weft::test {
namespace {

class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t limit) { return next() % limit; }

 private:
  std::uint64_t state_;
};

struct Recipe {
  struct Length {
    std::uint64_t weight, longest;
  };
  struct Kind {
    std::uint64_t weight;
    std::string kind;
    std::uint64_t first, last;
  };
  std::vector<Length> lengths;
  std::vector<Kind> kinds;
  std::vector<std::string> snippets;

  Recipe() {
    const auto json = nlohmann::json::parse(read_data("generated_strings.json"));
    for (const auto& entry : json["lengths"]) lengths.push_back({entry[0], entry[1]});
    for (const auto& entry : json["ranges"]) kinds.push_back({entry[0], entry[1], entry[2], entry[3]});
    for (const auto& entry : json["snippets"]) snippets.push_back(entry);
  }
};

template <class T>
const T& pick(SplitMix64& random, const std::vector<T>& weighted) {
  std::uint64_t total = 0;
  for (const T& entry : weighted) total += entry.weight;
  std::uint64_t at = random.below(total);
  auto entry = weighted.begin();
  for (; at >= entry->weight; ++entry) at -= entry->weight;
  return *entry;
}

}  // namespace

std::string generated_string(std::uint64_t index, std::span<const std::string> words) {
  static const Recipe recipe;
  SplitMix64 random(index);
  const std::uint64_t longest = pick(random, recipe.lengths).longest;
  std::string out;
  for (std::uint64_t left = random.below(longest + 1); left > 0; --left) {
    const auto& kind = pick(random, recipe.kinds);
    if (kind.kind == "snippet") {
      out += recipe.snippets[random.below(recipe.snippets.size())];
    } else if (kind.kind == "word") {
      const std::uint64_t number = random.next();
      if (!words.empty()) out += words[number % words.size()];
    } else {
      const auto c = static_cast<char32_t>(kind.first + random.below(kind.last - kind.first + 1));
      if (c < 0xd800 || c > 0xdfff) append_utf8(out, c);
    }
  }
  return out;
}

std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t hash) {
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  return hash;
}

std::uint64_t hash_ids(std::span<const std::int32_t> ids) {
  return hash_bytes({reinterpret_cast<const char*>(ids.data()), ids.size_bytes()});
}

std::string read_data(const std::string& name) { return read_file(data_path(name)); }

std::vector<std::uint64_t> read_hashes(const std::string& name) {
  const std::string bytes = read_data(name);
  std::vector<std::uint64_t> hashes(bytes.size() / sizeof(std::uint64_t));
  std::memcpy(hashes.data(), bytes.data(), hashes.size() * sizeof(std::uint64_t));
  return hashes;
}

std::vector<std::string> reference_sentences() {
  const std::string lines = read_data("sentences.jsonl");
  std::vector<std::string> sentences;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = lines.find('\n', at);
    sentences.push_back(nlohmann::json::parse(std::string_view(lines).substr(at, end - at)).get<std::string>());
    at = end + 1;
  }
  return sentences;
}

}  // namespace weft::test
