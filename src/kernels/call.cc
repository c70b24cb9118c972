#include "kernels/call.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "gpu/device_impl.h"
#include "kernels/device_math.h"
#include "kernels/elementwise/expression_wgsl.h"
#include "kernels/library.h"
#include "kernels/source.h"
#include "kernels/template.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

// How a type lies in 32-bit words, and how a word's part becomes a value and back. `$` is the argument.
struct Packing {
  std::string_view value;    // the type a value computes in
  std::string_view widen;    // from the low `bits` of a u32
  std::string_view narrow;   // to the low `bits` of a u32, the rest zero
};

Packing packing(DType dtype) {
  switch (dtype) {
    case DType::f32: return {"f32", "bitcast<f32>($)", "bitcast<u32>($)"};
    case DType::i32: return {"i32", "bitcast<i32>($)", "bitcast<u32>($)"};
    case DType::u32: return {"u32", "$", "$"};
    case DType::f16: return {"f32", "unpack2x16float($).x", "narrow_f16($)"};
    case DType::bf16: return {"f32", "bitcast<f32>(($) << 16u)", "narrow_bf16($)"};
    case DType::f8e4m3: return {"f32", "widen_bits($, 4u, 3u, true)", "narrow_bits($, 4u, 3u, true)"};
    case DType::f8e5m2: return {"f32", "widen_bits($, 5u, 2u, false)", "narrow_bits($, 5u, 2u, false)"};
    case DType::i16: return {"i32", "(i32(($) << 16u) >> 16u)", "(u32($) & 0xffffu)"};
    case DType::u16: return {"u32", "(($) & 0xffffu)", "(($) & 0xffffu)"};
    case DType::i8: return {"i32", "(i32(($) << 24u) >> 24u)", "(u32($) & 0xffu)"};
    case DType::u8: return {"u32", "(($) & 0xffu)", "(($) & 0xffu)"};
    case DType::boolean: return {"u32", "select(0u, 1u, (($) & 0xffu) != 0u)", "select(0u, 1u, ($) != 0u)"};
    case DType::i4: return {"i32", "(i32(($) << 28u) >> 28u)", "(u32($) & 0xfu)"};
    case DType::u4: return {"u32", "(($) & 0xfu)", "(($) & 0xfu)"};
    case DType::i2: return {"i32", "(i32(($) << 30u) >> 30u)", "(u32($) & 0x3u)"};
    case DType::u2: return {"u32", "(($) & 0x3u)", "(($) & 0x3u)"};
    case DType::i64:
    case DType::u64:
    case DType::f64: return {"vec2<u32>", "$", "$"};
    case DType::c64: return {"vec2<f32>", "$", "$"};
  }
  throw InternalError("dtype {} has no WGSL form", static_cast<int>(dtype));
}

std::string fill(std::string_view pattern, std::string_view argument) {
  std::string s;
  for (char c : pattern) {
    if (c == '$') s += argument;
    else s += c;
  }
  return s;
}

// The array element that holds `width` elements of `dtype`.
std::string element_type(DType dtype, int width, bool stores) {
  const int b = bits(dtype);
  if (b == 64) return std::string(packing(dtype).value);
  if (b == 32) return width == 4 ? std::format("vec4<{}>", packing(dtype).value) : std::string(packing(dtype).value);
  if (width == 4 && b == 16) return "vec2<u32>";
  if (width == 4 && b == 8) return "u32";
  return stores ? "atomic<u32>" : "u32";
}

int element_size(DType dtype, int width) {
  const int b = bits(dtype);
  if (b == 64) return 8;
  if (b == 32) return width == 4 ? 16 : 4;
  return width == 4 && b == 16 ? 8 : 4;
}

