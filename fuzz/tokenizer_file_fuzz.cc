// Any bytes as tokenizer.json must give a tokenizer that can encode, or cause a typed error.
#include <cstdint>
#include <string_view>

#include "check.h"
#include "weft/error.h"
#include "weft/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto tokenizer =
        weft::text::Tokenizer::parse({reinterpret_cast<const char*>(data), size}, "fuzz", size % 2 ? 16 : 0x7fffffff);
    for (const char* text : {"", "a Ab [SEP] e\u0301\u4e2d!", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa b \u0130"}) {
      const auto ids = tokenizer.encode(text);
      FUZZ_CHECK(ids.size() <= static_cast<std::size_t>(tokenizer.max_length()));
      for (const auto id : ids) FUZZ_CHECK(id >= 0 && id < tokenizer.vocab_size());
      FUZZ_CHECK(tokenizer.type_ids(ids.size()).size() == ids.size());
    }
    FUZZ_CHECK(tokenizer.pad_id() < tokenizer.vocab_size());
  } catch (const weft::FormatError&) {
  } catch (const weft::Unsupported&) {
  }
  return 0;
}
