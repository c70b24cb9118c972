// Any text through small tokenizers with every kind of added token must give valid ids within the limit, or an error
// for bytes that are not UTF-8.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "check.h"
#include "core/mapped_file.h"
#include "core/utf8.h"
#include "weft/error.h"
#include "weft/text.h"

namespace {

using weft::text::Ids;
using weft::text::Tokenizer;

struct Pair {
  Tokenizer whole, cut;  // the same without and with a limit
};

const std::vector<Pair>& tokenizers() {
  static const auto all = [] {
    std::vector<Pair> pairs;
    for (const char* name :
         {"added_raw", "added_normalized", "added_cased", "unclean", "plain_prefix", "cased_stripped"}) {
      const auto json = weft::read_file(std::string(WEFT_TEST_DATA "/tokenizers/") + name + ".json");
      pairs.push_back({Tokenizer::parse(json, name), Tokenizer::parse(json, name, 9)});
    }
    return pairs;
  }();
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const bool valid = weft::find_invalid_utf8(text) == size;
  for (const auto& [whole, cut] : tokenizers()) {
    try {
      const Ids ids = whole.encode(text);
      FUZZ_CHECK(valid);
      for (const auto id : ids) FUZZ_CHECK(id >= 0 && id < whole.vocab_size());
      FUZZ_CHECK(ids.size() >= 2 && ids.front() == 2 && ids.back() == 3);
      Ids expected = ids;
      if (expected.size() > 9) {
        expected.resize(8);
        expected.push_back(3);
      }
      FUZZ_CHECK(cut.encode(text) == expected);
    } catch (const weft::FormatError&) {
      FUZZ_CHECK(!valid);
    }
  }
  return 0;
}
