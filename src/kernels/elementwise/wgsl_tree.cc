#include "kernels/elementwise/wgsl_tree.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include "core/format.h"
#include "core/str_cat.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

using Id = WgslTree::Id;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// Binary operators, and how strongly they bind; those of two characters first.
struct Operator {
  std::string_view text;
  int strength;
};
constexpr Operator kOperators[] = {{"<<", 8}, {">>", 8}, {"<=", 7}, {">=", 7}, {"==", 6}, {"!=", 6},
                                   {"&&", 2}, {"||", 1}, {"*", 10}, {"/", 10}, {"%", 10}, {"+", 9},
                                   {"-", 9},  {"<", 7},  {">", 7},  {"&", 5},  {"^", 4},  {"|", 3}};

// sum := prefix (operator prefix)*, operators by their precedence; prefix := ('-' | '~' | '!') prefix | postfix;
// postfix := primary ('.' name)*; primary := '(' sum ')' | $0 | $1 | $2 | $w | number | name | name '(' sum, … ')'.
// A name may have a type, as in vec2<u32>, or be that of a parameter, as p.opaque_zero.
class Parser {
 public:
  Parser(WgslTree& tree, std::string_view text, const std::array<Id, 3>& operands, int width)
      : tree_(tree), text_(text), operands_(operands), width_(width) {}
  Id run() {
    const Id whole = sum(1);
    if (at_ != text_.size()) fail();
    return whole;
  }

 private:
  [[noreturn]] void fail() const { throw InternalError("the WGSL '{}' is none: at character {}", text_, at_ + 1); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  void skip_space() {
    while (peek() == ' ') ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail();
  }

  Id sum(int least) {
    Id left = prefix();
    for (;;) {
      skip_space();
      const Operator* op = at_ < text_.size() && text_[at_] != ')' && text_[at_] != ',' ? operator_here() : nullptr;
      if (!op || op->strength < least) return left;
      at_ += op->text.size();
      left = tree_.binary(left, op->text, sum(op->strength + 1));
    }
  }

  const Operator* operator_here() const {
    for (const Operator& op : kOperators) {
      if (text_.substr(at_).starts_with(op.text)) return &op;
    }
    return nullptr;
  }

  Id prefix() {
    skip_space();
    const char c = peek();
    if (c != '-' && c != '~' && c != '!') return postfix();
    const std::string_view op = text_.substr(at_++, 1);
    return tree_.unary(op, prefix());
  }

  Id postfix() {
    Id x = primary();
    while (peek() == '.') {
      ++at_;
      x = tree_.member(x, word());
    }
    return x;
  }

  Id primary() {
    if (accept('(')) {
      const Id inner = sum(1);
      expect(')');
      return tree_.group(inner);
    }
    if (accept('$')) return placeholder();
    const std::size_t begin = at_;
    while (is_word(peek()) || peek() == '.') ++at_;
    if (at_ == begin) fail();
    const bool number = is_digit(text_[begin]);
    if (!number && peek() == '<' && is_word(peek(1))) {  // operators have spaces around them
      while (at_ < text_.size() && peek() != '(') ++at_;
      if (peek() != '(') fail();
    }
    const std::string_view name = text_.substr(begin, at_ - begin);
    if (number || peek() != '(') return tree_.name(name);
    ++at_;
    const Id call = tree_.call(name, {});
    do {
      const Id argument = sum(1);
      tree_.add_argument(call, argument);
    } while (accept(','));
    expect(')');
    return call;
  }

  Id placeholder() {
    const char c = peek();
    ++at_;
    if (c >= '0' && c <= '2') return operands_[static_cast<std::size_t>(c - '0')];
    if (c != 'w') fail();
    if (peek() != 'u') return tree_.integer(width_);
    ++at_;
    return tree_.u32(static_cast<std::uint32_t>(width_));
  }

  std::string_view word() {
    const std::size_t begin = at_;
    while (is_word(peek())) ++at_;
    if (at_ == begin) fail();
    return text_.substr(begin, at_ - begin);
  }

  WgslTree& tree_;
  std::string_view text_;
  const std::array<Id, 3>& operands_;
  int width_;
  std::size_t at_ = 0;
};

}  // namespace

