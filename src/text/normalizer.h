// BERT's normalisation of a text before it is split into words.
// Source: https://github.com/google-research/bert, tokenization.py (BasicTokenizer), in the order and with the Unicode
// versions of Hugging Face's BertNormalizer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft::text {

struct NormalizerOptions {
  bool clean_text = true;             // drop control characters, turn white space into spaces
  bool handle_chinese_chars = true;   // a space on both sides of each ideograph
  std::optional<bool> strip_accents;  // decompose and drop nonspacing marks; unset: as `lowercase`
  bool lowercase = true;

  static NormalizerOptions none() { return {false, false, false, false}; }
};

class Normalizer {
 public:
  explicit Normalizer(const NormalizerOptions& options);
  // Appends the normalised text. `text` must be valid UTF-8, and so is the result.
  void normalize(std::string_view text, std::string& out) const;

 private:
  bool clean_text_, handle_chinese_chars_, strip_accents_, lowercase_;
  char ascii_[128];  // the replacement of an ASCII character; kDropped if it is dropped
};

}  // namespace weft::text
