// The rows of the kernel table for weft/kernels/norm.h.
#include "kernels/table_rows.h"
#include "weft/kernels/norm.h"

namespace weft::kernels {

namespace {

// All operands are floats, of types of their own.
Schema norm(std::string name, std::string summary, std::vector<OperandSchema> inputs,
            std::vector<AttributeSchema> attributes) {
  attributes.push_back(number("epsilon", 1e-5));
  const TypeSignature floats(inputs.size() + 1, types::floats);
  return {.name = std::move(name),
          .family = "norm",
          .summary = std::move(summary),
          .inputs = std::move(inputs),
          .outputs = {{"y"}},
          .signatures = {floats},
          .attributes = std::move(attributes)};
}

}  // namespace

void add_norm_rows(TableRows& rows) {
  rows.push_back(row(norm("layer_norm", "layer norm over the axes from first_axis on",
                          {{"x"}, optional("scale"), optional("bias")}, {integer("first_axis", -1)}),
                     [](Stream& s, const Reader& r) {
                       layer_norm(s, r.in(0), r.maybe_in(1), r.maybe_in(2), r.out(0), r.axis("first_axis"),
                                  r.single("epsilon"));
                     }));
  rows.push_back(row(norm("rms_norm", "RMS norm over the axes from first_axis on", {{"x"}, optional("scale")},
                          {integer("first_axis", -1)}),
                     [](Stream& s, const Reader& r) {
                       rms_norm(s, r.in(0), r.maybe_in(1), r.out(0), r.axis("first_axis"), r.single("epsilon"));
                     }));
  rows.push_back(row(norm("group_norm", "norm over each sample's groups of channels",
                          {{"x"}, optional("scale"), optional("bias")},
                          {integer("groups"), integer("channel_axis", 1)}),
                     [](Stream& s, const Reader& r) {
                       group_norm(s, r.in(0), r.maybe_in(1), r.maybe_in(2), r.out(0), r.axis("channel_axis"),
                                  r.integer("groups"), r.single("epsilon"));
                     }));
  rows.push_back(row(norm("instance_norm", "norm over each sample's channels",
                          {{"x"}, optional("scale"), optional("bias")}, {integer("channel_axis", 1)}),
                     [](Stream& s, const Reader& r) {
                       instance_norm(s, r.in(0), r.maybe_in(1), r.maybe_in(2), r.out(0), r.axis("channel_axis"),
                                     r.single("epsilon"));
                     }));
  rows.push_back(row(norm("batch_norm", "norm of channels by given means and variances",
                          {{"x"}, {"mean"}, {"variance"}, optional("scale"), optional("bias")},
                          {integer("channel_axis", 1)}),
                     [](Stream& s, const Reader& r) {
                       batch_norm(s, r.in(0), r.in(1), r.in(2), r.maybe_in(3), r.maybe_in(4), r.out(0),
                                  r.axis("channel_axis"), r.single("epsilon"));
                     }));
}

}  // namespace weft::kernels
