// The rows of the kernel table for weft/kernels/norm.h.
#include "kernels/norm/norm_options.h"
#include "kernels/table_rows.h"
#include "weft/kernels/norm.h"

namespace weft::kernels {

namespace {

// All operands are floats, of types of their own. `run` takes a stream, what it reads its operands from, and the
// options.
template <class Run>
KernelInfo norm(NormKind kind, std::string name, std::string formula, std::string summary,
                std::vector<OperandSchema> inputs, Run run) {
  const TypeSignature floats(inputs.size() + 1, types::floats);
  return row({.name = std::move(name),
              .family = "norm",
              .summary = std::move(summary),
              .formula = std::move(formula),
              .inputs = std::move(inputs),
              .outputs = {one("y", "x's shape")},
              .signatures = {floats},
              .attributes = schemas_of(NormOptions::of(kind))},
             [kind, run](Stream& s, const Reader& r) { run(s, r, r.options(NormOptions::of(kind))); });
}

constexpr const char* kMoments = "y = (x - mean) / sqrt(variance + epsilon) · scale + bias";

OperandSchema rows_weight(std::string name) { return optional(std::move(name), "the shape of those axes"); }
OperandSchema channel_weight(std::string name) { return optional(std::move(name), "[channels]"); }

}  // namespace

void add_norm_rows(TableRows& rows) {
  rows.push_back(norm(NormKind::layer, "layer_norm", kMoments,
                      "layer norm: each row, over the axes from first_axis on, by its own mean and variance",
                      {one("x", "any"), rows_weight("scale"), rows_weight("bias")},
                      [](Stream& s, const Reader& r, const NormOptions& o) {
                        layer_norm(s, r.in(0), r.maybe_in(1), r.maybe_in(2), r.out(0), o.axis, o.epsilon);
                      }));
  rows.push_back(norm(NormKind::rms, "rms_norm", "y = x / sqrt(mean(x²) + epsilon) · scale",
                      "RMS norm: each row, over the axes from first_axis on, by its own root mean square",
                      {one("x", "any"), rows_weight("scale")}, [](Stream& s, const Reader& r, const NormOptions& o) {
                        rms_norm(s, r.in(0), r.maybe_in(1), r.out(0), o.axis, o.epsilon);
                      }));
  rows.push_back(norm(NormKind::group, "group_norm", kMoments,
                      "group norm: each sample's groups of neighbouring channels, over all other axes but the first, "
                      "by their own mean and variance",
                      {one("x", "[samples, ..., channels, ...]"), channel_weight("scale"), channel_weight("bias")},
                      [](Stream& s, const Reader& r, const NormOptions& o) {
                        group_norm(s, r.in(0), r.maybe_in(1), r.maybe_in(2), r.out(0), o.axis, o.groups, o.epsilon);
                      }));
  rows.push_back(norm(NormKind::instance, "instance_norm", kMoments,
                      "instance norm: each channel of each sample by its own mean and variance",
                      {one("x", "[samples, ..., channels, ...]"), channel_weight("scale"), channel_weight("bias")},
                      [](Stream& s, const Reader& r, const NormOptions& o) {
                        instance_norm(s, r.in(0), r.maybe_in(1), r.maybe_in(2), r.out(0), o.axis, o.epsilon);
                      }));
  rows.push_back(norm(NormKind::batch, "batch_norm", kMoments,
                      "batch norm as at inference: each channel by a mean and a variance that are given",
                      {one("x", "any"), one("mean", "[channels]"), one("variance", "[channels]"),
                       channel_weight("scale"), channel_weight("bias")},
                      [](Stream& s, const Reader& r, const NormOptions& o) {
                        batch_norm(s, r.in(0), r.in(1), r.in(2), r.maybe_in(3), r.maybe_in(4), r.out(0), o.axis,
                                   o.epsilon);
                      }));
}

}  // namespace weft::kernels
