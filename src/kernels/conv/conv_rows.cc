// The rows of the kernel table for weft/kernels/conv.h.
#include "kernels/table_rows.h"
#include "weft/kernels/conv.h"

namespace weft::kernels {
namespace {

ConvOptions options_of(const Reader& r) {
  return {.strides = Dims(r.integers("strides")),
          .dilations = Dims(r.integers("dilations")),
          .before = Dims(r.integers("before")),
          .groups = r.integer("groups")};
}

Schema schema(std::string name, std::string summary, std::string a, std::string b, std::string c,
              std::vector<std::string> other_names) {
  using types::floats;
  const TypeSet small{DType::i8, DType::i16, DType::i32, DType::u8, DType::u16, DType::u32};
  const std::vector<std::int64_t> none;
  const auto list = [&](std::string attribute) {
    return AttributeSchema{std::move(attribute), AttributeKind::integers, none, {}};
  };
  return {.name = std::move(name),
          .family = "conv",
          .summary = std::move(summary),
          .inputs = {{.name = std::move(a), .min_rank = 3, .max_rank = 5},
                     {.name = std::move(b), .min_rank = 3, .max_rank = 5}},
          .outputs = {{.name = std::move(c), .min_rank = 3, .max_rank = 5}},
          .signatures = {{floats, floats, floats}, {small, small, TypeSet{DType::i32, DType::u32}}},
          .attributes = {list("strides"), list("dilations"), list("before"), integer("groups", 1)},
          .other_names = std::move(other_names)};
}

}  // namespace

void add_conv_rows(TableRows& rows) {
  rows.push_back(
      row(schema("conv", "convolution over one to three spatial axes", "x", "w", "y", {"conv1d", "conv2d", "conv3d"}),
          [](Stream& s, const Reader& r) { conv(s, r.in(0), r.in(1), r.out(0), options_of(r)); }));
  rows.push_back(row(schema("conv_transpose", "transposed convolution: the gradient of conv for x", "x", "w", "y",
                            {"conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "convTranspose2d"}),
                     [](Stream& s, const Reader& r) { conv_transpose(s, r.in(0), r.in(1), r.out(0), options_of(r)); }));
  rows.push_back(
      row(schema("conv_filter_gradient", "the gradient of conv for its filter", "x", "y", "w", {}),
          [](Stream& s, const Reader& r) { conv_filter_gradient(s, r.in(0), r.in(1), r.out(0), options_of(r)); }));
}

}  // namespace weft::kernels
