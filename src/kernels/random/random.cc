#include "kernels/random/random.h"

#include <cmath>

#include "core/format.h"
#include "core/round_to_odd.h"
#include "kernels/call.h"
#include "kernels/check.h"
#include "kernels/common/chunks.h"
#include "kernels/common/memory.h"
#include "kernels/common/ordered_key.h"
#include "kernels/plan_cache.h"
#include "weft/error.h"
#include "weft/kernels/random.h"
#include "weft/small_float.h"

namespace weft::kernels {
namespace {

using Form = RandomProblem::Form;
constexpr std::string_view kForms[] = {"bits", "uniform", "normal", "integers", "signed_uniform"};

float rounded(DType type, double value) {
  if (type == DType::f16) return float16(round_to_odd(value));
  if (type == DType::bf16) return bfloat16(round_to_odd(value));
  return static_cast<float>(value);
}

// The largest number of the type below `value`, which is one of its numbers.
float below(DType type, float value) {
  const auto step = [](auto bits) { return bits >> (8 * sizeof bits - 1) ? bits + 1 : bits - 1; };
  if (type == DType::f16) {
    if (value == 0) return -0x1p-24f;
    return float16::from_bits(static_cast<std::uint16_t>(step(float16(value).bits)));
  }
  if (std::abs(value) <= 0x1p-126f) return value > 0 ? 0 : value == 0 ? -0x1p-126f : value * (1 + 0x1p-7f);
  if (type == DType::bf16) return bfloat16::from_bits(static_cast<std::uint16_t>(step(bfloat16(value).bits)));
  return std::bit_cast<float>(step(std::bit_cast<std::uint32_t>(value)));
}

// Fills y from the stream's element `first` on; in parts, one after the other, if y exceeds a binding.
void random_part(gpu::Commands& commands, const RandomProblem& problem, const View& y, std::int64_t first) {
  const std::string name = std::string("random_") += kForms[static_cast<int>(problem.form)];
  AxisMask outermost{};
  for (int d = 0; d < y.rank(); ++d) {
    if (y.shape()[d] > 1 && !std::exchange(outermost[d], true)) break;
  }
  Call call(commands, "random");
  call.include("threefry");
  if (const int axis = axis_to_cut(call.capabilities(), name, y, outermost); axis >= 0) {
    const std::int64_t size = y.shape()[axis], half = first_half(size);
    random_part(commands, problem, chunk_along(y, axis, 0, half), first);
    return random_part(commands, problem, chunk_along(y, axis, half, size - half), first + y.count() / size * half);
  }
  // Four words of the stream at once; with form bits four elements, if these are words.
  const bool whole = problem.form != Form::bits || bits(y.dtype) == 32;
  const int width = whole && y.is_dense() && can_vectorise(y) && first % 4 == 0 ? 4 : 1;
  const std::int64_t groups = y.count() / width;
  const std::uint32_t workgroup = workgroup_size(call.capabilities(), 256);
  call.read("key", problem.key).write("y", y, width);
  call.set("form", kForms[static_cast<int>(problem.form)]).set("width", width).set("workgroup", workgroup);
  const bool wide = problem.form == Form::integers && problem.is_wide();
  call.set("y_bits", bits(y.dtype)).set("wide", wide);
  // No rounding in the conversion of 24 bits to f32.
  call.set("unit", problem.form == Form::uniform && y.dtype == DType::f32 && problem.offset == 0 &&
                       problem.factor == 1 && problem.largest >= 0x1.fffffep-1f);
  if (width == 1) call.iterate(y.shape()).strides("y", y.strides());
  call.index_param("key_step", problem.key.strides()[0])
      .index_param("groups", groups)
      .index_param("first", first / width);
  if (problem.form == Form::integers) {
    call.param("low", static_cast<std::uint32_t>(problem.low))
        .param("low_high", static_cast<std::uint32_t>(problem.low >> 32));
    call.param("range", static_cast<std::uint32_t>(problem.range));
    if (wide) call.param("range_high", static_cast<std::uint32_t>(problem.range >> 32));
  } else if (problem.form == Form::uniform || problem.form == Form::normal) {
    call.param("offset", problem.offset).param("factor", problem.factor).param("largest", problem.largest);
    call.param("zero", 0u);
  }
  call.dispatch_groups(name, ceil_div(groups, workgroup));
}

void random_gpu(gpu::Commands& commands, const RandomProblem& problem) {
  View y = problem.y;
  if (problem.form == Form::bits) {
    y = as_raw(y);
    // Dense memory is filled as words, whatever its type.
    const std::uint64_t bytes = byte_size(y.dtype, static_cast<std::uint64_t>(y.count()));
    if (y.is_dense() && bytes % 4 == 0 && y.offset % 4 == 0) {
      y = View(y.buffer, y.offset, DType::u32, {static_cast<std::int64_t>(bytes / 4)});
    }
  }
  const std::array<Strides, 1> strides{y.strides()};
  const Collapsed c = collapse(y.shape(), strides);
  random_part(commands, problem, y.with_layout({c.shape, c.strides[0]}), 0);
}

void run(Stream& stream, const RandomProblem& problem) {
  const View& key = problem.key;
  const std::string name = std::string("random_") += kForms[static_cast<int>(problem.form)];
  if (key.shape() != Shape{2}) {
    throw InvalidArgument("{}: key is {}; expected u32 [2]", name, to_string(key));
  }
  check_memory(stream, name, {{"key", key}}, {{"y", problem.y}}, Sharing::none);
  if (problem.y.count() == 0) return;
  if (stream.cpu()) return random_cpu(*stream.cpu(), problem);
  random_gpu(*stream.gpu(), problem);
}

}  // namespace

void check_uniform(DType type, double low, double high) {
  const float first = rounded(type, low), last = rounded(type, high);
  if (first < last && std::isfinite(last - first)) return;
  throw InvalidArgument("random_uniform: from {} to {} in {}; expected low < high, not infinitely far apart", low, high,
                        name(type));
}

void check_normal(double mean, double deviation) {
  if (deviation >= 0 && std::isfinite(static_cast<float>(deviation)) && std::isfinite(static_cast<float>(mean))) return;
  throw InvalidArgument("random_normal: mean {}, deviation {}; expected finite numbers, the deviation no less than 0",
                        mean, deviation);
}

void random_bits(Stream& stream, const View& key, const View& y) {
  call(stream, CallKey("random_bits"), {key, y}, [&](Stream& s) {
    check_views("random_bits", {&key}, {&y});
    run(s, {Form::bits, key, y});
  });
}

void random_uniform(Stream& stream, const View& key, double low, double high, const View& y) {
  call(stream, CallKey("random_uniform", low, high), {key, y}, [&](Stream& s) {
    check_views("random_uniform", {&key}, {&y});
    check_uniform(y.dtype, low, high);
    const float first = rounded(y.dtype, low), last = rounded(y.dtype, high);
    run(s, {.form = Form::uniform,
            .key = key,
            .y = y,
            .offset = first,
            .factor = last - first,
            .largest = below(y.dtype, last)});
  });
}

void random_signed_uniform(Stream& stream, const View& key, const View& y) {
  call(stream, CallKey("random_signed_uniform"), {key, y}, [&](Stream& s) {
    check_views("random_signed_uniform", {&key}, {&y});
    run(s, {.form = Form::signed_uniform, .key = key, .y = y});
  });
}

void random_normal(Stream& stream, const View& key, double mean, double deviation, const View& y) {
  call(stream, CallKey("random_normal", mean, deviation), {key, y}, [&](Stream& s) {
    check_views("random_normal", {&key}, {&y});
    check_normal(mean, deviation);
    run(s, {.form = Form::normal,
            .key = key,
            .y = y,
            .offset = static_cast<float>(mean),
            .factor = static_cast<float>(deviation)});
  });
}

namespace {

// An integer as 64 bits in two's complement, and its sign.
struct Bound {
  std::uint64_t bits = 0;
  bool negative = false;
  auto operator<=>(const Bound& other) const {
    return negative == other.negative ? bits <=> other.bits : other.negative <=> negative;
  }
};

std::optional<Bound> bound(const Number& n) {
  const auto bits = n.integer();
  if (!bits || std::trunc(n.value()) != n.value()) return {};
  return Bound{*bits, n.value() < 0};
}
// The integer before it: of 2^64, which only a floating number is, the greatest of u64.
std::optional<Bound> before(const Number& n) {
  if (n.value() == 0x1p64 && !n.integral()) return Bound{~std::uint64_t{0}, false};
  const auto b = bound(n);
  if (!b) return {};
  return Bound{b->bits - 1, b->negative || b->bits == 0};
}

}  // namespace

std::pair<std::uint64_t, std::uint64_t> integers_between(std::string_view kernel, DType type, const Number& low,
                                                         const Number& high) {
  const std::uint64_t most = ~std::uint64_t{0} >> (64 - bits(type) + (is_signed(type) ? 1 : 0));
  const Bound least{is_signed(type) ? ~most : 0, is_signed(type)}, greatest{most, false};
  const auto from = bound(low), last = before(high);
  if (from && last && *from <= *last && *from >= least && *last <= greatest) {
    return {from->bits, last->bits - from->bits + 1};
  }
  throw InvalidArgument("{}: from {} to {} in {}; expected integers low < high within the type", kernel, to_string(low),
                        to_string(high), name(type));
}

void random_integers(Stream& stream, const View& key, const Number& low, const Number& high, const View& y) {
  call(stream, CallKey("random_integers", low, high), {key, y}, [&](Stream& s) {
    check_views("random_integers", {&key}, {&y});
    const auto [from, range] = integers_between("random_integers", y.dtype, low, high);
    run(s, {.form = Form::integers, .key = key, .y = y, .low = from, .range = range});
  });
}

}  // namespace weft::kernels
