// Copies that are not in weft_bench, and all forms of a transposition.
#include <array>
#include <format>

#include "bench.h"
#include "kernels/copy/copy.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/scalar_ops.h"

namespace weft::bench {
namespace {

using Views = ColdCase::Views;

void copies(KernelBench& b) {
  for (const DType type : {DType::f32, DType::f16, DType::u8}) {
    const TensorType line = b.tensor(type, {-1}), heads = b.tensor(type, {-1, 512, 16, 64});
    const TensorType swapped{type, {heads.shape[0], 16, 512, 64}};
    for (const std::uint64_t offset : {0, 4}) {
      b.measure({.name = std::format("copy from byte {} {} {}", offset, name(type), to_string(line.shape)),
                 .inputs = {line},
                 .outputs = {line},
                 .moved = 2,
                 .call = [&](Stream& s, Views v) {
                   const auto part = [&](const View& v, std::uint64_t offset) {
                     return View(v.buffer, v.offset + offset, type, {v.count() - 32 / bits(type)});
                   };
                   kernels::copy(s, part(v[0], offset), part(v[1], 0));
                 }});
    }
    b.measure({.name = std::format("permute 0213 {} {}", name(type), to_string(heads.shape)),
               .inputs = {heads},
               .outputs = {swapped},
               .moved = 2,
               .call = [](Stream& s, Views v) { kernels::copy(s, v[0].permuted(std::array{0, 2, 1, 3}), v[1]); }});
  }
}

void transpositions(KernelBench& b) {
  if (!b.device().is_gpu()) return;
  std::vector<kernels::TransposeForm> forms;
  for (const std::uint32_t tile : {4, 8, 16, 32, 64}) {
    for (const bool b_first : {false, true}) {
      if (tile > 4) forms.push_back({true, tile, b_first, true});
      forms.push_back({true, tile, b_first});
      for (const std::uint32_t tile_b : {32, 64, 128}) {
        if (tile > 8) forms.push_back({false, tile, b_first, false, tile_b});
      }
    }
  }
  for (const DType type : {DType::u32, DType::u16, DType::u8}) {
    for (const std::int64_t side : {1024, 4099, 8192, 16384}) {
      const TensorType x{type, {side, side}};
      if (byte_size(x) > static_cast<std::uint64_t>(b.bytes())) continue;
      const View from = b.poisoned(x.shape, type), to = b.poisoned(x.shape, type);
      for (const auto& form : forms) {
        const auto transpose = [&](Stream& s, const View& x, const View& y) {
          return kernels::transpose_gpu(*s.gpu(), x.permuted(std::array{1, 0}), y, form);
        };
        gpu::Encoder trial(b.device().gpu());  // dropped
        if (!transpose(trial, from, to)) continue;
        const char* how = form.words ? "words" : form.direct ? "direct" : "tile";
        b.measure({.name = std::format("transpose {} {} {} {}x{} {} first", name(type), to_string(x.shape), how,
                                       form.tile, form.tile_b, form.b_first ? "b" : "a"),
                   .inputs = {x},
                   .outputs = {x},
                   .moved = 2,
                   .call = [&](Stream& s, Views v) { transpose(s, v[0], v[1]); }});
      }
    }
  }
}

// An elementwise function on operands of --mebibytes.
void measure(KernelBench& b, const FunctionInfo& f, DType type, const kernels::MapForm& form,
             const std::string& label) {
  const TensorType x = b.tensor(type, {-1});
  const std::vector<TensorType> inputs(static_cast<std::size_t>(f.operands), x);
  const Expression e = function_expression(f.name, std::vector<DType>(inputs.size(), type));
  const TensorType y{e.output_type(0), x.shape};
  // The range in which these functions have values.
  const bool above_0 = f.name.starts_with("log") || f.name == "sqrt" || f.name == "rsqrt" || f.name == "pow";
  b.measure(
      {.name = std::format("{} {} {}{}", f.name, name(type), to_string(x.shape), label),
       .inputs = inputs,
       .outputs = {y},
       .moved = static_cast<double>(f.operands) + static_cast<double>(byte_size(y)) / static_cast<double>(byte_size(x)),
       .call = [&](Stream& s,
                   Views v) { kernels::map(s, f.name, e, v.first(inputs.size()), v.subspan(inputs.size()), form); },
       .low = f.name == "acosh" ? 1.0f
              : above_0         ? 0.1f
                                : -1.0f,
       .high = f.name == "acosh" ? 3.0f : 1.0f});
}

// All functions of floats.
void functions(KernelBench& b) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    for (const FunctionInfo& f : weft::functions()) {
      const std::optional<ScalarOp> op = scalar_op(f.name);
      if (f.name == "select" || (op && !(kernels::info(*op).types & kernels::type_set(type)))) continue;
      measure(b, f, type, {}, "");
    }
  }
}

// Some functions with all choices of elements for each thread.
void forms(KernelBench& b) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::i8, DType::i64}) {
    for (const char* name : {"relu", "max", "add", "complex", "gelu_erf", "tanh", "silu", "asinh", "sin", "lgamma",
                             "digamma", "pow", "atan2"}) {
      if (!(kernels::info(*scalar_op(name)).types & kernels::type_set(type))) continue;
      const int least = bits(type) == 64 || std::string_view(name) == "complex" ? 1 : 4;
      for (int width = least; width <= std::max(least, 128 / bits(type)); width *= bits(type) == 8 ? 4 : 2) {
        for (int groups = 1; groups <= 4; ++groups) {
          measure(b, *find_function(name), type, {width, groups}, std::format(" by {} groups of {}", groups, width));
        }
        if (least == 1) break;
      }
    }
  }
}

// Five operands, four of which are rows: batch norm with the channels last, in these forms.
void affine(KernelBench& b) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    const TensorType x = b.tensor(type, {-1, 64}), row{type, {64}};
    Expression e;
    const auto of = [&](ScalarOp op, int a, int c) { return e.apply(op, {a, c}); };
    int in[5];
    for (int& i : in) i = e.cast(e.input(type), DType::f32);
    const int factor = e.apply(ScalarOp::rsqrt, {of(ScalarOp::add, in[2], e.constant(1e-5, DType::f32))});
    const int scaled = of(ScalarOp::mul, of(ScalarOp::sub, in[0], in[1]), of(ScalarOp::mul, factor, in[3]));
    e.output(e.cast(of(ScalarOp::add, scaled, in[4]), type));
    for (int width = 4; width <= 128 / bits(type); width *= 2) {
      for (int groups = 1; groups <= 4; ++groups) {
        b.measure(
            {.name = std::format("affine {} {} by {} groups of {}", name(type), to_string(x.shape), groups, width),
             .inputs = {x, row, row, row, row},
             .outputs = {x},
             .moved = 2,
             .call = [&](Stream& s,
                         Views v) { kernels::map(s, "affine", e, v.first(5), v.subspan(5), {width, groups}); },
             .low = 0.1f});
      }
    }
  }
}

const bool registered = register_cases("copy", copies) && register_cases("transpose", transpositions) &&
                        register_cases("functions", functions) && register_cases("forms", forms) &&
                        register_cases("affine", affine);

}  // namespace
}  // namespace weft::bench