// Writes the accessors of one operand.
class Accessors {
 public:
  // `buffer` is the variable, an array of `element`.
  Accessors(std::string_view name, std::string_view buffer, std::string_view element, DType dtype, int width)
      : name_(name), buffer_(buffer), dtype_(dtype), width_(width), pack_(packing(dtype)), bits_(bits(dtype)),
        atomic_(element == "atomic<u32>"), words_(element == "u32" || atomic_),
        own_(bits_ >= 32 && element == element_type(dtype, width, false)),
        one_(width == 4 ? "[k >> 2u][k & 3u]" : "[k]") {
    text_ = std::format("alias {}_t = {};\n", name, pack_.value);
  }

  std::string loads() && {
    function("load_{}(i: u32) -> {}", "", load_one());
    if (width_ == 4) function("load4_{}(i: u32) -> vec4<{}>", "", load_four());
    if (keeps_words()) {
      function("words4_{}(i: u32) -> vec2<u32>", "", std::format("return {};", four_words()));
      text_ += std::format("fn widen4_{}(w: vec2<u32>) -> vec4<{}> {{ {} }}\n", name_, pack_.value, four_of_words());
    }
    return std::move(text_);
  }
  std::string stores(bool alias) && {
    if (!alias) text_.clear();
    // Narrow elements are stored one by one only where words are atomic: each element's bits belong to one thread, so
    // clearing and setting need not be one step.
    if (bits_ >= 32 || atomic_) function("store_{}(i: u32, v: {}", ")", store_one());
    if (width_ == 4) {
      function("store4_{}(i: u32, v: vec4<{}>", ")", store_four());
      if (dtype_ == DType::bf16) {
        function("store4_near_{}(i: u32, v: vec4<{}>", ")", "let q = near_bf16x4(v); " + set_four_words("q.x", "q.y"));
      }
      function("store4_part_{}(i: u32, v: vec4<{}>", ", first: u32, last: u32)", store_part());
    }
    return std::move(text_);
  }
  // Between a word's low bits and a value.
  std::string conversions() const {
    return std::format("fn widen_{0}(w: u32) -> {0}_t {{ return {1}; }}\nfn narrow_{0}(v: {0}_t) -> u32 {{ return {2}; }}\n",
                       name_, fill(pack_.widen, "w"), fill(pack_.narrow, "v"));
  }

 private:
  void function(std::string_view head, std::string_view tail, const std::string& body) {
    text_ += std::format("fn {}{} {{ let k = p.{}_o + i; {} }}\n", std::vformat(head, std::make_format_args(name_, pack_.value)),
                         tail, name_, body);
  }
  std::string word(const std::string& index) const {
    return atomic_ ? std::format("atomicLoad(&{}[{}])", buffer_, index) : std::format("{}[{}]", buffer_, index);
  }
  std::string set_word(const std::string& index, const std::string& value) const {
    return atomic_ ? std::format("atomicStore(&{}[{}], {});", buffer_, index, value)
                   : std::format("{}[{}] = {};", buffer_, index, value);
  }
  // A 32-bit value to and from its word.
  std::string from_word(const std::string& w) const { return std::format("bitcast<{}>({})", pack_.value, w); }
  static std::string to_word(const std::string& v) { return std::format("bitcast<u32>({})", v); }

