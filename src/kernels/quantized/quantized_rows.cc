// The rows of the kernel table for weft/kernels/quantized.h.
#include "kernels/quantized/formats.h"
#include "kernels/table_rows.h"
#include "weft/kernels/quantized.h"

namespace weft::kernels {
namespace {

const TypeSet kFloats{DType::f32, DType::f16, DType::bf16, DType::f64},
    kValues = quantized_value_types(), kScales{DType::f32, DType::f16, DType::bf16, DType::u8, DType::f8e4m3},
    kZeros = kScales | kValues, kWords{DType::i32, DType::u32};

const OperandSchema kValuesOperand = ranked("values", "as the scheme stores them", 2),
                    kScalesOperand = optional("scales", "one for each group, of the schemes that have them"),
                    kZerosOperand = optional("zeros", "one for each group, or packed"),
                    kGroupsOperand = optional("groups", "[..., rows]: the group of each row, of gptq");

QuantizedMatrix matrix(const Reader& r, std::size_t first) {
  return {r.options<QuantizedFormat>(), r.in(first), r.maybe_in(first + 1), r.maybe_in(first + 2),
          r.maybe_in(first + 3)};
}

std::vector<AttributeSchema> product_attributes() {
  std::vector<AttributeSchema> all = schemas_of<QuantizedFormat>();
  std::ranges::move(schemas_of<QuantizedMatmulOptions>(), std::back_inserter(all));
  return all;
}

}  // namespace

void add_quantized_rows(TableRows& rows) {
  rows.push_back(row({.name = "dequantize_weights",
                      .family = "quantized",
                      .summary = "weights of a few bits in groups that share a scale, as floats",
                      .formula = "y = (values - zeros) · scales, of affine weights values · scales + zeros",
                      .inputs = {kValuesOperand, kScalesOperand, kZerosOperand, kGroupsOperand},
                      .outputs = {ranked("y", "[..., rows, columns]", 2)},
                      .signatures = {{kValues, kScales, kZeros, kWords, kFloats}},
                      .attributes = schemas_of<QuantizedFormat>()},
                     [](Stream& s, const Reader& r) { dequantize_weights(s, matrix(r, 0), r.out(0)); }));
  rows.push_back(row({.name = "quantized_matmul",
                      .family = "quantized",
                      .summary = "the product with weights that are dequantised as they are read; with chosen, each "
                                 "entry takes one of several matrices, as a mixture of experts does",
                      .formula = "y[…, m, n] = Σ_k x[…, m, k] · dequantize_weights(w)[…, n, k]",
                      .inputs = {ranked("x", "[..., m, k]", 2), kValuesOperand, kScalesOperand, kZerosOperand,
                                 kGroupsOperand, optional("chosen", "broadcasts to y's leading axes")},
                      .outputs = {ranked("y", "[..., m, n]", 2)},
                      .signatures = {{kFloats, kValues, kScales, kZeros, kWords, types::indices, kFloats}},
                      .attributes = product_attributes()},
                     [](Stream& s, const Reader& r) {
                       quantized_matmul(s, r.in(0), matrix(r, 1), r.maybe_in(5), r.out(0),
                                        r.options<QuantizedMatmulOptions>());
                     }));
  rows.push_back(row({.name = "quantize_weights",
                      .family = "quantized",
                      .summary = "weights in groups of a few bits an element that share a scale, each by its own range",
                      .formula = "x ≈ dequantize_weights(values, scales, zeros)",
                      .inputs = {ranked("x", "[..., rows, columns]", 2)},
                      .outputs = {kValuesOperand, kScalesOperand, kZerosOperand},
                      .signatures = {{kFloats, kValues, kScales, kZeros}},
                      .attributes = schemas_of<QuantizedFormat>()},
                     [](Stream& s, const Reader& r) {
                       quantize_weights(s, r.in(0),
                                        {r.options<QuantizedFormat>(), r.out(0), r.maybe_out(1), r.maybe_out(2)});
                     }));
}

}  // namespace weft::kernels
