#include "kernels/accessors.h"

#include <format>
#include <utility>

#include "core/format.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

// How a type is stored in 32-bit words, and the expressions that convert a part of a word to a value and back; `$`
// stands for the argument.
struct Packing {
  std::string_view value;   // the type a value computes in
  std::string_view widen;   // from the low `bits` of a u32
  std::string_view narrow;  // to the low `bits` of a u32, the rest zero
};

Packing packing(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return {"f32", "bitcast<f32>($)", "bitcast<u32>($)"};
    case DType::i32:
      return {"i32", "bitcast<i32>($)", "bitcast<u32>($)"};
    case DType::u32:
      return {"u32", "$", "$"};
    case DType::f16:
      return {"f32", "unpack2x16float($).x", "narrow_f16($)"};
    case DType::bf16:
      return {"f32", "bitcast<f32>(($) << 16u)", "narrow_bf16($)"};
    case DType::f8e4m3:
      return {"f32", "widen_bits($, 4u, 3u, true)", "narrow_bits($, 4u, 3u, true)"};
    case DType::f8e5m2:
      return {"f32", "widen_bits($, 5u, 2u, false)", "narrow_bits($, 5u, 2u, false)"};
    case DType::i16:
      return {"i32", "(i32(($) << 16u) >> 16u)", "(u32($) & 0xffffu)"};
    case DType::u16:
      return {"u32", "(($) & 0xffffu)", "(($) & 0xffffu)"};
    case DType::i8:
      return {"i32", "(i32(($) << 24u) >> 24u)", "(u32($) & 0xffu)"};
    case DType::u8:
      return {"u32", "(($) & 0xffu)", "(($) & 0xffu)"};
    case DType::boolean:
      return {"u32", "select(0u, 1u, (($) & 0xffu) != 0u)", "select(0u, 1u, ($) != 0u)"};
    case DType::i4:
      return {"i32", "(i32(($) << 28u) >> 28u)", "(u32($) & 0xfu)"};
    case DType::u4:
      return {"u32", "(($) & 0xfu)", "(($) & 0xfu)"};
    case DType::i2:
      return {"i32", "(i32(($) << 30u) >> 30u)", "(u32($) & 0x3u)"};
    case DType::u2:
      return {"u32", "(($) & 0x3u)", "(($) & 0x3u)"};
    case DType::i64:
    case DType::u64:
    case DType::f64:
      return {"vec2<u32>", "$", "$"};
    case DType::c64:
      return {"vec2<f32>", "$", "$"};
  }
  throw InternalError("dtype {} has no WGSL form", static_cast<int>(dtype));
}

// The type of an array element of one, two or four words.
std::string words_of(int count) { return count == 1 ? "u32" : std::format("vec{}<u32>", count); }

std::string fill(std::string_view pattern, std::string_view argument) {
  std::string s;
  for (char c : pattern) {
    if (c == '$')
      s += argument;
    else
      s += c;
  }
  return s;
}

}  // namespace

std::string_view compute_type(DType dtype) { return packing(dtype).value; }

std::string number_accessors(std::string_view name, DType dtype) {
  const Packing pack = packing(dtype);
  const std::string low = std::format("p.{}_number", name);
  std::string value = fill(pack.widen, low);
  if (bits(dtype) == 64) {
    value = std::format("vec2<u32>({0}, {0}_high)", low);
    if (dtype == DType::c64) value = std::format("bitcast<vec2<f32>>({})", value);
  }
  std::string s =
      std::format("alias {0}_t = {1};\nfn load_{0}(i: u32) -> {1} {{ return {2}; }}\n", name, pack.value, value);
  if (bits(dtype) < 64) {
    s += std::format("fn load4_{0}(i: u32) -> vec4<{1}> {{ return vec4<{1}>({2}); }}\n", name, pack.value, value);
  }
  return s;
}

