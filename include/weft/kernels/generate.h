// Tensors computed from their indices: ranges, identities, triangles, one-hot codes. Conventions that all kernels share
// are in weft/kernels.h.
#pragma once

#include <cstdint>

#include "weft/attributes.h"
#include "weft/number.h"
#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// y[i] = start + i · step; y [n], floating or integer. Integers are exact and wrap at their width; fractions of start
// and step are cut off. Floats are computed in f32: an error of at most 2^-22 of the larger of |start| and |i · step|,
// then rounded to y's type. f64: on the CPU only.
void arange(Stream& stream, Number start, Number step, const View& y);
// y[0] = start … y[n-1] = stop, evenly, counted from the nearer end so that both are exact; y [n], floating. One
// element is start. If start or stop is not finite all but the last are start + i · step. Errors and f64 as arange.
void linspace(Stream& stream, double start, double stop, const View& y);

// y[…, r, c] = 1 where c - r = diagonal, else 0; any type, rank 2 or more.
void eye(Stream& stream, const View& y, std::int64_t diagonal = 0);

// The part of a matrix where c - r <= diagonal (lower), or >= diagonal (upper).
enum class Triangle : std::uint8_t { lower, upper };
inline constexpr std::string_view kTriangles[] = {"lower", "upper"};
struct TriangleOptions {
  Triangle part = Triangle::lower;
  std::int64_t diagonal = 0;

  void fields(AttributeVisitor& v) {
    v("part", part, Triangle::lower, kTriangles, "which triangle stays");
    v("diagonal", diagonal, 0, "0 for the main diagonal, k for the one k above it, -k for the one k below");
  }
};
// y[…, r, c] = x[…, r, c] in the triangle, else 0; x broadcasts to y and has its type (any).
void triangle(Stream& stream, Triangle part, const View& x, const View& y, std::int64_t diagonal = 0);
// y[…, r, c] = 1 in the triangle, else 0; any type.
void triangle(Stream& stream, Triangle part, const View& y, std::int64_t diagonal = 0);

struct OneHotOptions {
  int axis = -1;
  Number on = 1, off = 0;

  void fields(AttributeVisitor& v) {
    v("axis", axis, -1, "the axis of the classes in y");
    v("on", on, 1, "the value at the index");
    v("off", off, 0, "the value elsewhere");
  }
};
// y[i…, c, j…] = on if indices[i…, j…] = c, else off, both converted to y's type (any). `axis` is that of c in y; y has
// indices' shape with the number of classes inserted there. Negative indices count from the end; for an index outside
// of [-classes, classes) all elements are off. indices: any integer type of 8 to 64 bits.
void one_hot(Stream& stream, const View& indices, const View& y, int axis = -1, Number on = 1, Number off = 0);

}  // namespace weft::kernels
