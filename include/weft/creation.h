// Tensors from values: on the default device (weft/evaluate.h), evaluated. In a function that compile() traces
// (weft/traced.h) they are constants of it.
//
//   tensor({{1, 2}, {3, 4}})            i32 [2, 2]
//   tensor({{1, 2}, {3, 4}}, DType::f32)
//   tensor({2, 3}, {1, 2, 3, 4, 5, 6})  f32 [2, 3]: a shape, and values
//   tensor(std::vector<float>{…})       f32 [n];  tensor({2, 3}, vector): with a shape
//   tensor({2, 3}, vector, DType::f16)  f16 [2, 3]: the values converted
//   tensor(3.5f), tensor(3), tensor(true)   f32 [], i32 [], bool []
#pragma once

#include <complex>
#include <concepts>
#include <initializer_list>
#include <ranges>
#include <span>
#include <type_traits>
#include <vector>

#include "weft/device.h"
#include "weft/element.h"
#include "weft/number.h"
#include "weft/tensor.h"
#include "weft/tensor_data.h"

namespace weft {

// A C++ type whose values are elements (weft/element.h). Characters are text, not numbers.
template <class T>
concept ElementValue = (std::is_arithmetic_v<T> && !std::is_same_v<T, long double> && !std::is_same_v<T, char> &&
                        !std::is_same_v<T, wchar_t> && !std::is_same_v<T, char8_t> && !std::is_same_v<T, char16_t> &&
                        !std::is_same_v<T, char32_t>) ||
                       std::is_same_v<T, float16> || std::is_same_v<T, bfloat16> || std::is_same_v<T, float8_e4m3> ||
                       std::is_same_v<T, float8_e5m2> || std::is_same_v<T, std::complex<float>>;

// Elements one after the other: std::vector, std::array, std::span, a C array.
template <class R>
concept ElementRange = std::ranges::contiguous_range<const R> && std::ranges::sized_range<const R> &&
                       ElementValue<std::ranges::range_value_t<const R>>;

// A tensor on the default device with this value everywhere, converted to `dtype`: floats round to even, integers out
// of range saturate, fractions are cut off. Throws ShapeError (a negative size) and OutOfMemory.
Tensor full(const Shape& shape, Number value, DType dtype = DType::f32);
// Zeros: full() of 0.
Tensor zeros(const Shape& shape, DType dtype = DType::f32);
// Ones: full() of 1.
Tensor ones(const Shape& shape, DType dtype = DType::f32);

// ---- Sequences of powers, beside linspace() of weft/graph.h: constants of a float type, of which the host computes
// each element in f64 and rounds it once. An exponent e of it makes that wrong by up to |e · log(base)| · 2^-52 of the
// number, which only f64 shows. Throw InvalidArgument (a negative count), TypeError (other types) and OutOfMemory.

// base^e of `count` exponents e at equal distances: the first is start; the last is stop, or with endpoint = false
// would be the next. One number is base^start. A negative base has NaN at fractions, and infinite exponents are those
// of linspace(). NumPy's logspace, PyTorch's.
Tensor logspace(double start, double stop, std::int64_t count, double base = 10, DType dtype = DType::f32,
                bool endpoint = true);
// `count` numbers of which each is the same multiple of the one before: the first is start; the last is stop, or with
// endpoint = false would be the next. Both have the same sign, are finite and not 0 (else InvalidArgument). NumPy's
// geomspace.
Tensor geomspace(double start, double stop, std::int64_t count, DType dtype = DType::f32, bool endpoint = true);

// ---- Values of the host.

// A copy of the values on the default device, as bytes in row-major order, little endian. Throws InvalidArgument unless
// they are as many as the shape takes, and OutOfMemory.
Tensor tensor(DType dtype, const Shape& shape, std::span<const std::byte> bytes);
// A copy of a range of values, in row-major order, of their C++ type (dtype_of<T>): of double f64.
template <ElementRange R>
Tensor tensor(const Shape& shape, const R& values) {
  using T = std::ranges::range_value_t<const R>;
  return tensor(dtype_of<T>, shape,
                std::as_bytes(std::span<const T>(std::ranges::data(values), std::ranges::size(values))));
}
// The same of rank 1.
template <ElementRange R>
Tensor tensor(const R& values) {
  return tensor({static_cast<std::int64_t>(std::ranges::size(values))}, values);
}
// Values in braces as f32, in row-major order.
inline Tensor tensor(const Shape& shape, std::initializer_list<float> values) {
  return tensor(shape, std::span<const float>(values.begin(), values.size()));
}
// The values of a std::vector<bool>, which has no bool in memory, as bool.
template <std::same_as<std::vector<bool>> V>
Tensor tensor(const Shape& shape, const V& values) {
  const std::vector<std::uint8_t> bytes(values.begin(), values.end());
  return tensor(DType::boolean, shape, std::as_bytes(std::span(bytes)));
}
// The same of rank 1.
template <std::same_as<std::vector<bool>> V>
Tensor tensor(const V& values) {
  return tensor({static_cast<std::int64_t>(values.size())}, values);
}
// The same with a type: elements, of the type `from`, are converted to `dtype` as full() converts its value.
Tensor tensor(DType from, const Shape& shape, std::span<const std::byte> bytes, DType dtype);
// A range of values, converted.
template <ElementRange R, std::same_as<DType> D>
Tensor tensor(const Shape& shape, const R& values, D dtype) {
  using T = std::ranges::range_value_t<const R>;
  return tensor(dtype_of<T>, shape,
                std::as_bytes(std::span<const T>(std::ranges::data(values), std::ranges::size(values))), dtype);
}
// The values of a std::vector<bool>, converted.
template <std::same_as<std::vector<bool>> V, std::same_as<DType> D>
Tensor tensor(const Shape& shape, const V& values, D dtype) {
  const std::vector<std::uint8_t> bytes(values.begin(), values.end());
  return tensor(DType::boolean, shape, std::as_bytes(std::span(bytes)), dtype);
}
// Either of them of rank 1, converted.
template <class V, std::same_as<DType> D>
  requires(ElementRange<V> || std::same_as<V, std::vector<bool>>)
Tensor tensor(const V& values, D dtype) {
  return tensor({static_cast<std::int64_t>(std::ranges::size(values))}, values, dtype);
}
// Numbers in row-major order, converted. Throws InvalidArgument unless they are as many as the shape has.
Tensor from_numbers(const Shape& shape, std::span<const Number> values, DType dtype);
// Numbers in braces, converted: from_numbers().
template <std::same_as<DType> D>
Tensor tensor(const Shape& shape, std::initializer_list<Number> values, D dtype) {
  return from_numbers(shape, std::span(values.begin(), values.size()), dtype);
}
// A copy of a tensor in host memory. (A template, so that no braces are taken for a TensorData.)
template <std::same_as<TensorData> D>
Tensor tensor(const D& data) {
  return tensor(data.dtype, data.shape, data.bytes);
}

// A number, or a list of lists of numbers in braces.
class NestedList {
 public:
  template <class T>
    requires(ElementValue<T> && std::is_arithmetic_v<T>)
  NestedList(T value)  // NOLINT: implicit, so that braces are enough
      : number_(value), dtype_(std::is_same_v<T, double> ? DType::f32 : dtype_of<T>) {}
  NestedList(std::initializer_list<NestedList> rows) : rows_(rows), is_list_(true) {}  // NOLINT