std::string element_type(DType dtype, int width, bool stores) {
  const int b = bits(dtype);
  if (b == 64) return std::string(packing(dtype).value);
  if (b == 32) return width == 4 ? std::format("vec4<{}>", packing(dtype).value) : std::string(packing(dtype).value);
  if (width == 1 || b < 8) return stores ? "atomic<u32>" : "u32";
  return words_of(b * width / 32);
}

int element_size(DType dtype, int width) {
  const int b = bits(dtype);
  if (b == 64) return 8;
  if (b == 32) return width == 4 ? 16 : 4;
  return width == 1 || b < 8 ? 4 : b * width / 8;
}

namespace {

// Generates the accessors of one operand.
class Accessors {
 public:
  // `buffer` is the variable, an array of `element`.
  Accessors(std::string_view name, std::string_view buffer, std::string_view element, DType dtype, int width,
            std::uint32_t pair_stride, std::string_view offset)
      : name_(name),
        buffer_(buffer),
        offset_(offset),
        dtype_(dtype),
        width_(width),
        pair_stride_(pair_stride),
        pack_(packing(dtype)),
        bits_(bits(dtype)),
        atomic_(element == "atomic<u32>"),
        words_(element == "u32" || atomic_),
        own_(bits_ >= 32 && element == element_type(dtype, width, false)),
        one_(width == 4 ? "[k >> 2u][k & 3u]" : "[k]") {
    text_ = std::format("alias {}_t = {};\n", name, pack_.value);
  }

  std::string loads() && {
    if (width_ <= 4) function("load_{}(i: u32) -> {}", "", load_one());
    if (bits_ < 32 && words_) {
      text_ += std::format("fn word_{0}(i: u32) -> u32 {{ return {1}; }}\n", name_,
                           word(std::format("({} + i) / {}u", offset_, 32 / bits_)));
    }
    if (width_ == 4) function("load4_{}(i: u32) -> vec4<{}>", "", load_four());
    if (width_ > 4) add_wide_loads();
    if (keeps_words()) {
      function("words4_{}(i: u32) -> vec2<u32>", "", std::format("return {};", four_words()));
      text_ += std::format("fn widen4_{}(w: vec2<u32>) -> vec4<{}> {{ {} }}\n", name_, pack_.value, four_of_words());
      text_ += std::format("fn four_{}(k: u32) -> vec2<u32> {{ return {}; }}\n", name_, own_four());
    }
    return std::move(text_);
  }
  std::string stores(bool alias) && {
    if (!alias) text_.clear();
    // Narrow elements are stored one by one only where words are atomic: each element's bits belong to one thread, so
    // clearing and setting need not be one step.
    if (bits_ >= 32 || atomic_) function("store_{}(i: u32, v: {}", ")", store_one());
    if (width_ > 4) add_wide_stores();
    if (width_ == 4) {
      function("store4_{}(i: u32, v: vec4<{}>", ")", store_four());
      if (dtype_ == DType::bf16) {
        for (const std::string how : {"no_ties", "no_nan", "exact"}) {
          function("store4_" + how + "_{}(i: u32, v: vec4<{}>", ")", store_four(how));
        }
      }
      function("store4_part_{}(i: u32, v: vec4<{}>", ", first: u32, last: u32)", store_part());
      if (keeps_words()) {
        text_ += std::format("fn store_four_{}(k: u32, w: vec2<u32>) {{ {} }}\n", name_, set_own_four());
      }
      if (atomic_ && bits_ == 16) {
        function("store4_edge_{}(i: u32, v: vec4<{}>", ", inside: vec4<bool>)", store_edge());
      }
    }
    return std::move(text_);
  }
  // Conversions between a word's low bits and a value.
  std::string conversions() const {
    return std::format(
        "fn widen_{0}(w: u32) -> {0}_t {{ return {1}; }}\nfn narrow_{0}(v: {0}_t) -> u32 {{ return {2}; }}\n", name_,
        fill(pack_.widen, "w"), fill(pack_.narrow, "v"));
  }

