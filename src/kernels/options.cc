#include "kernels/options.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <map>
#include <memory>
#include <mutex>

#include "core/format.h"
#include "kernels/source.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

using Kind = TemplateOption::Kind;

constexpr std::string_view kAnyNumber = "number";  // among listed values

std::string_view trimmed(std::string_view s) {
  const std::size_t begin = s.find_first_not_of(" \t"), end = s.find_last_not_of(" \t");
  return begin == std::string_view::npos ? std::string_view() : s.substr(begin, end - begin + 1);
}

std::string_view take(std::string_view& text, std::string_view separator) {
  const std::size_t at = text.find(separator);
  const std::string_view first = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + separator.size());
  return first;
}

std::optional<std::int64_t> number_of(std::string_view s) {
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), n);
  return error == std::errc() && end == s.data() + s.size() ? std::optional(n) : std::nullopt;
}

std::string text_of(const OptionValue& value) {
  return std::visit(
      []<class T>(const T& v) {
        if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          std::string all;
          for (const std::string& s : v) all += std::format("{}'{}'", all.empty() ? "" : ", ", s);
          return "[" + all + "]";
        } else if constexpr (std::is_same_v<T, std::string>) {
          return std::format("'{}'", v.substr(0, 80));
        } else {
          return std::format("{}", v);
        }
      },
      value);
}

void parse_domain(TemplateOption& option, std::string_view domain) {
  constexpr std::string_view kList = "list of ", kRange = "…";
  if (domain.starts_with(kList)) option.list = true, domain = trimmed(domain.substr(kList.size()));
  for (const auto& [word, kind] : {std::pair("flag", Kind::flag), {"number", Kind::number}, {"text", Kind::text}}) {
    if (domain == word) {
      option.kind = kind;
      return;
    }
  }
  option.kind = Kind::listed;
  while (!domain.empty()) {
    const std::string_view word = trimmed(take(domain, ","));
    if (const std::size_t at = word.find(kRange); at != std::string_view::npos) {
      const auto first = number_of(word.substr(0, at)), last = number_of(word.substr(at + kRange.size()));
      for (std::int64_t n = first.value_or(0); first && last && n <= *last; ++n) {
        option.values.push_back(std::to_string(n));
      }
      continue;
    }
    option.values.emplace_back(word == "''" ? std::string_view() : word);
  }
}

// Of a kernel and what it includes.
struct Declared {
  std::string by;  // the template
  TemplateOption option;
};
using AllDeclared = std::multimap<std::string, Declared, std::less<>>;

std::shared_ptr<const AllDeclared> declared_by(std::string_view kernel, std::span<const std::string> includes) {
  static std::mutex mutex;
  static auto& known = *new std::map<std::string, std::shared_ptr<const AllDeclared>>;
  std::string key(kernel);
  for (const std::string& name : includes) key += "+" + name;
  const std::lock_guard held(mutex);
  auto& entry = known[key];
  if (entry) return entry;
  auto all = std::make_shared<AllDeclared>();
  const auto add = [&](std::string_view name) {
    for (TemplateOption& option : parse_options(name, built_source(name))) {
      std::string of = option.name;
      all->emplace(std::move(of), Declared{std::string(name), std::move(option)});
    }
  };
  for (const std::string& name : includes) add(name);
  add(kernel);
  return entry = std::move(all);
}

thread_local ObservedForms* observer = nullptr;

}  // namespace

bool TemplateOption::allows(const OptionValue& value) const {
  const auto is_listed = [&](const std::string& v) { return std::ranges::find(values, v) != values.end(); };
  const auto is_number = [&](const std::string& v) { return number_of(v).has_value(); };
  if (list) {
    const auto* const elements = std::get_if<std::vector<std::string>>(&value);
    if (!elements || kind == Kind::flag) return false;
    if (kind == Kind::text) return true;
    return std::ranges::all_of(*elements,
                               [&](const auto& v) { return kind == Kind::number ? is_number(v) : is_listed(v); });
  }
  switch (kind) {
    case Kind::flag:
      return std::holds_alternative<bool>(value);
    case Kind::number:
      return std::holds_alternative<std::int64_t>(value);
    case Kind::text:
      return std::holds_alternative<std::string>(value);
    case Kind::listed:
      break;
  }
  if (const auto* const n = std::get_if<std::int64_t>(&value)) {
    return is_listed(std::to_string(*n)) || is_listed(std::string(kAnyNumber));
  }
  const auto* const word = std::get_if<std::string>(&value);
  return word && is_listed(*word);
}

std::vector<TemplateOption> parse_options(std::string_view name, std::string_view text) {
  std::vector<TemplateOption> options;
  if (!text.starts_with("{#")) return options;
  std::string_view head = text.substr(2, text.find("#}") - 2);
  bool begun = false;
  while (!head.empty()) {
    const std::string_view line = trimmed(take(head, "\n"));
    if (!begun) {
      begun = line == "options:";
      continue;
    }
    if (line.empty()) continue;
    const std::size_t colon = line.find(": ");
    TemplateOption option;
    if (colon != std::string_view::npos) {
      option.name = line.substr(0, colon);
      option.declared = line;
      parse_domain(option, trimmed(line.substr(colon + 2)));
    }
    if (option.name.empty() || (option.kind == Kind::listed && option.values.empty())) {
      throw InternalError("template {}: '{}' is no option; expected a name and its values", name, line);
    }
    options.push_back(std::move(option));
  }
  return options;
}

namespace {
#ifdef NDEBUG
std::atomic<bool> checked = false;
#else
std::atomic<bool> checked = true;
#endif
}  // namespace

bool options_are_checked() { return checked.load(std::memory_order_relaxed); }
void set_options_checked(bool on) { checked.store(on, std::memory_order_relaxed); }

void check_options(std::string_view kernel, std::span<const std::string> includes, const OptionValues& values) {
  const std::shared_ptr<const AllDeclared> declared = declared_by(kernel, includes);
  for (const auto& [name, value] : values) {
    const auto [first, last] = declared->equal_range(name);
    if (first == last) {
      throw InternalError("{}: the option {} = {} is declared neither by its template nor by what that includes",
                          kernel, name, text_of(value));
    }
    for (auto d = first; d != last; ++d) {
      if (d->second.option.allows(value)) continue;
      throw InternalError("{}: the option {} is {}, the template {} declares '{}'", kernel, name, text_of(value),
                          d->second.by, d->second.option.declared);
    }
  }
  for (const auto& [name, d] : *declared) {
    if (std::ranges::find(values, name, &OptionValues::value_type::first) == values.end()) {
      throw InternalError("{}: the option {} is not given, the template {} declares '{}'", kernel, name, d.by,
                          d.option.declared);
    }
  }
}

ObservedForms::ObservedForms(std::function<void(const CallForm&)> observe)
    : observe_(std::move(observe)), outer_(std::exchange(observer, this)) {}
ObservedForms::~ObservedForms() { observer = outer_; }
void ObservedForms::tell(const CallForm& form) {
  if (observer) observer->observe_(form);
}

}  // namespace weft::kernels
