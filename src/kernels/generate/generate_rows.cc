// The rows of the kernel table for weft/kernels/generate.h.
#include <format>

#include "kernels/table_rows.h"
#include "weft/kernels/generate.h"

namespace weft::kernels {

namespace {
constexpr const char* kDiagonal = "0 for the main diagonal, k for the one k above it, -k for the one k below";
}  // namespace

void add_generate_rows(TableRows& rows) {
  rows.push_back(
      row({.name = "arange",
           .family = "generate",
           .summary = "numbers at equal distances; integers are exact and wrap",
           .formula = "y[i] = start + i · step",
           .outputs = {ranked("y", "[n]", 1, 1)},
           .signatures = {{types::numbers}},
           .attributes = {number("start", "the first number", 0), number("step", "the difference of neighbours", 1)}},
          [](Stream& s, const Reader& r) { arange(s, r.number("start"), r.number("step"), r.out(0)); }));
  rows.push_back(row({.name = "linspace",
                      .family = "generate",
                      .summary = "n numbers at equal distances, the first and the last as given",
                      .formula = "y[i] = start + i · (stop - start) / (n - 1)",
                      .outputs = {ranked("y", "[n]", 1, 1)},
                      .signatures = {{types::floats}},
                      .attributes = {number("start", "the first number", 0), number("stop", "the last number", 1)}},
                     [](Stream& s, const Reader& r) { linspace(s, r.real("start"), r.real("stop"), r.out(0)); }));
  rows.push_back(row({.name = "eye",
                      .family = "generate",
                      .summary = "ones on a diagonal, zeros elsewhere",
                      .formula = "y[…, r, c] = 1 if c - r = diagonal, else 0",
                      .outputs = {ranked("y", "[..., rows, columns]", 2)},
                      .signatures = {{types::any}},
                      .attributes = {integer("diagonal", kDiagonal, 0)}},
                     [](Stream& s, const Reader& r) { eye(s, r.out(0), r.integer("diagonal")); }));
  const Schema schema{
      .name = "triangle",
      .family = "generate",
      .summary = "the lower or upper triangle of x, or of ones where there is no x, and zeros elsewhere",
      .formula = "y[…, r, c] = x[…, r, c] if c - r ≤ diagonal (lower) or ≥ diagonal (upper), else 0",
      .inputs = {optional("x", "broadcasts to y")},
      .outputs = {ranked("y", "[..., rows, columns]", 2)},
      .signatures = {{types::any, as(0)}},
      .attributes = schemas_of<TriangleOptions>(),
      .other_names = {"tri", "tril", "triu"}};
  const auto run = [](Stream& s, const Reader& r, Triangle part) {
    if (const auto x = r.maybe_in(0))
      triangle(s, part, *x, r.out(0), r.integer("diagonal"));
    else
      triangle(s, part, r.out(0), r.integer("diagonal"));
  };
  rows.push_back(row(schema, [=](Stream& s, const Reader& r) { run(s, r, r.options<TriangleOptions>().part); }));
  rows.push_back(
      row({.name = "one_hot",
           .family = "generate",
           .summary = "each index as a row that is on at the index and off elsewhere; negative indices count "
                      "from the end, others outside give a row that is off",
           .formula = "y[i…, c, j…] = on if indices[i…, j…] = c, else off",
           .inputs = {one("indices", "any")},
           .outputs = {one("y", "indices' shape with the number of classes inserted at axis")},
           .signatures = {{types::indices, types::any}},
           .attributes = schemas_of<OneHotOptions>()},
          [](Stream& s, const Reader& r) {
            const auto o = r.options<OneHotOptions>();
            one_hot(s, r.in(0), r.out(0), o.axis, o.on, o.off);
          }));
}

void add_generate_forms(TableRows& forms) {
  for (const Triangle part : {Triangle::lower, Triangle::upper}) {
    Schema schema = kernel("triangle");
    schema.name = part == Triangle::lower ? "tril" : "triu";
    schema.summary = std::format("the {} triangle of x, or of ones where there is no x, and zeros elsewhere",
                                 kTriangles[static_cast<int>(part)]);
    schema.formula =
        std::format("y[…, r, c] = x[…, r, c] if c - r {} diagonal, else 0", part == Triangle::lower ? "≤" : "≥");
    schema.attributes = {integer("diagonal", kDiagonal, 0)};
    schema.other_names.clear();
    forms.push_back(row(schema, [part](Stream& s, const Reader& r) {
      if (const auto x = r.maybe_in(0))
        triangle(s, part, *x, r.out(0), r.integer("diagonal"));
      else
        triangle(s, part, r.out(0), r.integer("diagonal"));
    }));
  }
}

}  // namespace weft::kernels