 private:
  void function(std::string_view head, std::string_view tail, const std::string& body) {
    text_ += std::format("fn {}{} {{ let k = {} + i; {} }}\n",
                         std::vformat(head, std::make_format_args(name_, pack_.value)), tail, offset_, body);
  }
  std::string word(const std::string& index) const {
    return atomic_ ? std::format("atomicLoad(&{}[{}])", buffer_, index) : std::format("{}[{}]", buffer_, index);
  }
  std::string set_word(const std::string& index, const std::string& value) const {
    return atomic_ ? std::format("atomicStore(&{}[{}], {});", buffer_, index, value)
                   : std::format("{}[{}] = {};", buffer_, index, value);
  }
  // Conversions between a 32-bit value and its word.
  std::string from_word(const std::string& w) const { return std::format("bitcast<{}>({})", pack_.value, w); }
  static std::string to_word(const std::string& v) { return std::format("bitcast<u32>({})", v); }

  std::string load_one() const {
    if (own_) return std::format("return {}{};", buffer_, one_);
    if (bits_ == 64)
      return std::format("return bitcast<{}>(vec2<u32>({}, {}));", pack_.value, word("2u * k"), word("2u * k + 1u"));
    if (bits_ == 32) return std::format("return {};", from_word(word("k")));
    if (!words_) {  // vec2<u32>: four 16-bit elements
      return std::format("let w = {}[k >> 2u][(k >> 1u) & 1u] >> ((k & 1u) * 16u); return {};", buffer_,
                         fill(pack_.widen, "w"));
    }
    return std::format("let w = {} >> ({}); return {};", word(std::format("k / {}u", 32 / bits_)), shift(),
                       fill(pack_.widen, "w"));
  }
  std::string shift() const { return std::format("(k % {}u) * {}u", 32 / bits_, bits_); }

