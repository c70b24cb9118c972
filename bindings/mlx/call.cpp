#include "call.h"

#include <algorithm>
#include <optional>

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
                   const std::function<void(const std::vector<Elements>&)>& use, size_t kept) {
  const Elements::Sizes sizes = lists.front().shape;
  if (sizes.size() <= weft::kMaxRank) return use(lists);
  std::vector<Strides> strides;
  for (const Elements& list : lists) strides.emplace_back(list.strides.begin(), list.strides.end() - kept);
  auto [shape, collapsed] = collapse_contiguous_dims(Shape(sizes.begin(), sizes.end() - kept), strides);
  for (size_t i = 0; i < lists.size(); ++i) {
    Elements merged = Elements::of(shape, collapsed[i], lists[i].offset);
    merged.shape.insert(merged.shape.end(), lists[i].shape.end() - kept, lists[i].shape.end());
    merged.strides.insert(merged.strides.end(), lists[i].strides.end() - kept, lists[i].strides.end());
    lists[i] = std::move(merged);
  }
  if (shape.size() + kept <= weft::kMaxRank) return use(lists);
  for (ShapeElem index = 0; index < shape[0]; ++index) {
    std::vector<Elements> parts = lists;
    for (size_t i = 0; i < parts.size(); ++i) {
      parts[i].offset += index * parts[i].strides[0] * static_cast<int64_t>(bytes[i]);
      parts[i].shape.erase(parts[i].shape.begin());
      parts[i].strides.erase(parts[i].strides.begin());
    }
    for_each_part(std::move(parts), bytes, use, kept);
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

// The memory of an array without elements, which has none, and a view needs some.
const weft::Buffer& nothing() {
  static const auto* buffer = new weft::Buffer(device().allocate(4));
  return *buffer;
}

// The axes of each group as one; none if the strides of a group do not allow it.
std::optional<Elements> merged(const Elements& elements, const std::vector<int>& ends) {
  Elements result{.offset = elements.offset};
  int axis = 0;
  for (const int end : ends) {
    int64_t size = 1, stride = 0;
    for (; axis < end; ++axis) {
      if (elements.shape[axis] == 1) continue;
      if (size > 1 && stride != elements.strides[axis] * elements.shape[axis]) return std::nullopt;
      size *= elements.shape[axis];
      stride = elements.strides[axis];
    }
    result.shape.push_back(size);
    result.strides.push_back(stride);
  }
  return result;
}

}  // namespace

Call::~Call() {
  recorder().recorded();
  for (MirroredBuffer* buffer : used_) buffer->recorded();
}

weft::View Call::in(const array& a, const Elements& elements) {
  if (!mirrored(a)) return view(nothing(), a.dtype(), {elements.shape, elements.strides, 0});
  const DeviceHalf half = mirrored(a)->read();
  if (half.whole) wholes_.push_back(half.whole);
  used_.push_back(half.whole ? static_cast<MirroredBuffer*>(half.whole->buffer().ptr()) : mirrored(a));
  return view(half.memory, a.dtype(),
              {elements.shape, elements.strides, elements.offset + static_cast<int64_t>(half.offset)});
}

weft::View Call::in(const array& a, const Grouped& grouped) {
  if (grouped.ends.empty()) return in(a);
  if (const auto elements = merged(Elements::of(a), grouped.ends)) return in(a, *elements);
  const auto dense = merged(Elements::of(a.shape(), make_contiguous_strides(a.shape()), 0), grouped.ends);
  return in_dense(a, layout(*dense).shape);
}

weft::View Call::in_or_number(const array& a, const Elements& elements) {
  if (a.data_size() == 1 && mirrored(a)) {
    const weft::Buffer number = weft::Buffer::number();
    if (mirrored(a)->copy_host(elements.offset, {number.data(), a.itemsize()})) {
      return view(number, a.dtype(), {elements.shape, Strides(elements.shape.size(), 0), 0});
    }
  }
  return in(a, elements);
}

weft::View Call::out(array& a, const Elements& elements) {
  if (!mirrored(a)) return view(nothing(), a.dtype(), {elements.shape, elements.strides, 0});
  const weft::Layout written = layout(elements);
  const bool overwrites = elements.offset == 0 && written.is_dense() &&
                          static_cast<size_t>(written.count()) * a.itemsize() == mirrored(a)->size();
  used_.push_back(mirrored(a));
  return view(mirrored(a)->write(overwrites), a.dtype(), elements);
}

// An output has the strides of its shape, whose axes can be merged.
weft::View Call::out(array& a, const Grouped& grouped) {
  return grouped.ends.empty() ? out(a) : out(a, merged(Elements::of(a), grouped.ends).value());
}

weft::View Call::in_out(array& a, const Grouped& grouped) {
  return grouped.ends.empty() ? in_out(a) : in_out(a, merged(Elements::of(a), grouped.ends).value());
}

weft::View Call::in_out(array& a, const Elements& elements) {
  if (!mirrored(a)) return view(nothing(), a.dtype(), {elements.shape, elements.strides, 0});
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

weft::View Call::in_dense(const array& a, const weft::Shape& shape) {
  if (a.flags().row_contiguous || a.size() == 0) {
    const weft::Layout dense = weft::Layout::dense(shape);
    return in(a, {{dense.shape.begin(), dense.shape.end()}, {dense.strides.begin(), dense.strides.end()}, a.offset()});
  }
  const weft::View copy = temporary(dtype(a.dtype()), shape);
  for_each_part({Elements::of(a), Elements::of(a.shape(), make_contiguous_strides(a.shape()), 0)},
                {a.itemsize(), a.itemsize()}, [&](const std::vector<Elements>& parts) {
                  weft::kernels::copy(stream(), in(a, parts[0]), view(copy.buffer, a.dtype(), parts[1]));
                });
  return copy;
}

weft::View Call::temporary(weft::DType type, const weft::Shape& shape) {
  const std::uint64_t bytes = weft::byte_size(type, weft::element_count(shape));
  temporaries_.add(bytes);
  return weft::View(allocate_on_device(bytes), 0, type, shape);
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
