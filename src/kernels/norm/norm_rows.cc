// The rows of the kernel table for weft/kernels/norm.h.
#include "kernels/table_rows.h"
#include "weft/kernels/norm.h"

namespace weft::kernels {

namespace {

// All operands are floats, of types of their own.
Schema norm(std::string name, std::string formula, std::string summary, std::vector<OperandSchema> inputs,
            std::vector<AttributeSchema> attributes) {
  attributes.push_back(number("epsilon", "added to the variance, or the mean square, so that it is never zero", 1e-5));
  const TypeSignature floats(inputs.size() + 1, types::floats);
  return {.name = std::move(name),
          .family = "norm",
          .summary = std::move(summary),
          .formula = std::move(formula),
          .inputs = std::move(inputs),
          .outputs = {one("y", "x's shape")},
          .signatures = {floats},
          .attributes = std::move(attributes)};
}

constexpr const char* kMoments = "y = (x - mean) / sqrt(variance + epsilon) · scale + bias";

AttributeSchema first_axis() {
  return integer("first_axis", "the first of the axes that are normalised together; the rest follow it", -1);
}
AttributeSchema channel_axis() { return integer("channel_axis", "the axis of the channels", 1); }
OperandSchema rows_weight(std::string name) { return optional(std::move(name), "the shape of those axes"); }
OperandSchema channel_weight(std::string name) { return optional(std::move(name), "[channels]"); }

}  // namespace

void add_norm_rows(TableRows& rows) {
  rows.push_back(row(norm("layer_norm", kMoments,
                          "layer norm: each row, over the axes from first_axis on, by its own mean and variance",
                          {one("x", "any"), rows_weight("scale"), rows_weight("bias")}, {first_axis()}),
                     [](Stream& s, const Reader& r) {
                       layer_norm(s, r.in(0), r.maybe_in(1), r.maybe_in(2), r.out(0), r.axis("first_axis"),
                                  r.real("epsilon"));
                     }));
  rows.push_back(row(norm("rms_norm", "y = x / sqrt(mean(x²) + epsilon) · scale",
                          "RMS norm: each row, over the axes from first_axis on, by its own root mean square",
                          {one("x", "any"), rows_weight("scale")}, {first_axis()}),
                     [](Stream& s, const Reader& r) {
                       rms_norm(s, r.in(0), r.maybe_in(1), r.out(0), r.axis("first_axis"), r.real("epsilon"));
                     }));
  rows.push_back(
      row(norm("group_norm", kMoments,
               "group norm: each sample's groups of neighbouring channels, over all other axes but the first, "
               "by their own mean and variance",
               {one("x", "[samples, ..., channels, ...]"), channel_weight("scale"), channel_weight("bias")},
               {integer("groups", "how many groups the channels are divided into"), channel_axis()}),
          [](Stream& s, const Reader& r) {
            group_norm(s, r.in(0), r.maybe_in(1), r.maybe_in(2), r.out(0), r.axis("channel_axis"), r.integer("groups"),
                       r.real("epsilon"));
          }));
  rows.push_back(row(
      norm("instance_norm", kMoments, "instance norm: each channel of each sample by its own mean and variance",
           {one("x", "[samples, ..., channels, ...]"), channel_weight("scale"), channel_weight("bias")},
           {channel_axis()}),
      [](Stream& s, const Reader& r) {
        instance_norm(s, r.in(0), r.maybe_in(1), r.maybe_in(2), r.out(0), r.axis("channel_axis"), r.real("epsilon"));
      }));
  rows.push_back(row(
      norm("batch_norm", kMoments, "batch norm as at inference: each channel by a mean and a variance that are given",
           {one("x", "any"), one("mean", "[channels]"), one("variance", "[channels]"), channel_weight("scale"),
            channel_weight("bias")},
           {channel_axis()}),
      [](Stream& s, const Reader& r) {
        batch_norm(s, r.in(0), r.in(1), r.in(2), r.maybe_in(3), r.maybe_in(4), r.out(0), r.axis("channel_axis"),
                   r.real("epsilon"));
      }));
}

}  // namespace weft::kernels