  std::string load_four() const {
    if (own_) return std::format("return {}[k >> 2u];", buffer_);
    if (bits_ == 32) {
      std::string s = std::format("return vec4<{}>(", pack_.value);
      for (int i = 0; i < 4; ++i) s += (i ? ", " : "") + from_word(word(std::format("k + {}u", i)));
      return s + ");";
    }
    return std::format("let w = {}; {}", four_words(), four_of_words());
  }
  // Accesses of 8 or 16 elements: all of their words, and conversions between these and groups of four values.
  void add_wide_loads() {
    const int words = bits_ * width_ / 32;
    std::string all = std::format("{}[k / {}u]", buffer_, width_);
    if (words_) {
      all = words_of(words) + "(";
      for (int i = 0; i < words; ++i) all += (i ? ", " : "") + word(wide_word(i));
      all += ")";
    }
    function("words_{}(i: u32) -> " + words_of(words), "", std::format("return {};", all));
    for (int four = 0; four < width_ / 4; ++four) {
      const std::string own = bits_ == 16 ? std::format("words[{}], words[{}]", 2 * four, 2 * four + 1)
                                          : std::format("words[{}], 0u", four);
      text_ += std::format("fn four{}_{}(words: {}) -> vec4<{}> {{ let w = vec2<u32>({}); {} }}\n", four, name_,
                           words_of(words), pack_.value, own, four_of_words());
    }
  }
  void add_wide_stores() {
    const int count = bits_ * width_ / 32;
    std::string set = std::format("{}[k / {}u] = w;", buffer_, width_);
    if (words_) {
      set.clear();
      for (int i = 0; i < count; ++i) set += set_word(wide_word(i), std::format("w[{}]", i));
    }
    for (const std::string how : {"narrow", "no_ties", "no_nan", "exact"}) {
      if (how != "narrow" && dtype_ != DType::bf16) continue;
      std::string values, fours, words;
      for (int four = 0; four < width_ / 4; ++four) {
        values += std::format("{}v{}: vec4<{}>", four ? ", " : "", four, pack_.value);
        fours += std::format("let q{0} = {1}4_{2}(v{0}); ", four, how, name_);
        words += std::format("{}q{}.x", four ? ", " : "", four);
        if (bits_ == 16) words += std::format(", q{}.y", four);
      }
      text_ += std::format("fn {}4_{}(v: vec4<{}>) -> vec2<u32> {{ return {}; }}\n", how, name_, pack_.value,
                           words_of_four(how));
      function("store_wide_" + (how == "narrow" ? "" : how + "_") + "{}(i: u32, " + values, ")",
               std::format("{}let w = {}({}); {}", fours, words_of(count), words, set));
    }
  }
  std::string wide_word(int i) const { return std::format("k / {}u + {}u", 32 / bits_, i); }
  // Four elements `v` as two words (as the first word, for 8-bit types). `how`: the rounding of bf16: "narrow" for any
  // value; "no_ties", "no_nan" and "exact" as in common/convert.wgsl.
  std::string words_of_four(const std::string& how) const {
    if (dtype_ == DType::bf16) return how + "_bf16x4(v)";
    return bits_ == 16 ? std::format("vec2<u32>({}, {})", packed(0, 2), packed(2, 2))
                       : std::format("vec2<u32>({}, 0u)", packed(0, 4));
  }
  // True if the two words of four elements may be loaded and stored without conversion.
  bool keeps_words() const { return width_ == 4 && bits_ == 16; }
  // Converts w, the words of four elements (two for 16-bit types, one for 8-bit ones), to values.
  std::string four_of_words() const {
    if (dtype_ == DType::f16) return "return vec4<f32>(unpack2x16float(w.x), unpack2x16float(w.y));";
    std::string s = std::format("return vec4<{}>(", pack_.value);
    for (int i = 0; i < 4; ++i) {
      s += std::format("{}{}", i ? ", " : "",
                       fill(pack_.widen, std::format("(w[{}] >> {}u)", i * bits_ / 32, i * bits_ % 32)));
    }
    return s + ");";
  }
  std::string four_words() const {
    if (!words_) return std::format("{}[k >> 2u]", buffer_);
    if (bits_ == 8) return std::format("vec2<u32>({}, 0u)", word("k >> 2u"));
    if (pair_stride_ == kUnalignedPairs) {
      return std::format("halves_at(vec3<u32>({}, {}, {}), k)", word("k >> 1u"), word("(k >> 1u) + 1u"),
                         word("(k >> 1u) + 2u"));
    }
    return std::format("vec2<u32>({}, {})", word("k >> 1u"), word(second_word()));
  }
  std::string set_four_words(const std::string& first, const std::string& second) const {
    if (!words_) return std::format("{}[k >> 2u] = vec2<u32>({}, {});", buffer_, first, second);
    if (bits_ == 8) return set_word("k >> 2u", first);
    return set_word("k >> 1u", first) + set_word(second_word(), second);
  }
  // The two words of the buffer's k-th group of four elements.
  std::string own_four() const {
    if (!words_) return std::format("{}[k]", buffer_);
    return std::format("vec2<u32>({}, {})", word("2u * k"), word("2u * k + 1u"));
  }
  std::string set_own_four() const {
    if (!words_) return std::format("{}[k] = w;", buffer_);
    return set_word("2u * k", "w.x") + set_word("2u * k + 1u", "w.y");
  }
  std::string second_word() const { return std::format("(k >> 1u) + {}u", pair_stride_); }
  // A word of `count` elements of `v`.
  std::string packed(int first, int count) const {
    if (dtype_ == DType::f16) return std::format("narrow_f16x2(v[{}], v[{}])", first, first + 1);
    if (dtype_ == DType::bf16) return std::format("narrow_bf16x4(v)[{}]", first / 2);
    std::string words;
    for (int i = 0; i < count; ++i) {
      words +=
          std::format("{}({} << {}u)", i ? " | " : "", fill(pack_.narrow, std::format("v[{}]", first + i)), i * bits_);
    }
    return words;
  }