  std::string load_one() const {
    if (own_) return std::format("return {}{};", buffer_, one_);
    if (bits_ == 64) return std::format("return bitcast<{}>(vec2<u32>({}, {}));", pack_.value, word("2u * k"), word("2u * k + 1u"));
    if (bits_ == 32) return std::format("return {};", from_word(word("k")));
    if (!words_) {  // vec2<u32>: four of 16 bits
      return std::format("let w = {}[k >> 2u][(k >> 1u) & 1u] >> ((k & 1u) * 16u); return {};", buffer_, fill(pack_.widen, "w"));
    }
    return std::format("let w = {} >> ({}); return {};", word(std::format("k / {}u", 32 / bits_)), shift(), fill(pack_.widen, "w"));
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
  // Two words of four elements may be kept as they are.
  bool keeps_words() const { return width_ == 4 && bits_ == 16; }
  // Four elements are whole words, w: two of 16 bits each, or one of 8.
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
    return std::format("vec2<u32>({}, {})", word("k >> 1u"), word("(k >> 1u) + 1u"));
  }
  std::string set_four_words(const std::string& first, const std::string& second) const {
    if (!words_) return std::format("{}[k >> 2u] = vec2<u32>({}, {});", buffer_, first, second);
    if (bits_ == 8) return set_word("k >> 2u", first);
    return set_word("k >> 1u", first) + set_word("(k >> 1u) + 1u", second);
  }
  // Elements of `v` as words.
  std::string packed(int first, int count) const {
    if (dtype_ == DType::f16) return std::format("narrow_f16x2(v[{}], v[{}])", first, first + 1);
    if (dtype_ == DType::bf16) return std::format("narrow_bf16x4(v)[{}]", first / 2);
    std::string words;
    for (int i = 0; i < count; ++i) {
      words += std::format("{}({} << {}u)", i ? " | " : "", fill(pack_.narrow, std::format("v[{}]", first + i)), i * bits_);
    }
    return words;
  }

  std::string store_one() const {
    if (own_) return std::format("{}{} = v;", buffer_, one_);
    if (bits_ == 64) {
      return std::format("let w = bitcast<vec2<u32>>(v); {}{}", set_word("2u * k", "w.x"), set_word("2u * k + 1u", "w.y"));
    }
    if (bits_ == 32) return set_word("k", to_word("v"));
    const std::string at = std::format("{}[k / {}u]", buffer_, 32 / bits_);
    return std::format("let s = {}; atomicAnd(&{}, ~({}u << s)); atomicOr(&{}, ({}) << s);", shift(), at,
                       (1u << bits_) - 1u, at, fill(pack_.narrow, "v"));
  }
  std::string store_four() const {
    if (own_) return std::format("{}[k >> 2u] = v;", buffer_);
    if (bits_ == 32) {
      std::string s;
      for (int i = 0; i < 4; ++i) s += set_word(std::format("k + {}u", i), to_word(std::format("v[{}]", i)));
      return s;
    }
    if (dtype_ == DType::bf16) return "let q = narrow_bf16x4(v); " + set_four_words("q.x", "q.y");
    return bits_ == 16 ? set_four_words(packed(0, 2), packed(2, 2)) : set_four_words(packed(0, 4), "0u");
  }
  // Elements first…last-1 of the four; the word's other parts stay. No other thread writes to the word.
  std::string store_part() const {
    if (bits_ == 32) {
      const std::string one = own_ ? std::format("{}[k >> 2u][l] = v[l];", buffer_) : set_word("k + l", to_word("v[l]"));
      return std::format("for (var l = first; l < last; l++) {{ {} }}", one);
    }
    const std::string merge =
        std::format("let w = {}; var m = vec2<u32>(0u); for (var l = first; l < last; l++) {{ m[l * {}u / 32u] |= {}u << ((l * {}u) & 31u); }} ",
                    four_words(), bits_, (1u << bits_) - 1u, bits_);
    const std::string low = bits_ == 16 ? packed(0, 2) : packed(0, 4);
    const std::string high = bits_ == 16 ? packed(2, 2) : "0u";
    return merge + set_four_words(std::format("(w.x & ~m.x) | (({}) & m.x)", low),
                                  std::format("(w.y & ~m.y) | (({}) & m.y)", high));
  }

  std::string name_, buffer_;
  DType dtype_;
  int width_;
  Packing pack_;
  int bits_;
  bool atomic_, words_;  // an array of words, atomic ones
  bool own_;             // an array of the values themselves, or of vec4 of them
  std::string_view one_;  // such an array's element k
  std::string text_;
};

}  // namespace

std::string_view compute_type(DType dtype) { return packing(dtype).value; }

