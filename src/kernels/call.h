// One launch of a GPU kernel: builds the shader's head and records the dispatch, for all kernel families.
//
// A launcher names its operands, template variables and parameters. Call writes the head of the shader from them, in
// front of the rendered template (Jinja: {{ variable }}, {% if … %}), so that host and WGSL cannot disagree. The
// template starts at @compute fn main. The head declares:
//
//   for an operand `a`            alias a_t (the type a value computes in: f32, i32, u32; vec2<u32> for 64-bit integers
//                                 and f64's bits; vec2<f32> for complex),
//                                 fn load_a(i: u32) -> a_t          element i, counted from the view's first element
//                                 fn word_a(i: u32) -> u32          the word that element i is in, of narrow types
//                                 fn load4_a(i: u32) -> vec4<a_t>   elements i…i+3 (width 4; offset + i divisible by 4)
//                                 fn words4_a(i: u32) -> vec2<u32>, fn widen4_a(w: vec2<u32>) -> vec4<a_t>: the same in
//                                 two steps, for 16-bit types
//                                 fn four_a(k: u32) -> vec2<u32>, fn store_four_a(k: u32, w: vec2<u32>): the words of
//                                 four elements, by k = (p.a_o + i) / 4, which takes fewer operations (not with
//                                 `pair_stride`)
//                                 fn words_a(i: u32) -> vec4<u32>, fn four0_a(words) -> vec4<a_t>, fn four1_a, …: of
//                                 widths 8 and 16 (which have no load_a), all words (a vec2 for 8 elements of 8 bits),
//                                 and each four elements of them
//                                 fn store_a(i: u32, v: a_t), fn store4_a(i: u32, v: vec4<a_t>)   if it is written
//                                 fn store_wide_a(i: u32, v0: vec4<a_t>, v1: …)   of widths 8 and 16
//                                 fn store4_edge_a(i, v, inside: vec4<bool>)   with `pair_stride`: those of the four
//                                 elements that are inside
//   for a parameter `n`           p.n
//   after iterate(shape)          alias Coords = array<u32, rank>; fn coords(i: u32) -> Coords   row-major split of i
//   after strides("a", strides)   fn at_a(c: Coords) -> u32         for load_a and store_a
//                                 for bf16 also store4_no_ties_a (store_wide_no_ties_a), for values of which none is
//                                 NaN or halfway between two bf16, and store4_no_nan_a, for values without NaN
//   after expression(e, width)    fn expression(x0: …, x1: …) -> …   (elementwise/expression_wgsl.h)
//   the functions of common/*.wgsl that the text calls (exp_f32, narrow_bits, add_64, …)
//   always                        fn group_index(wg: vec3<u32>, n: vec3<u32>) -> u32, from @builtin(workgroup_id) and
//                                 @builtin(num_workgroups): undoes the folding of grids past 65,535 workgroups
//
// Stores of types narrower than 32 bits: store4 owns whole words; so does store4_part, which keeps the other elements'
// bits, but not atomically. store4_edge and stores of width 1 merge their bits into the word atomically. Width 4 has no
// store of one element. An operand that is read and shares its buffer with one that is written uses the same binding,
// since WebGPU forbids one buffer as read and read_write in a dispatch; overlapping views must then be the very same
// view.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/accessors.h"
#include "kernels/elementwise/expression_wgsl.h"
#include "kernels/options.h"
#include "kernels/shader_head.h"
#include "weft/expression.h"
#include "weft/gpu.h"

namespace weft::kernels {

class Call {
 public:
  // `kernel` is the WGSL template's file name without its ending.
  Call(gpu::Commands& commands, std::string_view kernel);

  const gpu::Capabilities& capabilities() const { return capabilities_; }
  const gpu::Device& device() const { return commands_.device(); }

  // Operands, in the order of their bindings. `width` 4 needs can_vectorise(view); 8 or 16, of types of 8 and 16 bits
  // and at most 16 bytes, need the same with multiples of 8 or 16.
  // `pair_stride`, for 16-bit types at width 4: a group of four elements is loaded as two 32-bit words `pair_stride`
  // words apart; the first word need only be 4-byte aligned, and may be before the view's first element. kUnaligned: a
  // group is contiguous and begins anywhere.
  static constexpr std::uint32_t kUnaligned = kUnalignedPairs;
  Call& read(std::string_view name, const View& view, int width = 1, std::uint32_t pair_stride = 0);
  Call& write(std::string_view name, const View& view, int width = 1, std::uint32_t pair_stride = 0);
  // Like write, with load_… as well.
  Call& read_write(std::string_view name, const View& view, int width = 1);
  // Like read_write, in atomic words whatever the type (up to 32 bits), for read-modify-write by compare-exchange:
  // element i is bits (k % n) · size… of <name>_buf[k / n], k = p.<name>_o + i, n elements a word;
  // fn widen_<name>(bits: u32) -> <name>_t takes the low bits of a word, fn narrow_<name>(v: <name>_t) -> u32 gives
  // them. Named first of the operands, so that the buffer's variable is its own.
  Call& update(std::string_view name, const View& view);
  // Called before the operands are named: operands of widths above 1 begin at, and have strides of, multiples of that
  // many elements in every launch of this form, so that compilers need not divide each offset + i. Instead of
  // p.<name>_o there is then p.<name>_o4, in units of four elements, or p.<name>_o8, or p.<name>_o16.
  Call& assume_aligned(int elements);
  // An operand without accessors: the template reaches `<name>_buf`, declared as array<element>, by itself;
  // p.<name>_o is the view's offset within the binding, in units of `element_bytes`.
  Call& raw(std::string_view name, const View& view, std::string_view element, int element_bytes, gpu::Access access);

