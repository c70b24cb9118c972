#include "call.h"

#include <algorithm>

#include "mlx/backend/common/utils.h"

namespace mlx::core::webgpu {

weft::DType dtype(Dtype type) {
  using enum weft::DType;
  switch (type) {
    case bool_:
      return boolean;
    case uint8:
      return u8;
    case uint16:
      return u16;
    case uint32:
      return u32;
    case uint64:
      return u64;
    case int8:
      return i8;
    case int16:
      return i16;
    case int32:
      return i32;
    case int64:
      return i64;
    case float16:
      return f16;
    case float32:
      return f32;
    case float64:
      return f64;
    case bfloat16:
      return bf16;
    case complex64:
      return c64;
  }
  throw std::invalid_argument("an unknown type");
}

void for_each_part(std::vector<Elements> lists, const std::vector<size_t>& bytes,
                   const std::function<void(const std::vector<Elements>&)>& use) {
  const Elements::Sizes sizes = lists.front().shape;
  if (sizes.size() <= weft::kMaxRank) return use(lists);
  std::vector<Strides> strides;
  for (const Elements& list : lists) strides.push_back(list.strides);
  auto [shape, collapsed] = collapse_contiguous_dims(Shape(sizes.begin(), sizes.end()), strides);
  for (size_t i = 0; i < lists.size(); ++i) lists[i] = Elements::of(shape, collapsed[i], lists[i].offset);
  if (shape.size() <= weft::kMaxRank) return use(lists);
  for (ShapeElem index = 0; index < shape[0]; ++index) {
    std::vector<Elements> parts = lists;
    for (size_t i = 0; i < parts.size(); ++i) {
      parts[i].offset += index * parts[i].strides[0] * static_cast<int64_t>(bytes[i]);
      parts[i].shape.erase(parts[i].shape.begin());
      parts[i].strides.erase(parts[i].strides.begin());
    }
    for_each_part(std::move(parts), bytes, use);
  }
}

weft::Layout layout(const Elements& elements) {
  weft::Layout layout;
  for (size_t i = 0; i < elements.shape.size(); ++i) {
    layout.shape.push_back(elements.shape[i]);
    layout.strides.push_back(elements.strides[i]);
  }
  return layout;
}

namespace {

weft::View view(const weft::Buffer& buffer, Dtype type, const Elements& elements) {
  const auto [shape, strides] = layout(elements);
  return weft::View(buffer, elements.offset, dtype(type), shape, strides);
}

}  // namespace

Call::~Call() {
  recorder().recorded();
  for (MirroredBuffer* buffer : used_) buffer->recorded();
}

weft::View Call::in(const array& a, const Elements& elements) {
  if (!mirrored(a)) {
    // No elements, and so no memory, which a view needs.
    static const auto* empty = new weft::Buffer(device().allocate(4));
    return view(*empty, a.dtype(), {elements.shape, elements.strides, 0});
  }
  used_.push_back(mirrored(a));
  return view(mirrored(a)->read(), a.dtype(), elements);
}

weft::View Call::in_or_number(const array& a, const Elements& elements) {
  if (a.data_size() == 1) {
    const weft::Buffer number = weft::Buffer::number();
    if (mirrored(a)->copy_host(elements.offset, {number.data(), a.itemsize()})) {
      return view(number, a.dtype(), {elements.shape, Strides(elements.shape.size(), 0), 0});
    }
  }
  return in(a, elements);
}

weft::View Call::out(array& a, const Elements& elements) {
  const weft::Layout written = layout(elements);
  const bool overwrites = elements.offset == 0 && written.is_dense() &&
                          static_cast<size_t>(written.count()) * a.itemsize() == mirrored(a)->size();
  used_.push_back(mirrored(a));
  return view(mirrored(a)->write(overwrites), a.dtype(), elements);
}

weft::View Call::in_out(array& a, const Elements& elements) {
  used_.push_back(mirrored(a));
  return view(mirrored(a)->write(false), a.dtype(), elements);
}

weft::View Call::in_dense(const array& a) {
  const weft::View x = in(a);
  if (x.is_dense()) return x;
  const weft::View dense = temporary(x.dtype, x.shape());
  weft::kernels::copy(stream(), x, dense);
  return dense;
}

weft::View Call::temporary(weft::DType type, const weft::Shape& shape) {
  return weft::View(device().allocate(std::max<std::uint64_t>(weft::byte_size(type, weft::element_count(shape)), 4)), 0,
                    type, shape);
}

void allocate(array& out) { out.set_data(allocator::malloc(out.nbytes())); }

void refuse_donation(array& out, const std::vector<array>& inputs) {
  for (const array& in : inputs) {
    if (in.data_shared_ptr() == out.data_shared_ptr() && in.dtype() != out.dtype()) {
      out.set_data(allocator::malloc(out.data_size() * out.itemsize()), out.data_size(), out.strides(), out.flags());
      return;
    }
  }
}

}  // namespace mlx::core::webgpu
