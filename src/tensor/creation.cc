#include "weft/creation.h"

#include <cstring>
#include <optional>

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

Tensor made_of(const Flattened& list, DType dtype) {
  const int width = bits(dtype);
  std::vector<std::byte> bytes(byte_size(dtype, list.numbers.size()));
  for (std::size_t i = 0; i < list.numbers.size(); ++i) {
    const std::uint64_t element = list.numbers[i].bits(dtype);
    const std::size_t bit = i * static_cast<std::size_t>(width);
    // Two elements in a byte: the first one in its low half.
    if (width < 8)
      bytes[bit / 8] |= static_cast<std::byte>(element << bit % 8);
    else
      std::memcpy(&bytes[bit / 8], &element, static_cast<std::size_t>(width) / 8);
  }
  return tensor(dtype, list.shape, bytes);
}

}  // namespace

Tensor full(const Shape& shape, Number value, DType dtype) { return broadcast_to(Graph::scalar(value, dtype), shape); }

Tensor tensor(DType dtype, const Shape& shape, std::span<const std::byte> bytes) {
  // Which device will run the function is not known to it.
  if (tracing()) return Graph::constant(TensorData::copy_of(dtype, shape, bytes));
  Tensor t(default_device(), dtype, shape);
  t.write(bytes);
  return t;
}

Tensor tensor(std::initializer_list<NestedList> values) {
  const Flattened list(values);
  return made_of(list, list.dtype.value_or(DType::f32));
}

Tensor from_list(const NestedList& values, DType dtype) { return made_of(Flattened(values), dtype); }

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