bool can_vectorise(const View& view) {
  const int b = bits(view.dtype);
  if (b > 32 || b < 8) return false;
  if (view.offset * 8 / b % 4 != 0) return false;
  if (view.is_dense()) return view.count() % 4 == 0;
  const int rank = view.rank();
  if (view.strides()[-1] != 1 || view.shape()[-1] % 4 != 0) return false;
  for (int i = 0; i + 1 < rank; ++i) {
    if (view.shape()[i] != 1 && view.strides()[i] % 4 != 0) return false;
  }
  return true;
}

std::uint32_t workgroup_size(const gpu::Capabilities& capabilities, std::uint32_t wanted) {
  return std::min(wanted, capabilities.max_workgroup_size);
}

Call::Call(gpu::Commands& commands, std::string_view kernel)
    : commands_(commands), capabilities_(commands.device().capabilities()), kernel_(kernel), key_(kernel) {}

Call& Call::read(std::string_view name, const View& view, int width) { return operand(name, view, width, true, false); }
Call& Call::write(std::string_view name, const View& view, int width) { return operand(name, view, width, false, true); }
Call& Call::read_write(std::string_view name, const View& view, int width) {
  return operand(name, view, width, true, true);
}

Call& Call::operand(std::string_view name, const View& view, int width, bool loads, bool stores) {
  key_ += std::format("|{}:{}x{}{}{}", name, weft::name(view.dtype), width, loads ? "r" : "", stores ? "w" : "");
  operands_.push_back({std::string(name), view.dtype, width, loads, stores, element_type(view.dtype, width, stores), 0});
  views_.push_back(view);
  element_bytes_.push_back(element_size(view.dtype, width));
  return *this;
}

Call& Call::update(std::string_view name, const View& view) {
  operand(name, view, 1, true, true);
  key_ += "u";
  operands_.back().element = "atomic<u32>";
  operands_.back().updates = true;
  return *this;
}

Call& Call::raw(std::string_view name, const View& view, std::string_view element, int element_bytes,
                gpu::Access access) {
  key_ += std::format("|{}:raw {} {}", name, element, access == gpu::Access::read ? "r" : "rw");
  operands_.push_back({std::string(name), view.dtype, 0, true, access == gpu::Access::read_write, std::string(element), 0});
  views_.push_back(view);
  element_bytes_.push_back(element_bytes);
  return *this;
}

Call& Call::set(std::string_view name, std::int64_t value) {
  variables_.emplace_back(name, std::to_string(value));
  return *this;
}
Call& Call::set(std::string_view name, bool value) {
  variables_.emplace_back(name, value ? "true" : "false");
  return *this;
}
Call& Call::set(std::string_view name, std::string_view value) {
  variables_.emplace_back(name, nlohmann::json(value).dump());
  return *this;
}
Call& Call::set(std::string_view name, const std::vector<std::string>& values) {
  variables_.emplace_back(name, nlohmann::json(values).dump());
  return *this;
}
Call& Call::include(std::string_view kernel) {
  if (std::ranges::find(includes_, kernel) == includes_.end()) includes_.emplace_back(kernel);
  return *this;
}
Call& Call::expression(const Expression& expression, int width, bool near) {
  expression_ = &expression;
  expression_width_ = width;
  near_ = near;
  if (near) key_ += "|near";
  key_ += std::format("|expression{}:{}", width, expression.to_string());
  return *this;
}
Call& Call::enable(std::string_view extension) {
  if (std::ranges::find(enables_, extension) == enables_.end()) enables_.emplace_back(extension);
  return *this;
}

