// The rows of the kernel table for weft/kernels/quantize.h.
#include "kernels/quantize/expressions.h"
#include "kernels/table_rows.h"

namespace weft::kernels {
namespace {

std::vector<OperandSchema> inputs(const char* first) {
  return {one(first, "any"), one("scale", "broadcasts"), optional("zero_point", "broadcasts")};
}

// x, the scale, the zero point, and q, of whose type the zero point is.
std::vector<TypeSignature> to_quantized(TypeSet x) { return {{x, kScaleTypes, kQuantizedTypes, as(2)}}; }

Schema schema(const char* name, const char* summary, const char* formula, std::vector<OperandSchema> inputs,
              OperandSchema output, std::vector<TypeSignature> signatures, std::vector<AttributeSchema> attributes,
              std::vector<std::string> other_names) {
  return {.name = name,
          .family = "quantize",
          .summary = summary,
          .formula = formula,
          .inputs = std::move(inputs),
          .outputs = {std::move(output)},
          .signatures = std::move(signatures),
          .attributes = std::move(attributes),
          .other_names = std::move(other_names)};
}

}  // namespace

void add_quantize_rows(TableRows& rows) {
  const AttributeSchema saturate =
      boolean("saturate", "what is too large for an 8-bit float becomes its largest number, not infinity or NaN", true);
  rows.push_back(row(schema("quantize",
                            "numbers as integers or 8-bit floats times a scale; ties go to the even integer, and what "
                            "is beyond the type to its end",
                            "q = saturate(round(x / scale) + zero_point)", inputs("x"), one("q", "x's shape"),
                            to_quantized(kScaleTypes), {saturate}, {"QuantizeLinear", "quantize_linear"}),
                     [](Stream& s, const Reader& r) {
                       quantize(s, r.in(0), r.in(1), r.maybe_in(2), r.out(0), {.saturate = r.flag("saturate")});
                     }));
  rows.push_back(row(schema("dequantize", "the numbers that quantised ones stand for", "x = (q - zero_point) · scale",
                            inputs("q"), one("x", "q's shape"), {{kQuantizedTypes, kScaleTypes, as(0), kScaleTypes}},
                            {}, {"DequantizeLinear", "dequantize_linear"}),
                     [](Stream& s, const Reader& r) { dequantize(s, r.in(0), r.in(1), r.maybe_in(2), r.out(0)); }));
  rows.push_back(row(schema("requantize", "the sums of a product of quantised numbers, quantised again",
                            "q = saturate(round(x · scale) + zero_point)", inputs("x"), one("q", "x's shape"),
                            to_quantized(kScaleTypes | DType::i32), {saturate}, {}),
                     [](Stream& s, const Reader& r) {
                       requantize(s, r.in(0), r.in(1), r.maybe_in(2), r.out(0), {.saturate = r.flag("saturate")});
                     }));
  rows.push_back(
      row(schema("fake_quantize", "what quantising leaves of numbers, as floats",
                 "y = (min(max(round(x / scale) + zero_point, low), high) - zero_point) · scale", inputs("x"),
                 one("y", "x's shape"), {{kScaleTypes, kScaleTypes, TypeSet{DType::i32, DType::f32}, as(0)}},
                 {integer("low", "the least integer", -128), integer("high", "the greatest integer", 127)},
                 {"fake_quantize_per_tensor_affine", "fake_quantize_per_channel_affine"}),
          [](Stream& s, const Reader& r) {
            fake_quantize(s, r.in(0), r.in(1), r.maybe_in(2), r.out(0),
                          {.low = r.integer("low"), .high = r.integer("high")});
          }));
}

}  // namespace weft::kernels
