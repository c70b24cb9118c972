// Rotary position embeddings (weft/rotary_embedding.h).
#include "weft/rotary_embedding.h"

#include <array>
#include <cmath>

#include "core/format.h"
#include "ops/function_row.h"
#include "weft/array.h"
#include "weft/error.h"
#include "weft/graph.h"

namespace weft {
namespace {

struct RotaryAttributes {
  std::optional<std::int64_t> dims = {};
  std::int64_t offset = 0;
  double base = 10000, scale = 1, attention_factor = 1;
  bool interleaved = false, inverse = false;
  int axis = -2;
  void fields(AttributeVisitor& v) {
    v("dims", dims, {}, "how many elements of the last axis are rotated, the first ones; without it all");
    v("offset", offset, 0, "added to the positions");
    v("base", base, 10000, "frequency i is base^(-2i / dims), if there are no frequencies");
    v("scale", scale, 1, "what positions are multiplied by");
    v("attention_factor", attention_factor, 1, "multiplies what is rotated, as YaRN has it");
    v("interleaved", interleaved, false, "pairs are neighbours; else element i belongs to i + dims / 2");
    v("inverse", inverse, false, "rotate backwards");
    v("axis", axis, -2, "x's axis of positions");
  }
};

// The axes of x, the last one as pairs: [..., 2, dims / 2], or [..., dims / 2, 2] if they are interleaved.
struct Pairs {
  Shape rows;  // x's shape without its last axis
  int axis;    // of positions
  std::int64_t dims;
  bool interleaved;

  std::int64_t half() const { return dims / 2; }
  int pair_axis() const { return rows.rank() + (interleaved ? 1 : 0); }
  Shape split_shape() const {
    Shape shape = rows;
    shape.push_back(interleaved ? half() : 2);
    shape.push_back(interleaved ? 2 : half());
    return shape;
  }
  Tensor split(const Tensor& x) const { return reshape(x, split_shape()); }
  Tensor joined(const Tensor& x) const {
    Shape shape = rows;
    shape.push_back(dims);
    return reshape(x, shape);
  }
  // A value of each frequency, and one of each element of a pair.
  Tensor of_frequencies(const Tensor& x) const { return interleaved ? reshape(x, {half(), 1}) : x; }
  Tensor of_elements(const Tensor& x) const { return interleaved ? x : reshape(x, {2, 1}); }

