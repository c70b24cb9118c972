// The options of the WGSL templates: the values that a template's variables may have. A template lists its own at the
// end of the comment that it begins with, so that readers, launchers and tests have one list:
//
//   options:
//     lanes: 1, 4               one of these numbers or words ('' is the empty word)
//     rank: 1…8                 one of these numbers
//     steps: 0, 1, number       one of these, or any other number
//     fused: flag               true or false
//     threads: number           any number, which only constants of the text and lengths of loops depend on
//     epilogue: text            any text
//     modes: list of one, four  words of these, any number of them; list of number, list of text
//
// A call has the options of its kernel and of what it includes, all of them, and no others. Call checks this when it
// renders a text, in debug builds and in the tests: a list that is too short must not fail a user's call. So a template
// does not list again what all that include it, or what it includes, list. tests/kernels/forms_test.cc compiles every
// template, with every value that is listed.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/shader_head.h"

namespace weft::kernels {

using OptionValue = std::variant<std::int64_t, bool, std::string, std::vector<std::string>>;
using OptionValues = std::vector<std::pair<std::string, OptionValue>>;

struct TemplateOption {
  std::string name;
  enum class Kind : std::uint8_t { flag, number, text, listed } kind = Kind::flag;
  bool list = false;
  std::vector<std::string> values;  // kind listed
  std::string declared;             // the line's text

  bool allows(const OptionValue& value) const;
};

// Those of a template, in its order. Throws InternalError for a line that is none.
std::vector<TemplateOption> parse_options(std::string_view name, std::string_view text);

// Throws InternalError, which names the template and the option, if a value is not declared by the kernel or by what it
// includes, or if an option has none.
void check_options(std::string_view kernel, std::span<const std::string> includes, const OptionValues& values);

// Whether calls check their options.
bool options_are_checked();
void set_options_checked(bool checked);

// What the text of a call depends on.
struct CallForm {
  std::string_view kernel;
  std::span<const std::string> includes;
  const OptionValues& values;
  std::span<const ShaderHead::BoundOperand> operands;
};
// For tests: while it lives, is called with each dispatch that a call of this thread records, before that is.
class ObservedForms {
 public:
  explicit ObservedForms(std::function<void(const CallForm&)> observe);
  ~ObservedForms();
  ObservedForms(const ObservedForms&) = delete;
  ObservedForms& operator=(const ObservedForms&) = delete;
  static void tell(const CallForm& form);

 private:
  std::function<void(const CallForm&)> observe_;
  ObservedForms* outer_;
};

}  // namespace weft::kernels