void Call::add_param(std::string_view name, char type, std::uint32_t bits) {
  params_.push_back({std::string(name), type});
  param_values_.push_back(bits);
}
Call& Call::param(std::string_view name, std::uint32_t value) {
  add_param(name, 'u', value);
  return *this;
}
Call& Call::param(std::string_view name, std::int32_t value) {
  add_param(name, 'i', static_cast<std::uint32_t>(value));
  return *this;
}
Call& Call::param(std::string_view name, float value) {
  add_param(name, 'f', std::bit_cast<std::uint32_t>(value));
  return *this;
}
Call& Call::index_param(std::string_view name, std::int64_t value) {
  if (value >= (std::int64_t{1} << 32) || value < -(std::int64_t{1} << 31)) {
    throw Unsupported("{}: {} = {} is past the 2^32 elements that one dispatch can count", kernel_, name, value);
  }
  add_param(name, 'u', static_cast<std::uint32_t>(value));
  return *this;
}

Call& Call::iterate(const Shape& shape) {
  iterate_rank_ = shape.rank();
  for (int i = 0; i < shape.rank(); ++i) index_param(std::format("n{}", i), shape[i]);
  return *this;
}

Call& Call::strides(std::string_view operand, const Strides& strides) {
  strided_.emplace_back(operand, strides.rank());
  for (int i = 0; i < strides.rank(); ++i) index_param(std::format("{}_s{}", operand, i), strides[i]);
  return *this;
}

// Gives each operand a binding: a window of its buffer that starts on the device's alignment. A buffer that is written
// has one binding for all of its operands.
void Call::resolve_bindings() {
  auto is_written = [&](const Buffer& buffer) {
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (operands_[i].stores && views_[i].buffer == buffer) return true;
    }
    return false;
  };
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    Operand& op = operands_[i];
    const View& view = views_[i];
    const auto [low, high] = view.layout.offset_range();
    const std::int64_t b = bits(view.dtype);
    const std::uint64_t first = view.offset + static_cast<std::uint64_t>((low * b) >> 3);  // of a packed type, down
    const std::uint64_t last = view.count() ? view.offset + static_cast<std::uint64_t>(((high + 1) * b + 7) / 8) : first + 1;
    const bool writes = is_written(view.buffer);
    const auto shared = writes ? std::ranges::find(slots_, view.buffer, [](const Slot& s) { return s.binding.buffer; })
                               : slots_.end();
    op.binding = static_cast<int>(shared - slots_.begin());
    if (shared == slots_.end()) {
      slots_.push_back({{view.buffer, 0, 0, writes ? gpu::Access::read_write : gpu::Access::read}, op.element, first, last});
      continue;
    }
    // Operands that see their common buffer differently all see words.
    if (shared->element != op.element) {
      const bool raw = !op.width || !std::ranges::find(operands_, op.binding, &Operand::binding)->width;
      if (raw) {
        throw InvalidArgument("{}: operand {} ({}) shares its buffer with an output that is accessed as {}; give it its own",
                              kernel_, op.name, to_string(view), shared->element);
      }
      const bool atomic = shared->element == "atomic<u32>" || op.element == "atomic<u32>";
      shared->element = atomic ? "atomic<u32>" : "u32";
    }
    shared->first = std::min(shared->first, first);
    shared->last = std::max(shared->last, last);
    key_ += std::format("|{}={}", op.name, op.binding);
  }
  for (Slot& slot : slots_) {
    const std::uint64_t alignment = capabilities_.storage_alignment;
    slot.binding.offset = slot.first / alignment * alignment;
    const std::uint64_t end = std::min((slot.last + 15) / 16 * 16, slot.binding.buffer.size() / 4 * 4);
    slot.binding.size = std::max<std::uint64_t>(end, slot.binding.offset + 4) - slot.binding.offset;
    if (slot.binding.size > capabilities_.max_binding) {
      throw Unsupported("{}: a binding of {} bytes is past this device's limit of {}", kernel_, slot.binding.size,
                        capabilities_.max_binding);
    }
  }
  if (slots_.size() > capabilities_.max_storage_buffers) {
    throw Unsupported("{}: {} storage buffers, this device takes {}", kernel_, slots_.size(),
                      capabilities_.max_storage_buffers);
  }
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    const Operand& op = operands_[i];
    const std::uint64_t bytes = views_[i].offset - slots_[op.binding].binding.offset;
    const std::uint64_t unit_bits = op.width ? bits(op.dtype) : static_cast<std::uint64_t>(element_bytes_[i]) * 8;
    if (bytes * 8 % unit_bits != 0) {
      throw InvalidArgument("{}: operand {} starts {} bytes into its buffer, not a multiple of {} bits", kernel_, op.name,
                            views_[i].offset, unit_bits);
    }
    index_param(op.name + "_o", static_cast<std::int64_t>(bytes * 8 / unit_bits));
  }
}