Id WgslTree::f32(float x) { return add({.kind = Kind::f32, .number = std::bit_cast<std::int32_t>(x)}); }

Id WgslTree::call(std::string_view function, std::string_view suffix, std::initializer_list<Id> args) {
  Node node{.kind = Kind::call, .count = static_cast<std::uint8_t>(args.size()), .text = function, .suffix = suffix};
  std::ranges::copy(args, node.args.begin());
  return add(node);
}

Id WgslTree::parse(std::string_view text, const std::array<Id, 3>& operands, int width) {
  return Parser(*this, text, operands, width).run();
}

Id WgslTree::find_call(Id root, std::string_view name, std::string_view suffix) const {
  const Node& node = (*this)[root];
  if (node.kind == Kind::call && node.text.size() + node.suffix.size() == name.size() + suffix.size()) {
    const bool same = node.suffix.empty() ? node.text.starts_with(name) && node.text.ends_with(suffix)
                                          : node.text == name && node.suffix == suffix;
    if (same) return root;
  }
  for (int i = 0; i < node.count; ++i) {
    if (const Id found = find_call(node.args[static_cast<std::size_t>(i)], name, suffix); found >= 0) return found;
  }
  return -1;
}

Id WgslTree::call_of(Id root, std::string_view name, std::string_view suffix) const {
  const Id call = find_call(root, name, suffix);
  if (call < 0) throw InternalError("WGSL: no call of {}{}", name, suffix);
  return call;
}

void WgslTree::rename(Id call, std::string_view name, std::string_view suffix) {
  (*this)[call].text = name;
  (*this)[call].suffix = suffix;
}

void WgslTree::add_argument(Id call, Id argument) {
  Node& node = (*this)[call];
  if (node.count == node.args.size()) throw InternalError("WGSL: {} has too many arguments", node.text);
  node.args[node.count++] = argument;
}

void WgslTree::print(std::string& text, Id id) const {
  const Node& node = (*this)[id];
  switch (node.kind) {
    case Kind::value:
      str_append(text, 'v', node.number);
      break;
    case Kind::input:
      str_append(text, 'x', node.number);
      break;
    case Kind::name:
      text += node.text;
      text += node.suffix;
      break;
    case Kind::integer:
      str_append(text, node.number);
      break;
    case Kind::u32:
      str_append(text, node.number, 'u');
      break;
    case Kind::hex: {
      char digits[16];
      text += "0x";
      text.append(digits, std::to_chars(digits, digits + sizeof digits, node.number, 16).ptr);
      text += 'u';
      break;
    }
    case Kind::f32: {
      char digits[32];
      const float x = std::bit_cast<float>(static_cast<std::int32_t>(node.number));
      text.append(digits, std::to_chars(digits, digits + sizeof digits, x).ptr);
      text += 'f';
      break;
    }
    case Kind::call:
      text += node.text;
      text += node.suffix;
      text += '(';
      for (int i = 0; i < node.count; ++i) {
        if (i > 0) text += ", ";
        print(text, node.args[static_cast<std::size_t>(i)]);
      }
      text += ')';
      break;
    case Kind::unary:
      text += node.text;
      print(text, node.args[0]);
      break;
    case Kind::binary:
      print(text, node.args[0]);
      str_append(text, ' ', node.text, ' ');
      print(text, node.args[1]);
      break;
    case Kind::member:
      print(text, node.args[0]);
      str_append(text, '.', node.text);
      break;
    case Kind::group:
      text += '(';
      print(text, node.args[0]);
      text += ')';
      break;
  }
}

}  // namespace weft::kernels