  // [first…, sequence, last…], whose first axes are x's, with axes of size 1 where x has others: the last `count` axes
  // stand at the end, for x's last one.
  Tensor aligned(const Tensor& t, std::string_view name, int count) const {
    const int first = t.rank() - count - 1;
    if (first < 0 || first > axis) {
      throw ShapeError(
          "rotary_embedding: the {} are {}; expected {} to {} axes, of x's axes before axis {} and of that", name,
          to_string(t.type()), count + 1, count + 1 + axis, axis);
    }
    Shape shape = Shape::filled(rows.rank(), 1);
    for (int d = 0; d < first; ++d) shape[d] = t.shape()[d];
    shape[axis] = t.shape()[first];
    for (int d = 0; d < rows.rank(); ++d) {
      if (shape[d] == 1 || shape[d] == rows[d]) continue;
      throw ShapeError("rotary_embedding: the {} are {}; expected {} or 1 along x's axis {}", name, to_string(t.type()),
                       rows[d], d);
    }
    for (int d = t.rank() - count; d < t.rank(); ++d) shape.push_back(t.shape()[d]);
    return reshape(t, shape);
  }
};

// The positions with the offsets: `form` makes of each, in x's axes but the last, what is added.
template <class Form>
Tensor positions_of(const Pairs& p, const Tensor& positions, const Tensor& offsets, std::int64_t offset, DType type,
                    const Form& form) {
  Tensor result = positions.defined() ? positions : arange(0, p.rows[p.axis], 1, type);
  result = cast(form(p.aligned(result, "positions", 0)), type);
  if (offset != 0) result = result + offset;
  if (!offsets.defined()) return result;
  Shape shape = offsets.shape();
  shape.push_back(1);
  return result + cast(form(p.aligned(reshape(offsets, shape), "offsets", 0)), type);
}

// Values of each position and pair: of a table's rows that the positions choose, or given.
Tensor value_of(const Pairs& p, const Tensor& table, std::string_view name, const Tensor& positions,
                const Tensor& offsets, std::int64_t offset, DType type) {
  const std::int64_t width = table.shape()[-1];
  if (width != p.half() && width != p.dims) {
    throw ShapeError("rotary_embedding: {} is {}; expected a last axis of dims / 2 or dims, which are {} and {}", name,
                     to_string(table.type()), p.half(), p.dims);
  }
  Tensor rows;
  if (positions.defined() || offsets.defined()) {
    if (table.rank() != 2) {
      throw ShapeError(
          "rotary_embedding: {} is {}; expected a table [positions, dims / 2], whose rows the positions "
          "choose",
          name, to_string(table.type()));
    }
    rows = gather(table, positions_of(p, positions, offsets, offset, DType::i32, [](const Tensor& t) { return t; }));
  } else if (table.rank() == 2) {
    const std::int64_t n = p.rows[p.axis];
    if (offset < 0 || table.shape()[0] < offset + n) {
      throw ShapeError("rotary_embedding: {} is {}; expected rows for the positions {} to {}", name,
                       to_string(table.type()), offset, offset + n - 1);
    }
    rows = p.aligned(slice(table, 0, offset, offset + n), name, 1);
  } else if (offset == 0) {
    rows = p.aligned(table, name, 1);
  } else {
    throw InvalidArgument(
        "rotary_embedding: the offset is {}, and {} is {}, values of each position; expected a table "
        "[positions, dims / 2]",
        offset, name, to_string(table.type()));
  }
  // With one axis more: the elements of a pair, whose values are equal unless they are given apart.
  Shape shape = rows.shape();
  const std::int64_t same = width == p.dims ? 2 : 1;
  shape.pop_back();
  shape.push_back(p.interleaved ? p.half() : same);
  shape.push_back(p.interleaved ? same : p.half());
  return cast(reshape(rows, shape), type);
}

constexpr TypeSet kComputed = {DType::f32, DType::f16, DType::bf16, DType::f64};
constexpr TypeSet kNumbers = types::numbers - types::packed;

constexpr Function kRotaryEmbedding = {
    {.name = "rotary_embedding",
     .operands =
         {{.name = "x", .types = kComputed, .min_rank = 2, .max_rank = kMaxRank - 1, .shape = "[..., sequence, dim]"},
          {.name = "positions",
           .types = kNumbers,
           .arity = Arity::optional,
           .min_rank = 1,
           .shape = "[..., sequence]; without it 0, 1, 2, …"},
          {.name = "offsets", .types = kNumbers, .arity = Arity::optional, .shape = "[] or [batch]"},
          {.name = "frequencies",
           .types = kComputed,
           .arity = Arity::optional,
           .min_rank = 1,
           .max_rank = 1,
           .shape = "[dims / 2]"},
          {.name = "cos",
           .types = kComputed,
           .arity = Arity::optional,
           .min_rank = 2,
           .shape = "[positions, dims / 2] or [..., sequence, dims / 2]"},
          {.name = "sin", .types = kComputed, .arity = Arity::optional, .min_rank = 2, .shape = "as cos"}},
     .results = {{"y", "x's shape", "x's type"}},
     .formula =
         "y = (a cos θ - b sin θ, b cos θ + a sin θ) for each pair (a, b), θ = scale · (position + offset) · frequency",
     .summary = "rotary position embeddings (Su et al. 2021): pairs of elements turned by angles that grow with the "
                "position; frequencies are radians for each position, and cosines and sines may be given instead"},
    [](const Tensor& x, const Tensor& positions, const Tensor& offsets, const Tensor& frequencies,
       const Tensor& cosines, const Tensor& sines, const RotaryAttributes& a) {
      const std::int64_t width = x.shape()[-1], dims = a.dims.value_or(width);
      if (dims < 0 || dims > width || dims % 2 != 0) {
        throw InvalidArgument("rotary_embedding: dims is {}; expected an even number up to {}, the last axis of x {}",
                              dims, width, to_string(x.type()));
      }
      if (cosines.defined() != sines.defined()) {
        throw InvalidArgument("rotary_embedding: {} is given, but not {}", cosines.defined() ? "cos" : "sin",
                              cosines.defined() ? "sin" : "cos");
      }
      if (cosines.defined() && (frequencies.defined() || a.scale != 1)) {
        throw InvalidArgument("rotary_embedding: cos and sin are given, and {}; expected none, as there are no angles",
                              frequencies.defined() ? "frequencies" : "a scale");
      }
      if (!(a.base > 0) || !std::isfinite(a.base) || !std::isfinite(a.scale) || !std::isfinite(a.attention_factor)) {
        throw InvalidArgument(
            "rotary_embedding: base is {}, scale {} and attention_factor {}; expected finite numbers, "
            "and a base greater than 0",
            a.base, a.scale, a.attention_factor);
      }
      const int axis = normalize_axis(a.axis, x.rank(), "rotary_embedding");
      if (axis == x.rank() - 1) {
        throw InvalidArgument("rotary_embedding: the axis of positions is {}, the last one, whose elements are rotated",
                              a.axis);
      }
      if (frequencies.defined() && frequencies.shape()[0] != dims / 2) {
        throw ShapeError("rotary_embedding: the frequencies are {}; expected dims / 2, which is {}",
                         to_string(frequencies.type()), dims / 2);
      }
      for (const Tensor* t : {&positions, &offsets}) {
        if (!t->defined() || !cosines.defined() || is_integer(t->dtype())) continue;
        throw TypeError("rotary_embedding: the {} are {}; expected integers, which choose rows of cos and sin",
                        t == &positions ? "positions" : "offsets", to_string(t->type()));
      }
      if (dims == 0) return x;
      Shape rows = x.shape();
      rows.pop_back();
      const Pairs p{rows, axis, dims, a.interleaved};
      const DType type = x.dtype() == DType::f64 ? DType::f64 : DType::f32;
      Tensor c, s;
      if (cosines.defined()) {
        c = value_of(p, cosines, "cos", positions, offsets, a.offset, type);
        s = value_of(p, sines, "sin", positions, offsets, a.offset, type);
      } else {
        // Given ones are broadcast first, so that all is computed in the kernel that uses it, and not by small ones
        // before it. Without any they are constants, of as few elements as there can be.
        const bool given = positions.defined() || offsets.defined();
        Tensor position = positions_of(p, positions, offsets, a.offset, type, [&](const Tensor& t) {
          Shape shape = t.shape();
          shape.push_back(1);
          shape.push_back(1);
          const Tensor split = reshape(t, shape);
          return given ? broadcast_to(split, p.split_shape()) : split;
        });
        if (a.scale != 1) position = position * a.scale;
        const double rate = -std::log(a.base) / static_cast<double>(p.half());
        const Tensor frequency =
            frequencies.defined() ? cast(frequencies, type) : exp(arange(0, p.half(), 1, type) * rate);
        const Tensor angle = position * p.of_frequencies(frequency);
        c = cos(angle);
        s = sin(angle);
      }
      // The other element of a pair counts with the sine, for the first one negative; backwards the other way round.
      const Tensor signs = p.of_elements(a.inverse ? arange(1, -2, -2, type) : arange(-1, 2, 2, type));
      const Tensor pairs = cast(p.split(dims == width ? x : slice(x, -1, 0, dims)), type);
      Tensor turned = pairs * c + flip(pairs, {p.pair_axis()}) * (s * signs);
      if (a.attention_factor != 1) turned = turned * a.attention_factor;
      const Tensor y = p.joined(cast(turned, x.dtype()));
      return dims == width ? y : concat(std::array{y, slice(x, -1, dims, width)}, -1);
    }};

}  // namespace

void add_rotary_embedding_functions(FunctionRows& rows) { rows.add(kRotaryEmbedding); }

Tensor rotary_embedding(const Operand& x, const RotaryEmbeddingOptions& o) {
  return kRotaryEmbedding(x, o.positions, o.offsets, o.frequencies, o.cos, o.sin,
                          {o.dims, o.offset, o.base, o.scale, o.attention_factor, o.interleaved, o.inverse, o.axis});
}

}  // namespace weft
