// Random problems for the elementwise kernels: every function on every type that it supports, and casts between all
// types.
#include "kernels/elementwise/elementwise.h"
#include "scalar_cases.h"
#include "support/differential.h"
#include "weft/kernels/copy.h"

namespace weft::test {
namespace {

constexpr DType kEvery[] = {DType::f32, DType::f16, DType::bf16, DType::f8e4m3,  DType::f8e5m2,
                            DType::i8,  DType::i16, DType::i32,  DType::i64,     DType::u8,
                            DType::u16, DType::u32, DType::u64,  DType::boolean, DType::c64,
                            DType::i4,  DType::u4,  DType::i2,   DType::u2};

// An operation with that many operands, and a type that it supports; floats, and f32 among them, are common.
std::pair<ScalarOp, DType> random_operation(Rng& rng, int operands) {
  while (true) {
    const auto op = static_cast<ScalarOp>(random_int(rng, static_cast<int>(ScalarOp::neg), kScalarOpCount - 1));
    const DType type = rng() % 4 ? pick(rng, kEvery) : DType::f32;
    if (arity(op) == operands && takes(op, type)) return {op, type};
  }
}

Problem random_problem(Rng& rng, int operands) {
  const auto [op, type] = random_operation(rng, operands);
  const Expression e = one_op(op, type);
  const Shape shape = random_shape(rng);
  Problem problem;
  problem.what = std::format("{} {}", name(op), to_string(shape));
  for (const auto& node : e.nodes()) {
    if (node.op != ScalarOp::input) continue;
    const Shape from = operands == 1 ? shape : random_broadcast(rng, shape);
    problem.inputs.push_back(random_view(rng, from, node.type, random_input_kind(rng), values_for(op, type)));
    problem.what += " " + to_string(problem.inputs.back());
  }
  // A broadcast view's elements share memory: setting one sets them all.
  make_fit(op, type, problem.inputs, rng.details());
  problem.outputs.push_back(random_view(rng, shape, e.output_type(0), random_output_kind(rng)));
  problem.call = call_of(e);
  problem.tolerance = tolerance(op, type);
  return problem;
}

const bool unary = differential("unary", [](Rng& rng) { return random_problem(rng, 1); });
const bool binary = differential("binary", [](Rng& rng) { return random_problem(rng, 2); });
const bool ternary = differential("ternary", [](Rng& rng) { return random_problem(rng, 3); });

const bool functions_by_name = differential("elementwise", [](Rng& rng) {
  constexpr DType kFloats[] = {DType::f32, DType::f16, DType::bf16};
  std::vector<FunctionInfo> composites;
  std::ranges::copy_if(functions(), std::back_inserter(composites), [](const auto& f) { return !scalar_op(f.name); });
  const FunctionInfo f = pick(rng, std::span<const FunctionInfo>(composites));
  const DType type = pick(rng, kFloats);
  std::vector<double> parameters;
  for (const FunctionParameter& p : f.parameters) parameters.push_back(p.default_value + 0.125 * random_int(rng, 0, 4));
  const Shape shape = random_shape(rng);
  const View x = random_view(rng, shape, type, random_input_kind(rng), Values::special);
  flush_denormals(x);
  const View y = random_view(rng, shape, type, random_output_kind(rng));
  return Problem{
      std::format("{} {}", f.name, to_string(x)),
      {x},
      {y},
      [f, parameters](Stream& s, auto in, auto out) { kernels::elementwise(s, f.name, in, out[0], parameters); },
      composite_tolerance(type)};
});

const bool casts = differential("cast", [](Rng& rng) {
  // On a GPU f64 is only bits, which it converts by integer operations.
  const auto type = [&] { return rng() % 16 ? pick(rng, kEvery) : DType::f64; };
  const DType from = type(), to = type();
  const Shape shape = random_shape(rng);
  const View x = random_view(rng, random_broadcast(rng, shape), from, random_input_kind(rng), Values::special);
  const View y = random_view(rng, shape, to, random_output_kind(rng));
  return Problem{std::format("{} to {}", to_string(x), to_string(y)),
                 {x},
                 {y},
                 [](Stream& s, auto in, auto out) { kernels::copy(s, in[0], out[0]); },
                 Tolerance{}};
});

// With four groups a thread, LLVM 21 loses stores on llvmpipe (not with GALLIVM_PERF=nopt), for which the kernel would
// choose one group.
kernels::MapForm form_for(Stream& s, kernels::MapForm form) {
  if (s.gpu() && s.gpu()->device().capabilities().software && form.unroll * std::max(form.width, 4) >= 16) {
    form.unroll = form.width > 4 ? 1 : 3;
  }
  return form;
}

// Several types and outputs in one expression, with inputs that broadcast; also in the forms for large tensors.
const bool maps = differential("map", [](Rng& rng) {
  constexpr DType kMixed[] = {DType::f32, DType::f16, DType::bf16, DType::i32, DType::u8, DType::i64, DType::boolean};
  const Shape shape = random_shape(rng);
  Expression e;
  Problem problem;
  int sum = e.constant(0.5, DType::f32);
  const int operands = random_int(rng, 1, 4);
  for (int i = 0; i < operands; ++i) {
    const DType type = pick(rng, kMixed);
    problem.inputs.push_back(random_view(rng, random_broadcast(rng, shape), type, random_input_kind(rng)));
    sum = e.apply(ScalarOp::add, {sum, e.cast(e.input(type), DType::f32)});
  }
  const DType second = pick(rng, kMixed);
  e.output(sum);
  e.output(e.cast(e.apply(ScalarOp::floor, {sum}), second));
  problem.outputs = {random_view(rng, shape, DType::f32, random_output_kind(rng)),
                     random_view(rng, shape, second, random_output_kind(rng))};
  const int unroll = random_int(rng, 0, 4);
  problem.what = std::format("{} by {} groups", e.to_string(), unroll);
  problem.call = [e, unroll](Stream& s, auto in, auto out) {
    kernels::map(s, "map", e, in, out, form_for(s, {.unroll = unroll}));
  };
  return problem;
});

// One result of a function whose arguments a thread tests together, of which a few are outside the fast path's range or
// NaN, in the forms for large tensors: rows of whole workgroups, partial workgroups, unaligned rows; also in place.
const bool far_maps = differential("map_far", [](Rng& rng) {
  using enum ScalarOp;
  constexpr DType kTypes[] = {DType::f32, DType::f16, DType::bf16};
  constexpr ScalarOp kFunctions[] = {ScalarOp::lgamma, ScalarOp::digamma, gelu_erf, silu,
                                     ScalarOp::tanh,   softplus,          add};
  const DType type = pick(rng, kTypes);
  const ScalarOp op = pick(rng, kFunctions);
  const int groups = random_int(rng, 1, 4), width = bits(type) < 32 && rng() % 2 ? 8 : 4;
  const bool whole = rng() % 2;
  const std::int64_t block = 128 * width * groups;
  const Shape shape = whole ? Shape{random_int(rng.details(), 1, 3), block * random_int(rng.details(), 1, 3)}
                            : random_shape(rng, 1, 3, 8192, false);
  Problem problem;
  Expression e;
  int argument = e.input(type);
  const Kind kind = whole ? Kind::dense : random_output_kind(rng);
  problem.inputs.push_back(random_view(rng, shape, type, kind));
  if (op == add || rng() % 2) {
    argument = e.apply(add, {argument, e.input(type)});
    problem.inputs.push_back(random_view(rng, random_broadcast(rng, shape), type, random_input_kind(rng)));
  }
  e.output(op == add ? argument : e.apply(op, {argument}));
  const View& x = problem.inputs[0];
  flush_denormals(x);
  problem.outputs.push_back(rng() % 4 == 0 ? x : random_view(rng, shape, type, kind));
  for (std::int64_t i = 0; i < x.count(); ++i) {
    const std::uint64_t chance = rng.details()() % 512;  // NaN, -120
    if (chance == 0) set_element_bits(x, i, type == DType::f32 ? 0x7fc00000 : type == DType::f16 ? 0x7e00 : 0x7fc0);
    if (chance == 1) set_element_bits(x, i, type == DType::f32 ? 0xc2f00000 : type == DType::f16 ? 0xd780 : 0xc2f0);
  }
  problem.what = std::format("{} {} by {} groups of {}", e.to_string(), to_string(x), groups, width);
  problem.call = [e, form = kernels::MapForm{width, groups}](Stream& s, auto in, auto out) {
    kernels::map(s, "map", e, in, out, form_for(s, form));
  };
  problem.tolerance = tolerance(op, type);
  return problem;
});

}  // namespace
}  // namespace weft::test
