// The rows of the kernel table for weft/kernels/conv.h.
#include "kernels/table_rows.h"
#include "weft/kernels/conv.h"

namespace weft::kernels {
namespace {

constexpr int kLeast = 3, kMost = 5;  // ranks

Schema schema(std::string name, std::string summary, std::string formula, std::vector<OperandSchema> inputs,
              OperandSchema output, std::vector<std::string> other_names) {
  using types::floats;
  const TypeSet small{DType::i8, DType::i16, DType::i32, DType::u8, DType::u16, DType::u32};
  return {.name = std::move(name),
          .family = "conv",
          .summary = std::move(summary),
          .formula = std::move(formula),
          .inputs = std::move(inputs),
          .outputs = {std::move(output)},
          .signatures = {{floats, floats, floats}, {small, small, TypeSet{DType::i32, DType::u32}}},
          .attributes = schemas_of<ConvOptions>(),
          .other_names = std::move(other_names)};
}

}  // namespace

void add_conv_rows(TableRows& rows) {
  const auto x = ranked("x", "[n, C, spatial…]", kLeast, kMost), y = ranked("y", "[n, O, spatial…]", kLeast, kMost);
  const auto w = ranked("w", "[O, C / groups, window…]", kLeast, kMost);
  rows.push_back(
      row(schema("conv", "the convolution over one to three spatial axes; x is zero outside of its edges",
                 "y[n, o, i] = Σ_c Σ_k x[n, c, i · stride + k · dilation − before] · w[o, c, k]", {x, w}, y,
                 {"conv1d", "conv2d", "conv3d"}),
          [](Stream& s, const Reader& r) { conv(s, r.in(0), r.in(1), r.out(0), r.options<ConvOptions>()); }));
  rows.push_back(
      row(schema("conv_transpose", "the transposed convolution, which is the gradient of conv for x",
                 "y[n, o, i] = Σ_c Σ_k x[n, c, j] · w[c, o, k] over all j with j · stride + k · dilation − before = i",
                 {x, ranked("w", "[C, O / groups, window…]", kLeast, kMost)}, y,
                 {"conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "convTranspose2d"}),
          [](Stream& s, const Reader& r) { conv_transpose(s, r.in(0), r.in(1), r.out(0), r.options<ConvOptions>()); }));
  rows.push_back(
      row(schema("conv_filter_gradient", "the gradient of conv for its filter, y being the gradient of its result",
                 "w[o, c, k] = Σ_n Σ_i y[n, o, i] · x[n, c, i · stride + k · dilation − before]", {x, y}, w, {}),
          [](Stream& s, const Reader& r) {
            conv_filter_gradient(s, r.in(0), r.in(1), r.out(0), r.options<ConvOptions>());
          }));
}

}  // namespace weft::kernels
