// WGSL expressions as trees. Texts of the table of operations are parsed into them, casts and the guards against
// compilers rewrite them, and they are printed once.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace weft::kernels {

// The expressions of one function; nodes are named by their index. Texts are not copied: they must outlive the tree.
class WgslTree {
 public:
  using Id = int;

  enum class Kind : std::uint8_t {
    value,    // v3: the result of an earlier statement
    input,    // x3: a parameter of the function
    name,     // an identifier or a literal, as it is
    integer,  // 3
    u32,      // 3u
    hex,      // 0x3u
    f32,      // 3f; `number` has the bits
    call,     // function(args…); constructors and conversions too: vec2<u32>(…), bitcast<f32>(…)
    unary,    // the operator in front of args[0]
    binary,   // the operator between args[0] and args[1]
    member,   // args[0].text
    group,    // (args[0])
  };
  struct Node {
    Kind kind = Kind::name;
    std::uint8_t count = 0;   // of args
    std::string_view text;    // the name, function, operator or member
    std::string_view suffix;  // of a name or a function
    std::array<Id, 6> args{};
    std::int64_t number = 0;
  };

  Id value(int variable) { return add({.kind = Kind::value, .number = variable}); }
  Id input(int parameter) { return add({.kind = Kind::input, .number = parameter}); }
  Id name(std::string_view text, std::string_view suffix = {}) {
    return add({.kind = Kind::name, .text = text, .suffix = suffix});
  }
  Id integer(std::int64_t n) { return add({.kind = Kind::integer, .number = n}); }
  Id u32(std::uint32_t n) { return add({.kind = Kind::u32, .number = n}); }
  Id hex(std::uint32_t n) { return add({.kind = Kind::hex, .number = n}); }
  Id f32(float x);
  Id call(std::string_view function, std::initializer_list<Id> args) { return call(function, {}, args); }
  Id call(std::string_view function, std::string_view suffix, std::initializer_list<Id> args);
  Id unary(std::string_view op, Id x) { return add({.kind = Kind::unary, .count = 1, .text = op, .args = {x}}); }
  Id binary(Id a, std::string_view op, Id b) {
    return add({.kind = Kind::binary, .count = 2, .text = op, .args = {a, b}});
  }
  Id member(Id x, std::string_view of) { return add({.kind = Kind::member, .count = 1, .text = of, .args = {x}}); }
  Id group(Id x) { return add({.kind = Kind::group, .count = 1, .args = {x}}); }

  // The tree of a text in which $0, $1, $2 stand for the operands and $w for the width. Throws InternalError for a text
  // that is no expression.
  Id parse(std::string_view text, const std::array<Id, 3>& operands, int width = 0);

  // The first call, in the order of the text, of the function `name` + `suffix`. Throws InternalError if there is none.
  Id call_of(Id root, std::string_view name, std::string_view suffix) const;
  // The call calls `name` + `suffix` instead.
  void rename(Id call, std::string_view name, std::string_view suffix);
  void add_argument(Id call, Id argument);

  Node& operator[](Id node) { return nodes_[static_cast<std::size_t>(node)]; }
  const Node& operator[](Id node) const { return nodes_[static_cast<std::size_t>(node)]; }
  void reserve(std::size_t count) { nodes_.reserve(count); }

  // Appends the text of the node.
  void print(std::string& text, Id node) const;

 private:
  Id find_call(Id root, std::string_view name, std::string_view suffix) const;  // -1 if there is none
  Id add(const Node& node) {
    nodes_.push_back(node);
    return static_cast<Id>(nodes_.size()) - 1;
  }

  std::vector<Node> nodes_;
};

}  // namespace weft::kernels
