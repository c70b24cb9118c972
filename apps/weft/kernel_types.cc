#include "kernel_types.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <format>
#include <map>
#include <optional>
#include <vector>

#include "weft/cpu.h"
#include "weft/error.h"

namespace weft::app {
namespace {

using Types = std::vector<DType>;  // of the operands, inputs first
using TypeSet = std::bitset<kDTypeCount>;

constexpr std::size_t index(DType type) { return static_cast<std::size_t>(type); }
constexpr DType type_at(std::size_t i) { return static_cast<DType>(i); }

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// What an operand of some name is where others vary. All that is not here is [1, 1].
struct Usual {
  std::string_view name;
  std::vector<Shape> shapes;  // one of these
  std::optional<DType> type;
};
const Usual& usual(std::string_view name) {
  static const Usual other{"", {{1, 1}}, {}};
  static const Usual all[] = {
      {"y", {{1, 1}, {1}, {1, 2}, {1, 1, 1}, {1, 1, 1, 1}}, {}},
      {"x", {{1, 1}, {1}}, {}},
      {"indices", {{1, 1}, {1}}, DType::i32},
      {"condition", {{1, 1}}, DType::boolean},
      {"mask", {{1, 1}}, DType::boolean},
      {"key", {{2}}, DType::u32},
      {"count", {{1}}, DType::u32},
      {"query_lengths", {{1}}, DType::i32},
      {"key_lengths", {{1}}, DType::i32},
      {"scale", {{1}}, {}},
      {"bias", {{1}}, {}},
      {"mean", {{1}}, {}},
      {"variance", {{1}}, {}},
      {"q", {{1, 1, 1, 1}}, {}},
      {"k", {{1, 1, 1, 1}}, {}},
      {"v", {{1, 1, 1, 1}}, {}},
  };
  const auto found = std::ranges::find(all, name, &Usual::name);
  return found == std::end(all) ? other : *found;
}

// One kernel, called on all types.
class Prober {
 public:
  explicit Prober(const kernels::KernelInfo& kernel) : kernel_(kernel) {
    add_operands(kernel.inputs);
    inputs_ = operands_.size();
    add_operands(kernel.outputs);
    for (std::size_t i = 0; i < inputs_ && !subject_; ++i) {
      if (!operands_[i].usual->type) subject_ = i;
    }
    find_shapes();
  }

  std::string text() const {
    std::vector<std::pair<std::string, std::string>> parts;  // operands, their types
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      std::string types = types_of(i);
      if (!parts.empty() && parts.back().second == types) parts.back().first += ", " + operands_[i].name;
      else parts.emplace_back(operands_[i].name, std::move(types));
    }
    std::string all;
    for (const auto& [names, types] : parts) all += (all.empty() ? "" : "; ") + names + ": " + types;
    return all;
  }

 private:
  struct Operand {
    std::string name;
    const Usual* usual;
    Shape shape;
    Buffer buffer;
  };

  void add_operands(const std::string& declared) {
    for (std::string name : words(declared)) {
      while (name.ends_with('.') || name.ends_with('?')) name.pop_back();
      Buffer buffer = Buffer::host(64);
      std::fill_n(buffer.data(), buffer.size(), std::byte{});
      const Usual& u = usual(name);
      operands_.push_back({std::move(name), &u, u.shapes.front(), std::move(buffer)});
    }
  }

  // Attributes without a default; lists of integers have `length` zeros.
  void give_attributes(int length) {
    for (const std::string& word : words(kernel_.attributes)) {
      if (word.find('=') != std::string::npos) continue;
      const std::string name = word.substr(0, word.find(':')), kind = word.substr(word.find(':') + 1);
      if (kind == "integers") attributes_[name] = std::vector<int>(static_cast<std::size_t>(length), 0);
      else attributes_[name] = std::int64_t{1};
    }
  }

  // The first shapes on which some types are accepted, and all types that are.
  void find_shapes() {
    for (int length = 1; length <= 2; ++length) {
      give_attributes(length);
      if (try_shapes(0)) return;
    }
    throw InternalError("{}: no types are found that it takes", kernel_.name);
  }
  bool try_shapes(std::size_t i) {
    if (i == operands_.size()) return probe();
    return std::ranges::any_of(operands_[i].usual->shapes, [&](const Shape& shape) {
      operands_[i].shape = shape;
      return try_shapes(i + 1);
    });
  }