std::string Call::prelude() const {
  std::string s;
  for (const auto& e : enables_) s += std::format("enable {};\n", e);
  s += "struct Params {\n";
  for (const Param& p : params_) {
    s += std::format("  {}: {},\n", p.name, p.type == 'u' ? "u32" : p.type == 'i' ? "i32" : "f32");
  }
  s += "}\n@group(0) @binding(0) var<uniform> p: Params;\n";
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const bool writes = slots_[i].binding.access == gpu::Access::read_write;
    // The first operand of a slot names its variable.
    const auto owner = std::ranges::find(operands_, static_cast<int>(i), &Operand::binding);
    s += std::format("@group(0) @binding({}) var<storage, {}> {}_buf: array<{}>;\n", i + 1,
                     writes ? "read_write" : "read", owner->name, slots_[i].element);
  }
  for (const Operand& op : operands_) {
    if (!op.width) continue;
    const auto owner = std::ranges::find(operands_, op.binding, &Operand::binding);
    auto accessors = [&] {
      return Accessors(op.name, owner->name + "_buf", slots_[op.binding].element, op.dtype, op.width);
    };
    if (op.loads) s += accessors().loads();
    if (op.stores) s += accessors().stores(!op.loads);
    if (op.updates) s += accessors().conversions();
  }
  if (iterate_rank_ >= 0) {
    const int rank = std::max(iterate_rank_, 1);
    s += std::format("alias Coords = array<u32, {}>;\nfn coords(i: u32) -> Coords {{\n  var c: Coords;\n", rank);
    if (iterate_rank_ > 1) s += "  var r = i;\n";
    for (int d = iterate_rank_ - 1; d > 0; --d) s += std::format("  c[{0}] = r % p.n{0}; r = r / p.n{0};\n", d);
    s += std::format("  c[0] = {};\n  return c;\n}}\n", iterate_rank_ > 1 ? "r" : "i");
  }
  for (const auto& [operand, rank] : strided_) {
    s += std::format("fn at_{}(c: Coords) -> u32 {{ return ", operand);
    for (int d = 0; d < rank; ++d) s += std::format("{}c[{}] * p.{}_s{}", d ? " + " : "", d, operand, d);
    s += rank ? "; }\n" : "0u; }\n";
  }
  s += "fn group_index(wg: vec3<u32>, n: vec3<u32>) -> u32 { return p.first_group + wg.x + n.x * (wg.y + n.y * wg.z); }\n";
  return s;
}

std::string Call::wgsl() const {
  nlohmann::ordered_json context;
  for (const auto& [name, value] : variables_) context[name] = nlohmann::ordered_json::parse(value);
  context["subgroups"] = capabilities_.subgroups;
  std::string text;
  for (const auto& name : includes_) text += kernel_source(name);
  text += kernel_source(kernel_);
  std::string result = prelude();
  if (expression_) result += expression_wgsl(*expression_, expression_width_);
  if (expression_ && near_) result += expression_near_wgsl(*expression_, device_exp2(commands_.device()));
  result += render_template(text, context);
  // A function that the text declares is not taken from the library.
  if (result.find("narrow_f16") != std::string::npos) result += f16_packing(commands_.device());
  return result + library_for(result, [&] { return device_exp2(commands_.device()); });
}

Call& Call::cost(const Work& work) {
  work_ = work;
  return *this;
}