  std::string store_one() const {
    if (own_) return std::format("{}{} = v;", buffer_, one_);
    if (bits_ == 64) {
      return std::format("let w = bitcast<vec2<u32>>(v); {}{}", set_word("2u * k", "w.x"),
                         set_word("2u * k + 1u", "w.y"));
    }
    if (bits_ == 32) return set_word("k", to_word("v"));
    const std::string at = std::format("{}[k / {}u]", buffer_, 32 / bits_);
    return std::format("let s = {}; atomicAnd(&{}, ~({}u << s)); atomicOr(&{}, ({}) << s);", shift(), at,
                       (1u << bits_) - 1u, at, fill(pack_.narrow, "v"));
  }
  std::string store_four(const std::string& how = "narrow") const {
    if (own_) return std::format("{}[k >> 2u] = v;", buffer_);
    if (bits_ == 32) {
      std::string s;
      for (int i = 0; i < 4; ++i) s += set_word(std::format("k + {}u", i), to_word(std::format("v[{}]", i)));
      return s;
    }
    return std::format("let q = {}; ", words_of_four(how)) + set_four_words("q.x", "q.y");
  }
  // Stores the elements first…last-1 of four and keeps the other bits of their words. No other thread may write to
  // these words at the same time.
  std::string store_part() const {
    if (bits_ == 32) {
      const std::string one =
          own_ ? std::format("{}[k >> 2u][l] = v[l];", buffer_) : set_word("k + l", to_word("v[l]"));
      return std::format("for (var l = first; l < last; l++) {{ {} }}", one);
    }
    const std::string merge = std::format(
        "let w = {}; var m = vec2<u32>(0u); for (var l = first; l < last; l++) {{ m[l * {}u / 32u] |= {}u << ((l * "
        "{}u) & 31u); }} ",
        four_words(), bits_, (1u << bits_) - 1u, bits_);
    const std::string low = bits_ == 16 ? packed(0, 2) : packed(0, 4);
    const std::string high = bits_ == 16 ? packed(2, 2) : "0u";
    return merge + set_four_words(std::format("(w.x & ~m.x) | (({}) & m.x)", low),
                                  std::format("(w.y & ~m.y) | (({}) & m.y)", high));
  }

  // Stores the elements that are `inside`. Other threads may write the other bits of their words at the same time.
  std::string store_edge() const {
    std::string s;
    for (const int w : {0, 1}) {
      s += std::format(
          "let m{0} = select(0u, 0xffffu, inside[{1}]) | select(0u, 0xffff0000u, inside[{2}]); "
          "let w{0} = {3}; let at{0} = {4}; if (m{0} == 0xffffffffu) {{ {5} }} "
          "else if (m{0} != 0u) {{ atomicAnd(&{6}[at{0}], ~m{0}); atomicOr(&{6}[at{0}], w{0} & m{0}); }} ",
          w, 2 * w, 2 * w + 1, packed(2 * w, 2), w == 0 ? "k >> 1u" : second_word(),
          set_word(std::format("at{}", w), std::format("w{}", w)), buffer_);
    }
    return s;
  }

  std::string name_, buffer_, offset_;
  DType dtype_;
  int width_;
  std::uint32_t pair_stride_;
  Packing pack_;
  int bits_;
  bool atomic_, words_;   // true if the buffer is an array of words; of atomic words
  bool own_;              // true if it is an array of the values themselves, or of vec4 of them
  std::string_view one_;  // element k of such an array
  std::string text_;
};

}  // namespace

std::string accessors(std::string_view name, std::string_view buffer, std::string_view element, DType dtype, int width,
                      const Accesses& accesses, std::uint32_t pair_stride, std::string_view offset) {
  const auto writer = [&] { return Accessors(name, buffer, element, dtype, width, pair_stride, offset); };
  std::string text;
  if (accesses.loads) text += writer().loads();
  if (accesses.stores) text += writer().stores(!accesses.loads);
  if (accesses.updates) text += writer().conversions();
  return text;
}

}  // namespace weft::kernels
