#include <bit>
#include <charconv>
#include <map>

#include "core/format.h"
#include "core/in_quotes.h"
#include "weft/error.h"
#include "weft/expression.h"

namespace weft {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Expression run() {
    expect("(");
    while (!accept(")")) {
      if (e_.input_count() > 0) expect(", ");
      expect(std::format("x{}:", e_.input_count()));
      inputs_.push_back(e_.input(type()));
    }
    expect(" ");
    while (at_ < text_.size() && text_[at_] == '%') {
      const std::size_t start = at_;
      const std::uint64_t name = named();
      if (!accept(" = ")) {
        at_ = start;  // an output
        break;
      }
      const int node = value();
      if (!names_.emplace(name, node).second) fail("another name");
      expect("; ");
    }
    if (at_ == text_.size()) return std::move(e_);
    do e_.output(value());
    while (accept(", "));
    if (at_ < text_.size()) fail("its end");
    return std::move(e_);
  }

 private:
  // An operation whose operands are being read.
  struct Open {
    ScalarOp op;
    DType type;
    int operands;
    std::array<int, 3> args{};
    int read = 0;
  };

  [[noreturn]] void fail(std::string_view expected) const {
    constexpr std::size_t kShown = 40;
    throw InvalidArgument("the expression {}: at character {} expected {}",
                          in_quotes(text_.size() <= 4 * kShown
                                        ? std::string(text_)
                                        : "…" + std::string(text_.substr(at_ < kShown ? 0 : at_ - kShown, 2 * kShown))),
                          at_ + 1, expected);
  }
  bool accept(std::string_view s) {
    if (!text_.substr(at_).starts_with(s)) return false;
    at_ += s.size();
    return true;
  }
  void expect(std::string_view s) {
    if (!accept(s)) fail(in_quotes(std::string(s)));
  }
  // The characters up to one of these.
  std::string_view until(std::string_view ends) {
    const std::size_t end = std::min(text_.find_first_of(ends, at_), text_.size());
    const std::string_view word = text_.substr(at_, end - at_);
    at_ = end;
    return word;
  }
  DType type() {
    const std::size_t start = at_;
    if (const auto t = dtype_from_name(until(",)>; "))) return *t;
    at_ = start;
    fail("a data type");
  }
  std::uint64_t digits(int base = 10) {
    std::uint64_t n = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), n, base);
    if (error != std::errc()) fail("a number");
    at_ += static_cast<std::size_t>(end - begin);
    return n;
  }
  std::uint64_t named() {
    expect("%");
    return digits();
  }

  // A leaf or a name; nothing where an operation begins, which is opened.
  std::optional<int> begin() {
    if (at_ < text_.size() && text_[at_] == '%') {
      const std::size_t start = at_;
      const auto found = names_.find(named());
      if (found != names_.end()) return found->second;
      at_ = start;
      fail("a name that is defined before");
    }
    if (accept("true")) return e_.constant(1, DType::boolean);
    if (accept("false")) return e_.constant(0, DType::boolean);
    if (accept("0x")) {
      const std::uint64_t bits = digits(16);
      expect(":");
      return constant(bits, type());
    }
    if (accept("cast<")) {
      const DType to = type();
      expect(">(");
      open_.push_back({ScalarOp::cast, to, 1});
      return std::nullopt;
    }
    const std::size_t start = at_;
    const std::string_view word = until("(),:; ");
    if (at_ < text_.size() && text_[at_] == ':') {
      double v = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), v);
      if (error == std::errc() && end == word.data() + word.size()) {
        ++at_;
        const DType t = type();
        return e_.constant(v, t);
      }
    } else if (accept("(")) {
      const auto op = scalar_op(word);
      if (op && name(*op) == word && *op != ScalarOp::cast && *op != ScalarOp::input && *op != ScalarOp::constant) {
        open_.push_back({*op, DType::f32, arity(*op)});
        return std::nullopt;
      }
    } else if (word.size() > 1 && word[0] == 'x') {
      std::size_t k = 0;
      const auto [end, error] = std::from_chars(word.data() + 1, word.data() + word.size(), k);
      if (error == std::errc() && end == word.data() + word.size() && k < inputs_.size()) return inputs_[k];
    }
    at_ = start;
    fail("an input, a constant or an operation");
  }
  int constant(std::uint64_t value, DType type) {
    if (bits(type) < 64 && value >> bits(type) != 0) fail(std::format("a constant of {} bits", bits(type)));
    return e_.constant_bits(value, type);
  }

  // Without recursion: texts may be nested as deep as they like.
  int value() {
    std::optional<int> v = begin();
    while (!open_.empty()) {
      Open& top = open_.back();
      if (v) {
        top.args[static_cast<std::size_t>(top.read++)] = *v;
        if (top.read == top.operands) {
          expect(")");
          const std::span<const int> args(top.args.data(), static_cast<std::size_t>(top.operands));
          // A conversion to the type that it has is the rounding of it.
          v = top.op != ScalarOp::cast                                         ? e_.apply(top.op, args)
              : e_.nodes()[static_cast<std::size_t>(args[0])].type == top.type ? e_.round(args[0])
                                                                               : e_.cast(args[0], top.type);
          open_.pop_back();
          continue;
        }
        expect(", ");
      }
      v = begin();
    }
    return *v;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Expression e_;
  std::vector<int> inputs_;
  std::map<std::uint64_t, int> names_;
  std::vector<Open> open_;
};

}  // namespace

Expression Expression::parse(std::string_view text) { return Parser(text).run(); }

}  // namespace weft
