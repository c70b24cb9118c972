// Fourier transforms with elementwise work before and after: against the same work as kernels of its own.
#include <cmath>

#include "kernels/operands.h"
#include "support/differential.h"
#include "weft/expressions.h"
#include "weft/kernels/elementwise.h"
#include "weft/kernels/fft.h"

namespace weft::test {
namespace {

using kernels::FftKind;

View dense(DType type, const Shape& shape) {
  return View(Buffer::host(byte_size(type, static_cast<std::uint64_t>(element_count(shape)))), 0, type, shape);
}

// x · window, in the type that the transform takes.
Expression windowed(DType x, DType window, DType to) {
  Expression e;
  const int a = e.input(x), b = e.input(window);
  e.output(e.apply(ScalarOp::mul, {x == to ? a : e.cast(a, to), window == to ? b : e.cast(b, to)}));
  return e;
}

// |result| + operand, or of real results result · operand, as `to`.
Expression magnitude(DType result, DType operand, DType to) {
  Expression e;
  const int value = e.input(result), b = e.input(operand);
  const int beside = operand == DType::f32 ? b : e.cast(b, DType::f32);
  const int v = result == DType::c64 ? e.apply(ScalarOp::add, {e.apply(ScalarOp::abs, {value}), beside})
                                     : e.apply(ScalarOp::mul, {value, beside});
  e.output(to == DType::f32 ? v : e.cast(v, to));
  return e;
}

Problem random_problem_of(Rng& rng) {
  constexpr FftKind kKinds[] = {FftKind::complex, FftKind::real_to_complex, FftKind::complex_to_real};
  constexpr DType kReal[] = {DType::f32, DType::f16, DType::bf16};
  constexpr int kLengths[] = {1, 5, 16, 34, 100, 512};
  const FftKind kind = pick(rng, kKinds);
  const bool before = rng() % 4 != 0, after = !before || rng() % 3 != 0;
  const kernels::FftOptions o{.length = pick(rng, kLengths), .inverse = rng() % 2 == 0, .scale = 0.5};
  const bool real_in = kind == FftKind::real_to_complex, real_out = kind == FftKind::complex_to_real;
  const std::int64_t whole = real_out ? o.length / 2 + 1 : o.length, results = real_in ? o.length / 2 + 1 : o.length;
  Shape shape = random_shape(rng, 1, 5, 1000);
  const int axis = random_int(rng, 0, shape.rank() - 1);
  const DType taken = real_in ? DType::f32 : DType::c64, result = real_out ? DType::f32 : DType::c64;
  const DType stored = real_in ? pick(rng, kReal) : rng() % 2 && before ? DType::f32 : DType::c64;
  const DType made = after ? pick(rng, kReal) : real_out ? DType::f32 : DType::c64;
  const DType beside = pick(rng, kReal), window = real_in || rng() % 2 ? pick(rng, kReal) : DType::c64;
  Problem p;
  Shape from = shape, to = shape;
  from[axis] = rng() % 2 ? whole : random_int(rng, 0, static_cast<int>(2 * whole));
  to[axis] = results;
  p.inputs = {random_view(rng, from, stored, random_input_kind(rng))};
  p.outputs = {random_view(rng, to, made, random_output_kind(rng))};
  std::shared_ptr<Expression> prologue, epilogue;
  if (before) {
    p.inputs.push_back(random_view(rng, random_broadcast(rng, from), window));
    prologue = std::make_shared<Expression>(windowed(stored, window, taken));
  }
  if (after) {
    p.inputs.push_back(random_view(rng, rng() % 2 ? to : random_broadcast(rng, to), beside));
    epilogue = std::make_shared<Expression>(magnitude(result, beside, made));
  }
  p.what = std::format("fft of {} to {}, kind {}, axis {}, length {}{}{}{}", to_string(p.inputs[0]),
                       to_string(p.outputs[0]), static_cast<int>(kind), axis, o.length, o.inverse ? ", inverse" : "",
                       before ? ", prologue " + prologue->to_string() + " of " + to_string(p.inputs[1]) : "",
                       after ? ", epilogue " + epilogue->to_string() + " of " + to_string(p.inputs.back()) : "");
  p.call = [=](Stream& s, auto in, auto out) {
    const kernels::Prologue b = before ? kernels::Prologue{prologue.get(), in.subspan(1, 1)} : kernels::Prologue{};
    const kernels::Epilogue e = after ? kernels::Epilogue{epilogue.get(), in.last(1)} : kernels::Epilogue{};
    kernels::fft(s, kind, in[0], out[0], axis, o, {b, e});
  };
  p.reference = [=](Stream& s, auto in, auto out) {
    View given = in[0], last = out[0];
    if (before) {
      given = dense(taken, from);
      kernels::map(s, *prologue, in.first(2), std::span(&given, 1));
    }
    if (after) last = dense(result, to);
    kernels::fft(s, kind, given, last, axis, o);
    if (!after) return;
    const View operands[] = {last, in.back()};
    kernels::map(s, *epilogue, operands, out);
  };
  const double step = made == DType::f16 ? 0x1p-10 : made == DType::bf16 ? 0x1p-7 : 0;
  // Values and windows are below 4 or so; a product of both below 16, and a sum of n of them mostly below 16 sqrt(n).
  const double largest = 16 * std::sqrt(static_cast<double>(o.length));
  p.tolerance = {.absolute = largest * 4e-6 * std::log2(2.0 + static_cast<double>(o.length)), .relative = step + 1e-5};
  return p;
}

const bool registered = differential("fft_fused", random_problem_of, 3);

}  // namespace
}  // namespace weft::test