  // Template variables: part of the pipeline's key. Their values are those that the templates list (options.h).
  Call& set(std::string_view name, std::int64_t value);
  Call& set(std::string_view name, bool value);
  Call& set(std::string_view name, std::string_view value);
  Call& set(std::string_view name, const char* value) { return set(name, std::string_view(value)); }
  Call& set(std::string_view name, const std::vector<std::string>& values);
  Call& set(std::string_view name, int value) { return set(name, std::int64_t{value}); }
  Call& set(std::string_view name, std::uint32_t value) { return set(name, std::int64_t{value}); }
  // Adds another template's text in front of the kernel's own (helpers that several families share).
  Call& include(std::string_view kernel);
  // Declares fn expression, and with `fast_path` fn expression_fast. `expression` must live until the call is recorded.
  Call& expression(const Expression& expression, ExpressionRole role, int width = 1, bool fast_path = false);
  // Sets the template variable `epilogue` to the text of fn epilogue, whose results are stored; empty for null.
  Call& epilogue(const Expression* expression, int width);
  // An `enable …;` directive.
  Call& enable(std::string_view extension);

  // Attributes of the uniform block `p`: may differ from call to call under one pipeline.
  Call& param(std::string_view name, std::uint32_t value);
  Call& param(std::string_view name, std::int32_t value);
  Call& param(std::string_view name, float value);
  // Adds p.opaque_zero, a zero whose value compilers cannot know, unless it was added before.
  Call& opaque_zero();
  // Adds p.opaque_start, another such zero, from which loops begin: where a loop's test holds, compilers know what the
  // zero is that it began from, and would simplify by that what opaque_zero is to preserve.
  Call& opaque_start();
  // A count, size or stride as u32; strides may be negative (two's complement; WGSL's u32 arithmetic wraps).
  // Throws Unsupported past 2³².
  Call& index_param(std::string_view name, std::int64_t value);

  Call& iterate(const Shape& shape);
  Call& strides(std::string_view operand, const Strides& strides);

  // The call's work, for profiles and estimates. Default: it touches its operands' bytes once and does the expression's
  // operations once for each element of the largest operand written.
  Call& cost(const Work& work);
  // Workgroups exchange partial results: dispatch_groups must not cut the launch into several dispatches.
  Call& single_dispatch();
  // The form of the kernel, and why this one: "tile_64x64x16_8x4", "the largest tile that fills the GPU".
  Call& variant(std::string_view name, std::string_view why);

  // Records the call. dispatch(…) takes workgroups as they are; dispatch_groups folds a long row of workgroups, and
  // cuts one that could take longer than a watchdog waits (Capabilities::max_dispatch_work) into several dispatches.
  void dispatch(std::string_view label, std::uint32_t x, std::uint32_t y = 1, std::uint32_t z = 1);
  void dispatch_groups(std::string_view label, std::int64_t count);

 private:
  Call& operand(std::string_view name, const View& view, int width, bool loads, bool stores,
                std::uint32_t pair_stride = 0);
  Call& zero_param(std::string_view name);
  void add_param(std::string_view name, char type, std::uint32_t bits);
  // Takes the operand added last as a parameter.
  void add_number(const View& view);
  Work work() const;
  // The kernel, its variant and operands and the device, for an error.
  std::string describe() const;
  void prepare();
  void record(std::string_view label, const std::array<std::uint32_t, 3>& workgroups, const Work& work);
  std::string wgsl() const;
  // The same, read from disk if an earlier process stored it there: rendering takes longer than reading.
  std::string stored_wgsl() const;

  gpu::Commands& commands_;
  const gpu::Capabilities& capabilities_;
  std::string kernel_;
  std::string key_;
  ShaderHead head_;
  std::vector<View> views_;
  std::vector<gpu::NumberParam> numbers_;
  OptionValues variables_;
  std::vector<std::string> includes_;
  std::vector<std::uint32_t> param_values_;
  const Expression* expression_ = nullptr;
  int expression_width_ = 1;
  bool fast_path_ = false;
  ExpressionRole role_ = ExpressionRole::map;
  std::optional<Work> work_;
  std::string variant_, why_;
  bool single_dispatch_ = false;
};

// True if a kernel on that many elements is small enough for one dispatch, which it must be if workgroups exchange
// partial results. Operations count as `bytes_each` bytes an element.
bool is_one_dispatch(const gpu::Capabilities& capabilities, std::int64_t elements, int bytes_each);

// True if elements can be taken four at a time along the last axis: it is contiguous (or the view is one run), all
// other strides, the offset and the last size are multiples of four. Never for 64-bit and packed types.
bool can_vectorise(const View& view);

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// A workgroup size of at most `wanted` that the device allows.
std::uint32_t workgroup_size(const gpu::Capabilities& capabilities, std::uint32_t wanted);

}  // namespace weft::kernels
