#include "weft/creation.h"

#include <webgpu/webgpu_cpp.h>

#include <cstring>
#include <optional>

#include "core/error_context.h"
#include "core/format.h"
#include "core/host_memory.h"
#include "tensor/convert.h"
#include "tensor/tracing.h"
#include "weft/array.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/graph.h"

namespace weft {
namespace {

// The numbers of nested lists, in order, and the shape that the lists have.
struct Flattened {
  explicit Flattened(const NestedList& list) {
    for (const NestedList* l = &list; l->is_list(); l = &l->rows()[0]) {
      if (shape.rank() == kMaxRank)
        throw ShapeError("tensor: lists in {} levels, expected at most {}", kMaxRank + 1, kMaxRank);
      shape.push_back(static_cast<std::int64_t>(l->rows().size()));
      if (l->rows().empty()) break;
    }
    collect(list, 0);
  }

  void collect(const NestedList& list, int level) {
    if (!list.is_list()) {
      if (level != shape.rank()) throw ShapeError("tensor: a number on level {}, where others are lists", level);
      numbers.push_back(list.number());
      dtype = dtype ? result_type(*dtype, list.dtype()) : list.dtype();
      return;
    }
    if (level == shape.rank()) throw ShapeError("tensor: a list on level {}, where others are numbers", level);
    if (static_cast<std::int64_t>(list.rows().size()) != shape[level]) {
      throw ShapeError("tensor: lists of {} and of {} along axis {}, expected equally long ones", shape[level],
                       list.rows().size(), level);
    }
    for (const NestedList& row : list.rows()) collect(row, level + 1);
  }

  Shape shape;
  std::optional<DType> dtype;  // none: there is no number
  std::vector<Number> numbers;
};

// Of `count` numbers, each of which is given by its index.
template <class NumberAt>
Tensor made_of(const Shape& shape, std::size_t count, const NumberAt& number, DType dtype) {
  const int width = bits(dtype);
  std::vector<std::byte> bytes = host_bytes("tensor", {dtype, {static_cast<std::int64_t>(count)}});
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t element = number(i).bits(dtype);
    const std::size_t bit = i * static_cast<std::size_t>(width);
    // Two elements in a byte: the first one in its low half.
    if (width < 8)
      bytes[bit / 8] |= static_cast<std::byte>(element << bit % 8);
    else
      std::memcpy(&bytes[bit / 8], &element, static_cast<std::size_t>(width) / 8);
  }
  return tensor(dtype, shape, bytes);
}

// An integer among bytes, which begin at any address.
template <class T>
Number integer_at(std::span<const std::byte> bytes, std::size_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
  return value;
}

Number integer_at(DType dtype, std::span<const std::byte> bytes, std::size_t i) {
  switch (dtype) {
    case DType::i8:
      return integer_at<std::int8_t>(bytes, i);
    case DType::i16:
      return integer_at<std::int16_t>(bytes, i);
    case DType::i32:
      return integer_at<std::int32_t>(bytes, i);
    case DType::i64:
      return integer_at<std::int64_t>(bytes, i);
    case DType::u8:
      return integer_at<std::uint8_t>(bytes, i);
    case DType::u16:
      return integer_at<std::uint16_t>(bytes, i);
    case DType::u32:
      return integer_at<std::uint32_t>(bytes, i);
    case DType::u64:
      return integer_at<std::uint64_t>(bytes, i);
    default:
      throw InternalError("tensor: {} is no type of integers", name(dtype));
  }
}

}  // namespace

Tensor tensor(DType dtype, const Shape& shape, std::span<const std::byte> bytes) {
  // Which device will run the function is not known to it.
  if (tracing()) return Graph::constant(TensorData::copy_of(dtype, shape, bytes));
  Tensor t(default_device(), dtype, shape);
  in_function("tensor", [&] { t.write(bytes); });
  return t;
}

Tensor tensor(DType from, const Shape& shape, std::span<const std::byte> bytes, DType dtype) {
  if (from == dtype) return tensor(dtype, shape, bytes);
  const TensorType given{from, shape};
  if (bytes.size() != byte_size(given)) {
    throw InvalidArgument("tensor: {} takes {} bytes, {} given", to_string(given), byte_size(given), bytes.size());
  }
  // cast() wraps integers around.
  if (is_integer(from) && is_integer(dtype)) {
    const auto count = static_cast<std::size_t>(element_count(shape));
    return made_of(shape, count, [&](std::size_t i) { return integer_at(from, bytes, i); }, dtype);
  }
  std::vector<std::byte> converted = host_bytes("tensor", {dtype, shape});
  convert(given, bytes, dtype, converted);
  return tensor(dtype, shape, converted);
}

Tensor from_numbers(const Shape& shape, std::span<const Number> values, DType dtype) {
  if (static_cast<std::int64_t>(values.size()) != element_count(shape)) {
    throw InvalidArgument("tensor: {} numbers given for {}", values.size(), to_string(TensorType{dtype, shape}));
  }
  return made_of(shape, values.size(), [&](std::size_t i) { return values[i]; }, dtype);
}

Tensor tensor(std::initializer_list<NestedList> values) {
  const Flattened list(values);
  return from_numbers(list.shape, list.numbers, list.dtype.value_or(DType::f32));
}

Tensor from_list(const NestedList& values, DType dtype) {
  const Flattened list(values);
  return from_numbers(list.shape, list.numbers, dtype);
}

Tensor from_buffer(const Device& device, const wgpu::Buffer& buffer, DType dtype, const Shape& shape,
                   std::uint64_t offset) {
  if (!device.is_gpu()) throw DeviceError("from_buffer: a WebGPU buffer is on a GPU; the device is the cpu");
  if (!buffer) throw InvalidArgument("from_buffer: the buffer is null");
  constexpr auto kUsage = static_cast<std::uint64_t>(wgpu::BufferUsage::Storage) |
                          static_cast<std::uint64_t>(wgpu::BufferUsage::CopySrc) |
                          static_cast<std::uint64_t>(wgpu::BufferUsage::CopyDst);
  if (const auto usage = static_cast<std::uint64_t>(buffer.GetUsage()); (usage & kUsage) != kUsage) {
    throw InvalidArgument(
        "from_buffer: the buffer's usage is {:#x}; it must include Storage, CopySrc and CopyDst ({:#x})", usage,
        kUsage);
  }
  return Tensor(device, View(Buffer(buffer), offset, dtype, shape));
}

}  // namespace weft
