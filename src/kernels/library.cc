#include "kernels/library.h"

#include <cctype>
#include <map>
#include <set>
#include <vector>

#include "kernels/source.h"

namespace weft::kernels {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Calls f(word, previous word) for each identifier outside comments.
template <class F>
void for_each_word(std::string_view text, F&& f) {
  std::string_view previous;
  for (std::size_t i = 0; i < text.size();) {
    if (text.substr(i).starts_with("//")) {
      i = std::min(text.find('\n', i), text.size());
    } else if (!is_word(text[i])) {
      ++i;
    } else {
      const std::size_t begin = i;
      while (i < text.size() && is_word(text[i])) ++i;
      const std::string_view word = text.substr(begin, i - begin);
      f(word, previous);
      previous = word;
    }
  }
}

bool declares(std::string_view keyword) {
  return keyword == "fn" || keyword == "const" || keyword == "struct" || keyword == "alias";
}

struct Library {
  std::vector<std::string> sources;
  std::map<std::string_view, std::string_view> declarations;  // name, text

  explicit Library(std::initializer_list<const char*> names) {
    for (const char* name : names) sources.push_back(kernel_source(name));
    for (const std::string& source : sources) {
      // A declaration starts at the beginning of a line and ends at the next comment or declaration that does.
      std::size_t begin = std::string::npos;
      std::string_view name;
      const std::string_view text = source;
      for (std::size_t line = 0; line < text.size();) {
        const std::size_t end = std::min(text.find('\n', line), text.size() - 1) + 1;
        const std::string_view rest = text.substr(line, end - line);
        const std::string_view keyword = rest.substr(0, rest.find(' '));
        if (rest.starts_with("//") || declares(keyword)) {
          if (begin != std::string::npos) declarations[name] = text.substr(begin, line - begin);
          begin = std::string::npos;
        }
        if (declares(keyword)) {
          begin = line;
          std::size_t last = keyword.size() + 1;
          while (is_word(rest[last])) ++last;
          name = rest.substr(keyword.size() + 1, last - keyword.size() - 1);
        }
        line = end;
      }
      if (begin != std::string::npos) declarations[name] = text.substr(begin);
    }
  }
};

const Library& library() {
  static const Library& l = *new Library{"convert",         "integer",      "scalar_math", "special_math",
                                         "incomplete_math", "complex_math", "narrow_math"};
  return l;
}

const Library& device_library() {
  static const Library& l = *new Library{"device_math", "device_narrow_math"};
  return l;
}

}  // namespace

std::string library_for(std::string_view text, const DeviceForms& device_forms) {
  const auto& declarations = library().declarations;
  const auto& preferred = device_library().declarations;
  std::set<std::string_view> done;
  for_each_word(text, [&](std::string_view word, std::string_view previous) {
    if (declares(previous)) done.insert(word);
  });
  std::string result;
  auto take = [&](auto& self, std::string_view from) -> void {
    for_each_word(from, [&](std::string_view word, std::string_view) {
      auto found = preferred.find(word);
      if (found == preferred.end() || !device_forms(word)) {
        found = declarations.find(word);
        if (found == declarations.end()) return;
      }
      if (!done.insert(word).second) return;
      result += found->second;
      self(self, found->second);
    });
  };
  take(take, text);
  return result;
}

bool has_device_form(std::string_view name) { return device_library().declarations.contains(name); }
bool has_common_form(std::string_view name) { return library().declarations.contains(name); }

}  // namespace weft::kernels