Call& Call::variant(std::string_view name, std::string_view why) {
  variant_ = name;
  why_ = why;
  return *this;
}

Work Call::work() const {
  Work w = work_.value_or(Work{});
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    if (operands_[i].stores) elements = std::max(elements, views_[i].count());
    if (!work_ || work_->bytes == 0) w.bytes += touched_bytes(views_[i]);
  }
  if (!work_ && expression_) {
    w.flops = static_cast<double>(elements) * expression_->operation_count();
    w.functions = static_cast<double>(elements) * expression_->cost();
  }
  return w;
}

// What comes before the first dispatch: bindings, and the whole key. The last parameter is the first workgroup.
void Call::prepare() {
  resolve_bindings();
  param("first_group", 0u);
  for (const auto& [name, value] : variables_) key_ += std::format(";{}={}", name, value);
  for (const auto& name : includes_) key_ += "+" + name;
  for (const auto& name : enables_) key_ += "!" + name;
  for (const auto& p : params_) key_ += std::format(",{}{}", p.type, p.name);
}

void Call::record(std::string_view label, const std::array<std::uint32_t, 3>& workgroups, const Work& work) {
  std::vector<gpu::Binding> bindings;
  for (const Slot& slot : slots_) bindings.push_back(slot.binding);
  commands_.dispatch({.key = key_,
                      .make_wgsl = [this] { return stored_wgsl(); },
                      .bindings = bindings,
                      .params = std::as_bytes(std::span(param_values_)),
                      .workgroups = workgroups,
                      .label = label,
                      .work = work,
                      .variant = variant_,
                      .why = why_});
}

std::string Call::stored_wgsl() const {
  gpu::DiskCache* const cache = commands_.device().impl().cache;
  if (!cache || sources_fingerprint().empty()) return wgsl();
  const std::string name = std::format("wgsl {} {}{}: {}", sources_fingerprint(), capabilities_.minimum ? "minimum " : "",
                                       capabilities_.subgroups ? "subgroups" : "plain", key_);
  const auto key = std::as_bytes(std::span(name));
  const std::vector<std::byte> stored = cache->load(key);
  if (!stored.empty()) return std::string(reinterpret_cast<const char*>(stored.data()), stored.size());
  std::string text = wgsl();
  cache->store(key, std::as_bytes(std::span(text)));
  return text;
}

void Call::dispatch(std::string_view label, std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  if (x == 0 || y == 0 || z == 0) return;
  prepare();
  record(label, {x, y, z}, work());
}

void Call::dispatch_groups(std::string_view label, std::int64_t count) {
  if (count <= 0) return;
  const std::int64_t limit = capabilities_.max_workgroups;
  if (count > limit * limit) {
    throw Unsupported("{}: {} workgroups, more than two dimensions of {} hold", kernel_, count, limit);
  }
  prepare();
  const Work whole = work();
  // Of each part but the last the grid is exact: no workgroup runs twice, which work in place could not bear.
  const double parts = std::min(std::ceil(whole.amount() / capabilities_.max_dispatch_work), static_cast<double>(count));
  std::int64_t part = parts > 1 ? ceil_div(count, static_cast<std::int64_t>(parts)) : count;
  if (part > limit && part < count) part = std::min(ceil_div(part, limit) * limit, count);
  for (std::int64_t first = 0; first < count; first += part) {
    const std::int64_t size = std::min(part, count - first);
    const std::int64_t y = size == part && part < count && part > limit ? part / limit : ceil_div(size, limit);
    const std::int64_t x = ceil_div(size, y);
    param_values_.back() = static_cast<std::uint32_t>(first);
    Work share = whole;
    const double fraction = static_cast<double>(size) / static_cast<double>(count);
    share.bytes = static_cast<std::uint64_t>(static_cast<double>(whole.bytes) * fraction);
    share.flops *= fraction;
    share.functions *= fraction;
    record(label, {static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y), 1}, size == count ? whole : share);
  }
}

}  // namespace weft::kernels