  bool is_list() const { return is_list_; }
  std::span<const NestedList> rows() const { return rows_; }  // of a list
  const Number& number() const { return number_; }
  DType dtype() const { return dtype_; }  // of the number

 private:
  Number number_;
  DType dtype_ = DType::f32;
  std::vector<NestedList> rows_;
  bool is_list_ = false;
};

// Numbers in nested lists, converted to `dtype` as full() converts its value. Throws ShapeError (ragged lists).
Tensor from_list(const NestedList& values, DType dtype);

// Of lists that are equally long on each level, up to eight levels. The type is the one that the numbers' types have in
// common (result_type), in which a double, such as 0.5, counts as f32; without numbers it is f32. Given another type,
// numbers are converted as in full(). Throws ShapeError (ragged lists), TypeError (numbers without a common type).
Tensor tensor(std::initializer_list<NestedList> values);
// The same converted to a type: from_list(). (A template, so that no braces are taken for a DType.)
template <std::same_as<DType> D>
Tensor tensor(std::initializer_list<NestedList> values, D dtype) {
  return from_list(values, dtype);
}
// One number, of shape []; a double gives an f32.
template <ElementValue T>
Tensor tensor(T value) {
  if constexpr (std::is_same_v<T, double>)
    return tensor(static_cast<float>(value));
  else
    return tensor(Shape(), std::span<const T>(&value, 1));
}
// One number, of shape [], converted to a type.
template <class T, std::same_as<DType> D>
  requires(ElementValue<T> && std::is_arithmetic_v<T>)
Tensor tensor(T value, D dtype) {
  return from_list(value, dtype);
}

// The memory of a caller's buffer on a GPU, from `offset` bytes on: no copy. The tensor holds the buffer; writing to it
// by other means than Weft's is seen by what is computed afterwards. Its usage includes Storage, CopySrc and CopyDst.
// Throws DeviceError on the cpu, InvalidArgument (null, usage, size, an offset that is no multiple of the element).
Tensor from_buffer(const Device& device, const wgpu::Buffer& buffer, DType dtype, const Shape& shape,
                   std::uint64_t offset = 0);

}  // namespace weft
