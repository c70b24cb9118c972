// The rows of the kernel table for weft/kernels/generate.h.
#include <format>

#include "kernels/table_rows.h"
#include "weft/kernels/generate.h"

namespace weft::kernels {

namespace {
constexpr std::string_view kTriangles[] = {"lower", "upper"};
}  // namespace

void add_generate_rows(TableRows& rows) {
  rows.push_back(row({.name = "arange",
                      .family = "generate",
                      .summary = "y[i] = start + i step",
                      .outputs = {ranked("y", 1, 1)},
                      .signatures = {{types::numbers}},
                      .attributes = {number("start", 0), number("step", 1)}},
                     [](Stream& s, const Reader& r) { arange(s, r.number("start"), r.number("step"), r.out(0)); }));
  rows.push_back(row({.name = "linspace",
                      .family = "generate",
                      .summary = "evenly from start to stop",
                      .outputs = {ranked("y", 1, 1)},
                      .signatures = {{types::floats}},
                      .attributes = {number("start", 0), number("stop", 1)}},
                     [](Stream& s, const Reader& r) { linspace(s, r.real("start"), r.real("stop"), r.out(0)); }));
  rows.push_back(row({.name = "eye",
                      .family = "generate",
                      .summary = "1 on a diagonal, else 0",
                      .outputs = {ranked("y", 2)},
                      .signatures = {{types::any}},
                      .attributes = {integer("diagonal", 0)}},
                     [](Stream& s, const Reader& r) { eye(s, r.out(0), r.integer("diagonal")); }));
  const Schema schema{.name = "triangle",
                      .family = "generate",
                      .summary = "x (without it: 1) in the lower or upper triangle, else 0",
                      .inputs = {optional("x")},
                      .outputs = {ranked("y", 2)},
                      .signatures = {{types::any, as(0)}},
                      .attributes = {choice("part", kTriangles), integer("diagonal", 0)},
                      .other_names = {"tri", "tril", "triu"}};
  const auto run = [](Stream& s, const Reader& r, Triangle part) {
    if (const auto x = r.maybe_in(0)) triangle(s, part, *x, r.out(0), r.integer("diagonal"));
    else triangle(s, part, r.out(0), r.integer("diagonal"));
  };
  rows.push_back(row(schema, [=](Stream& s, const Reader& r) { run(s, r, r.choice<Triangle>("part", kTriangles)); }));
  rows.push_back(row({.name = "one_hot",
                      .family = "generate",
                      .summary = "on at the index along an axis, else off",
                      .inputs = {{"indices"}},
                      .outputs = {{"y"}},
                      .signatures = {{types::indices, types::any}},
                      .attributes = {integer("axis", -1), number("on", 1), number("off", 0)}},
                     [](Stream& s, const Reader& r) {
                       one_hot(s, r.in(0), r.out(0), r.axis(), r.number("on"), r.number("off"));
                     }));
}

void add_generate_forms(TableRows& forms) {
  for (const Triangle part : {Triangle::lower, Triangle::upper}) {
    Schema schema = kernel("triangle");
    schema.name = part == Triangle::lower ? "tril" : "triu";
    schema.summary = std::format("x (without it: 1) in the {} triangle, else 0", kTriangles[static_cast<int>(part)]);
    schema.attributes = {integer("diagonal", 0)};
    schema.other_names.clear();
    forms.push_back(row(schema, [part](Stream& s, const Reader& r) {
      if (const auto x = r.maybe_in(0)) triangle(s, part, *x, r.out(0), r.integer("diagonal"));
      else triangle(s, part, r.out(0), r.integer("diagonal"));
    }));
  }
}

}  // namespace weft::kernels
