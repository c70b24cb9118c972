// The rows of the kernel table for weft/kernels/row_gradient.h.
#include "weft/kernels/row_gradient.h"

#include "kernels/norm/norm_options.h"
#include "kernels/table_rows.h"

namespace weft::kernels {
namespace {

Schema gradient(std::string name, std::string formula, std::string summary, std::vector<OperandSchema> inputs,
                std::vector<AttributeSchema> attributes = {}) {
  const std::string shape = inputs[0].name + "'s shape";
  const TypeSignature floats(inputs.size() + 1, types::floats);
  return {.name = std::move(name),
          .family = "row_gradient",
          .summary = std::move(summary),
          .formula = std::move(formula),
          .inputs = std::move(inputs),
          .outputs = {one("dx", shape)},
          .signatures = {floats},
          .attributes = std::move(attributes)};
}

constexpr const char* kOfMoments =
    "n = (x - mean) · f, f = 1 / sqrt(variance + epsilon), d = g · scale; dx = f · (d - mean(d) - n · mean(d · n))";
constexpr const char* kOfSquares =
    "n = x · f, f = 1 / sqrt(mean(x²) + epsilon), d = g · scale; dx = f · (d - n · mean(d · n))";

std::vector<OperandSchema> norm_inputs(NormKind kind) {
  return {one("x", "any"), one("g", "x's shape"),
          optional("scale", is_of_rows(kind) ? "the shape of those axes" : "[channels]")};
}
AttributeSchema axis() { return integer("axis", "the axis along which the softmax adds up to 1", -1); }

// A norm's, with its options. `run` takes a stream, what it reads its operands from, and these.
template <class Run>
KernelInfo of_norm(NormKind kind, Schema schema, Run run) {
  schema.attributes = schemas_of(NormOptions::of(kind));
  return row(std::move(schema),
             [kind, run](Stream& s, const Reader& r) { run(s, r, r.options(NormOptions::of(kind))); });
}

template <class Run>
KernelInfo norm_gradient(NormKind kind, const char* name, const char* norm, const char* formula, Run run) {
  return of_norm(
      kind,
      gradient(name, formula, std::string("the cotangent of ") + norm + "'s x, of the cotangent g of its result",
               norm_inputs(kind)),
      run);
}

// With the cotangents of a scale, which must be given, and `bias`: of a bias.
template <class Run>
KernelInfo norm_gradients(NormKind kind, const char* name, const char* norm, const std::string& formula, bool bias,
                          Run run) {
  Schema s = gradient(name, formula,
                      std::string("the cotangents of ") + norm + (bias ? "'s x, scale and bias" : "'s x and scale") +
                          ", of the cotangent g of its result",
                      norm_inputs(kind));
  s.inputs[2].arity = Arity::one;
  s.outputs.push_back(one("dscale", "scale's shape"));
  if (bias) s.outputs.push_back(one("dbias", "scale's shape"));
  s.signatures = {TypeSignature(s.inputs.size() + s.outputs.size(), types::floats)};
  return of_norm(kind, std::move(s), run);
}

}  // namespace

void add_row_gradient_rows(TableRows& rows) {
  rows.push_back(row(gradient("softmax_gradient", "dx = y · (g - Σ y · g)",
                              "the cotangent of softmax's x, of its result y and the cotangent g of that",
                              {one("y", "any"), one("g", "y's shape")}, {axis()}),
                     [](Stream& s, const Reader& r) { softmax_gradient(s, r.in(0), r.in(1), r.out(0), r.axis()); }));
  rows.push_back(
      row(gradient("log_softmax_gradient", "dx = g - exp(y) · Σ g",
                   "the cotangent of log softmax's x, of its result y and the cotangent g of that",
                   {one("y", "any"), one("g", "y's shape")}, {axis()}),
          [](Stream& s, const Reader& r) { log_softmax_gradient(s, r.in(0), r.in(1), r.out(0), r.axis()); }));
  rows.push_back(norm_gradient(NormKind::layer, "layer_norm_gradient", "layer norm", kOfMoments,
                               [](Stream& s, const Reader& r, const NormOptions& o) {
                                 layer_norm_gradient(s, r.in(0), r.in(1), r.maybe_in(2), r.out(0), o.axis, o.epsilon);
                               }));
  rows.push_back(norm_gradient(NormKind::rms, "rms_norm_gradient", "RMS norm", kOfSquares,
                               [](Stream& s, const Reader& r, const NormOptions& o) {
                                 rms_norm_gradient(s, r.in(0), r.in(1), r.maybe_in(2), r.out(0), o.axis, o.epsilon);
                               }));
  const std::string of_both = std::string(kOfMoments) + "; dscale = Σ g · n, dbias = Σ g";
  rows.push_back(norm_gradients(NormKind::layer, "layer_norm_gradients", "layer norm", of_both, true,
                                [](Stream& s, const Reader& r, const NormOptions& o) {
                                  layer_norm_gradients(s, r.in(0), r.in(1), r.in(2), r.out(0), r.out(1), r.out(2),
                                                       o.axis, o.epsilon);
                                }));
  rows.push_back(
      norm_gradients(NormKind::rms, "rms_norm_gradients", "RMS norm", std::string(kOfSquares) + ", dscale = Σ g · n",
                     false, [](Stream& s, const Reader& r, const NormOptions& o) {
                       rms_norm_gradients(s, r.in(0), r.in(1), r.in(2), r.out(0), r.out(1), o.axis, o.epsilon);
                     }));
  rows.push_back(norm_gradients(NormKind::group, "group_norm_gradients", "group norm", of_both, true,
                                [](Stream& s, const Reader& r, const NormOptions& o) {
                                  group_norm_gradients(s, r.in(0), r.in(1), r.in(2), r.out(0), r.out(1), r.out(2),
                                                       o.axis, o.groups, o.epsilon);
                                }));
  rows.push_back(norm_gradients(NormKind::instance, "instance_norm_gradients", "instance norm", of_both, true,
                                [](Stream& s, const Reader& r, const NormOptions& o) {
                                  instance_norm_gradients(s, r.in(0), r.in(1), r.in(2), r.out(0), r.out(1), r.out(2),
                                                          o.axis, o.epsilon);
                                }));
  rows.push_back(norm_gradient(NormKind::group, "group_norm_gradient", "group norm", kOfMoments,
                               [](Stream& s, const Reader& r, const NormOptions& o) {
                                 group_norm_gradient(s, r.in(0), r.in(1), r.maybe_in(2), r.out(0), o.axis, o.groups,
                                                     o.epsilon);
                               }));
  rows.push_back(norm_gradient(NormKind::instance, "instance_norm_gradient", "instance norm", kOfMoments,
                               [](Stream& s, const Reader& r, const NormOptions& o) {
                                 instance_norm_gradient(s, r.in(0), r.in(1), r.maybe_in(2), r.out(0), o.axis,
                                                        o.epsilon);
                               }));
}

}  // namespace weft::kernels
