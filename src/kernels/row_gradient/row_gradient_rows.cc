// The rows of the kernel table for weft/kernels/row_gradient.h.
#include "weft/kernels/row_gradient.h"

#include <algorithm>

#include "kernels/table_rows.h"

namespace weft::kernels {
namespace {

Schema gradient(std::string name, std::string formula, std::string summary, std::vector<OperandSchema> inputs,
                std::vector<AttributeSchema> attributes) {
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

std::vector<OperandSchema> norm_inputs(std::string scale) {
  return {one("x", "any"), one("g", "x's shape"), optional("scale", std::move(scale))};
}
AttributeSchema axis() { return integer("axis", "the axis along which the softmax adds up to 1", -1); }
AttributeSchema first_axis() {
  return integer("first_axis", "the first of the axes that are normalised together; the rest follow it", -1);
}
AttributeSchema channel_axis() { return integer("channel_axis", "the axis of the channels", 1); }
AttributeSchema groups() { return integer("groups", "how many groups the channels are divided into"); }
AttributeSchema epsilon() {
  return number("epsilon", "added to the variance, or the mean square, so that it is never zero", 1e-5);
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
  rows.push_back(row(
      gradient("layer_norm_gradient", kOfMoments, "the cotangent of layer norm's x, of the cotangent g of its result",
               norm_inputs("the shape of those axes"), {first_axis(), epsilon()}),
      [](Stream& s, const Reader& r) {
        layer_norm_gradient(s, r.in(0), r.in(1), r.maybe_in(2), r.out(0), r.axis("first_axis"), r.real("epsilon"));
      }));
  rows.push_back(
      row(gradient("rms_norm_gradient",
                   "n = x · f, f = 1 / sqrt(mean(x²) + epsilon), d = g · scale; dx = f · (d - n · mean(d · n))",
                   "the cotangent of RMS norm's x, of the cotangent g of its result",
                   norm_inputs("the shape of those axes"), {first_axis(), epsilon()}),
          [](Stream& s, const Reader& r) {
            rms_norm_gradient(s, r.in(0), r.in(1), r.maybe_in(2), r.out(0), r.axis("first_axis"), r.real("epsilon"));
          }));
  const auto with_weights = [](Schema s, std::vector<OperandSchema> weights) {
    s.inputs[2].arity = Arity::one;
    s.outputs.insert(s.outputs.end(), weights.begin(), weights.end());
    s.signatures = {TypeSignature(s.inputs.size() + s.outputs.size(), types::floats)};
    return s;
  };
  const std::vector<OperandSchema> both{one("dscale", "scale's shape"), one("dbias", "scale's shape")};
  const std::string of_weights = std::string(kOfMoments) + "; dscale = Σ g · n, dbias = Σ g";
  const auto of_both = [&](const char* norm, std::string scale, std::vector<AttributeSchema> attributes) {
    std::string name = norm;
    std::ranges::replace(name, ' ', '_');
    return with_weights(
        gradient(name + "_gradients", of_weights,
                 "the cotangents of " + std::string(norm) + "'s x, scale and bias, of the cotangent g of its result",
                 norm_inputs(std::move(scale)), std::move(attributes)),
        both);
  };
  rows.push_back(
      row(of_both("layer norm", "the shape of those axes", {first_axis(), epsilon()}), [](Stream& s, const Reader& r) {
        layer_norm_gradients(s, r.in(0), r.in(1), r.in(2), r.out(0), r.out(1), r.out(2), r.axis("first_axis"),
                             r.real("epsilon"));
      }));
  rows.push_back(row(with_weights(gradient("rms_norm_gradients",
                                           "n = x · f, f = 1 / sqrt(mean(x²) + epsilon), d = g · scale; "
                                           "dx = f · (d - n · mean(d · n)), dscale = Σ g · n",
                                           "the cotangents of RMS norm's x and scale, of the cotangent g of its result",
                                           norm_inputs("the shape of those axes"), {first_axis(), epsilon()}),
                                  {one("dscale", "scale's shape")}),
                     [](Stream& s, const Reader& r) {
                       rms_norm_gradients(s, r.in(0), r.in(1), r.in(2), r.out(0), r.out(1), r.axis("first_axis"),
                                          r.real("epsilon"));
                     }));
  rows.push_back(
      row(of_both("group norm", "[channels]", {groups(), channel_axis(), epsilon()}), [](Stream& s, const Reader& r) {
        group_norm_gradients(s, r.in(0), r.in(1), r.in(2), r.out(0), r.out(1), r.out(2), r.axis("channel_axis"),
                             r.integer("groups"), r.real("epsilon"));
      }));
  rows.push_back(
      row(of_both("instance norm", "[channels]", {channel_axis(), epsilon()}), [](Stream& s, const Reader& r) {
        instance_norm_gradients(s, r.in(0), r.in(1), r.in(2), r.out(0), r.out(1), r.out(2), r.axis("channel_axis"),
                                r.real("epsilon"));
      }));
  rows.push_back(row(
      gradient("group_norm_gradient", kOfMoments, "the cotangent of group norm's x, of the cotangent g of its result",
               norm_inputs("[channels]"), {groups(), channel_axis(), epsilon()}),
      [](Stream& s, const Reader& r) {
        group_norm_gradient(s, r.in(0), r.in(1), r.maybe_in(2), r.out(0), r.axis("channel_axis"), r.integer("groups"),
                            r.real("epsilon"));
      }));
  rows.push_back(row(gradient("instance_norm_gradient", kOfMoments,
                              "the cotangent of instance norm's x, of the cotangent g of its result",
                              norm_inputs("[channels]"), {channel_axis(), epsilon()}),
                     [](Stream& s, const Reader& r) {
                       instance_norm_gradient(s, r.in(0), r.in(1), r.maybe_in(2), r.out(0), r.axis("channel_axis"),
                                              r.real("epsilon"));
                     }));
}

}  // namespace weft::kernels