  bool probe() {
    // All inputs of one type and all outputs of another, and what differs from that in one operand.
    for (std::size_t in = 0; in < kDTypeCount; ++in) {
      for (std::size_t out = 0; out < kDTypeCount; ++out) {
        Types types;
        for (std::size_t i = 0; i < operands_.size(); ++i) {
          types.push_back(operands_[i].usual->type.value_or(type_at(i < inputs_ ? in : out)));
        }
        if (accepts(types)) accepted_.push_back(std::move(types));
      }
    }
    const std::vector<Types> same = accepted_;
    for (const Types& types : same) {
      for (std::size_t i = 0; i < types.size(); ++i) {
        for (std::size_t t = 0; t < kDTypeCount; ++t) {
          Types changed = types;
          changed[i] = type_at(t);
          if (changed != types && accepts(changed)) accepted_.push_back(std::move(changed));
        }
      }
    }
    return !accepted_.empty();
  }

  bool accepts(const Types& types) {
    std::vector<View> views;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      views.emplace_back(operands_[i].buffer, 0, types[i], operands_[i].shape);
    }
    const std::span all(views);
    try {
      kernel_.run(cpu_, {all.first(inputs_), all.subspan(inputs_), attributes_});
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  std::string types_of(std::size_t i) const {
    TypeSet all;
    std::map<DType, TypeSet> by_subject;  // types of i for a type of the subject
    for (const Types& types : accepted_) {
      all.set(index(types[i]));
      if (subject_) by_subject[types[*subject_]].set(index(types[i]));
    }
    const bool follows = subject_ && *subject_ != i && all.count() > 1 &&
                         std::ranges::all_of(by_subject, [](const auto& of) { return of.second.count() == 1; });
    if (!follows) return text_of(all);
    std::string text = "as " + operands_[*subject_].name;
    for (const auto& [type, own] : by_subject) {
      if (!own.test(index(type))) text += std::format(", {} for {}", text_of(own), name(type));
    }
    return text;
  }

  // In as few words as may be.
  static std::string text_of(TypeSet types) {
    TypeSet floats, signed_ones, unsigned_ones;
    for (std::size_t t = 0; t < kDTypeCount; ++t) {
      floats[t] = is_floating(type_at(t));
      signed_ones[t] = info(type_at(t)).kind == DTypeKind::signed_integer;
      unsigned_ones[t] = info(type_at(t)).kind == DTypeKind::unsigned_integer;
    }
    const TypeSet integers = signed_ones | unsigned_ones;
    const std::pair<const char*, TypeSet> kinds[] = {{"any", ~TypeSet()},    {"numbers", floats | integers},
                                                     {"floats", floats},     {"integers", integers},
                                                     {"signed", signed_ones}, {"unsigned", unsigned_ones}};
    std::string best;
    std::size_t fewest = ~std::size_t{0};
    // What is left out of a kind may be named, too.
    for (std::size_t spared = 0; spared <= 6; ++spared) {
      std::vector<std::string> parts;
      std::size_t count = 0;
      TypeSet left = types;
      for (const auto& [name, kind] : kinds) {
        const TypeSet missing = kind & ~types;
        if ((kind & left).none() || missing.count() > spared || (kind & left) != (kind & types)) continue;
        parts.push_back(name + (missing.any() ? " but " + list(missing) : ""));
        count += 1 + missing.count();
        left &= ~kind;
      }
      count += left.count();
      if (count >= fewest) continue;
      if (left.any()) parts.push_back(list(left));
      // What is left out is said last, so that it is clear where that list ends.
      std::ranges::stable_partition(parts, [](const std::string& part) { return part.find(" but ") == part.npos; });
      fewest = count;
      best.clear();
      for (const std::string& part : parts) best += (best.empty() ? "" : ", ") + part;
    }
    return best;
  }
  static std::string list(TypeSet types) {
    std::string text;
    for (std::size_t t = 0; t < kDTypeCount; ++t) {
      if (types.test(t)) text += (text.empty() ? "" : " ") + std::string(name(type_at(t)));
    }
    return text;
  }

  const kernels::KernelInfo& kernel_;
  cpu::Executor cpu_{1};
  std::vector<Operand> operands_;
  std::size_t inputs_ = 0;
  std::optional<std::size_t> subject_;  // the input that others are compared with
  kernels::Attributes attributes_;
  std::vector<Types> accepted_;
};

}  // namespace

std::string kernel_types(const kernels::KernelInfo& kernel) { return Prober(kernel).text(); }

}  // namespace weft::app
