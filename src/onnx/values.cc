#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "core/checked.h"
#include "core/error_context.h"
#include "core/format.h"
#include "core/mapped_file.h"
#include "onnx/external.h"
#include "onnx/value.h"
#include "onnx/wire.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/graph.h"
#include "weft/number.h"
#include "weft/onnx.h"

namespace weft::onnx {
namespace {

// By the number of the type.
constexpr std::optional<DType> kTypes[] = {
    {},          DType::f32,     DType::u8,  DType::i8,     DType::u16, DType::i16, DType::i32, DType::i64,
    {},          DType::boolean, DType::f16, DType::f64,    DType::u32, DType::u64, DType::c64, {},
    DType::bf16, DType::f8e4m3,  {},         DType::f8e5m2, {},         DType::u4,  DType::i4,  {},
    {},          DType::u2,      DType::i2};

// More have no place, and their bytes no number of 64 bits.
constexpr std::int64_t kMostElements = std::int64_t{1} << 56;
// What a sparse tensor, whose file may be of a few bytes, may become.
constexpr std::uint64_t kMostDenseBytes = std::uint64_t{1} << 30;

Shape shape_of(std::span<const std::int64_t> dims, std::string_view what) {
  if (dims.size() > static_cast<std::size_t>(kMaxRank)) {
    throw Unsupported("onnx: {} has {} axes; Weft has up to {}", what, dims.size(), kMaxRank);
  }
  Shape shape;
  std::int64_t count = 1;
  for (const std::int64_t d : dims) {
    if (d < 0) throw FormatError("onnx: {} has an axis of size {}", what, d);
    // A zero anywhere makes it empty, but not the other sizes sound.
    if (d && (multiply_overflows(count, d, count) || count > kMostElements)) {
      throw FormatError("onnx: {} has more than 2^56 elements", what);
    }
    shape.push_back(d);
  }
  return shape;
}

}  // namespace

std::optional<DType> find_dtype(ElementType type) {
  const auto i = static_cast<std::size_t>(type);
  return i < std::size(kTypes) ? kTypes[i] : std::nullopt;
}

ElementType element_type(DType type) {
  return static_cast<ElementType>(std::ranges::find(kTypes, std::optional(type)) - std::begin(kTypes));
}

DType dtype_of(ElementType type, std::string_view what) {
  if (const auto found = find_dtype(type)) return *found;
  throw Unsupported("onnx: {} is of {}, a type that Weft lacks", what, name(type));
}

namespace {

[[noreturn]] void refuse_location(const std::string& location, std::string_view tensor) {
  throw FormatError("onnx: {} lies in '{}', which is not inside of the model's folder", tensor, location);
}

}  // namespace

void check_location(const std::string& location, std::string_view tensor) {
  const std::filesystem::path place(location);
  const bool inside = !location.empty() && place.is_relative() &&
                      std::ranges::none_of(place, [](const auto& part) { return part == ".."; });
  if (!inside) refuse_location(location, tensor);
}

MappedFile ExternalFiles::bytes(const ExternalData& data, std::uint64_t size, std::string_view tensor) {
  if (const auto part = parts_.find({data.location, data.offset, size}); part != parts_.end()) return part->second;
  const std::filesystem::path place(data.location);
  if (folder_.empty()) {
    throw FormatError("onnx: {} lies in '{}', and a model in memory was given no folder", tensor, data.location);
  }
  check_location(data.location, tensor);
  // A link may lead elsewhere as well.
  const std::filesystem::path path = folder_ / place;
  std::error_code ignored;
  const auto real = std::filesystem::weakly_canonical(path, ignored),
             base = std::filesystem::weakly_canonical(folder_, ignored);
  const auto [end, rest] = std::ranges::mismatch(base, real);
  if (end != base.end()) refuse_location(data.location, tensor);
  const std::lock_guard lock(mutex_);
  MappedFile& file = files_[data.location];
  if (!file.owner) file = MappedFile::open(path);
  const std::uint64_t there = file.bytes.size(), length = data.length.value_or(size);
  if (length != size || data.offset > there || size > there - data.offset) {
    throw FormatError("onnx: {} takes {} bytes, and is said to be {} bytes from {} on of '{}', which has {}", tensor,
                      size, length, data.offset, data.location, there);
  }
  return {file.bytes.subspan(static_cast<std::size_t>(data.offset), static_cast<std::size_t>(size)), file.owner};
}

TensorData data_of(const TensorProto& t, const std::shared_ptr<const void>& owner, ExternalFiles& files) {
  const std::string what = t.name.empty() ? "a tensor" : std::format("tensor '{}'", t.name);
  TensorData data{.dtype = dtype_of(t.type, what), .shape = shape_of(t.dims, what)};
  const auto count = static_cast<std::uint64_t>(element_count(data.shape));
  const std::uint64_t size = byte_size(data.dtype, count);
  if (t.external) {
    const MappedFile file = files.bytes(*t.external, size, what);
    data.bytes = file.bytes;
    data.owner = file.owner;
  } else if (t.packed) {
    data.bytes = *t.packed;
    data.owner = t.packed;
  } else {
    data.bytes = t.raw;
    data.owner = owner;
  }
  if (data.bytes.size() != size) {
    throw FormatError("onnx: {} of {} {} has {} bytes, expected {}", what, name(t.type), to_string(data.shape),
                      data.bytes.size(), size);
  }
  return data;
}

TensorData data_of(const SparseTensorProto& t, const std::shared_ptr<const void>& owner, ExternalFiles& files) {
  const TensorData values = data_of(t.values, owner, files), places = data_of(t.indices, owner, files);
  const std::string what = std::format("sparse tensor '{}'", t.values.name);
  const Shape shape = shape_of(t.dims, what);
  const std::size_t width = static_cast<std::size_t>(bits(values.dtype)) / 8;
  if (width == 0) throw Unsupported("onnx: {} is of {}", what, name(values.dtype));
  const std::uint64_t size = byte_size(values.dtype, static_cast<std::uint64_t>(element_count(shape)));
  if (size > kMostDenseBytes) throw Unsupported("onnx: {} would have {} bytes; Weft takes up to 1 GiB", what, size);
  const auto all = std::make_shared<std::vector<std::byte>>(size);
  const std::vector<std::int64_t> at = integers_in(places);
  const std::size_t count = values.bytes.size() / width;
  const bool linear = places.shape.rank() == 1;
  if (at.size() != count * (linear ? 1 : static_cast<std::size_t>(shape.rank()))) {
    throw FormatError("onnx: {} has {} values and indices {}", what, count, to_string(places.shape));
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t index = linear ? at[i] : 0;
    bool fits = !linear || (index >= 0 && index < element_count(shape));
    for (int d = 0; !linear && d < shape.rank(); ++d) {
      const std::int64_t k = at[i * static_cast<std::size_t>(shape.rank()) + static_cast<std::size_t>(d)];
      fits &= k >= 0 && k < shape[d];
      index = index * shape[d] + k;
    }
    if (!fits) throw FormatError("onnx: {}: value {} is outside of {}", what, i, to_string(shape));
    std::memcpy(all->data() + static_cast<std::size_t>(index) * width, values.bytes.data() + i * width, width);
  }
  return {values.dtype, shape, *all, all};
}

namespace {

template <class To, class Stored>
std::vector<To> numbers_as(const TensorData& data) {
  std::vector<To> numbers(data.bytes.size() / sizeof(Stored));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    Stored value;
    std::memcpy(&value, data.bytes.data() + i * sizeof(Stored), sizeof(Stored));
    if constexpr (std::is_integral_v<To> && std::is_floating_point_v<Stored>) {
      numbers[i] = static_cast<To>(Number(value).bits(DType::i64));
    } else {
      numbers[i] = static_cast<To>(value);
    }
  }
  return numbers;
}
template <class To>
std::vector<To> elements_as(const TensorData& data) {
  switch (data.dtype) {
    case DType::f32:
      return numbers_as<To, float>(data);
    case DType::f64:
      return numbers_as<To, double>(data);
    case DType::i8:
      return numbers_as<To, std::int8_t>(data);
    case DType::u8:
    case DType::boolean:
      return numbers_as<To, std::uint8_t>(data);
    case DType::i16:
      return numbers_as<To, std::int16_t>(data);
    case DType::u16:
      return numbers_as<To, std::uint16_t>(data);
    case DType::i32:
      return numbers_as<To, std::int32_t>(data);
    case DType::u32:
      return numbers_as<To, std::uint32_t>(data);
    case DType::i64:
      return numbers_as<To, std::int64_t>(data);
    case DType::u64:
      return numbers_as<To, std::uint64_t>(data);
    default:
      break;
  }
  // Narrow floats and packed integers, by the library's own conversion.
  std::vector<double> values(static_cast<std::size_t>(element_count(data.shape)));
  const Tensor wide = cast(Graph::constant(data), DType::f64);
  const DefaultDeviceScope there(Device::cpu());
  wide.read_bytes(std::as_writable_bytes(std::span(values)));
  return {values.begin(), values.end()};
}

}  // namespace

std::vector<std::int64_t> integers_in(const TensorData& data) { return elements_as<std::int64_t>(data); }
std::vector<double> numbers_in(const TensorData& data) { return elements_as<double>(data); }

PortValue load_value(const std::filesystem::path& path, std::string_view type) {
  const MappedFile file = MappedFile::open(path);
  return in_context([&] { return std::format("'{}'", path.string()); },
                    [&] {
                      ExternalFiles files(path.parent_path());
                      const auto tensor = [&](std::span<const std::byte> bytes) {
                        return Graph::constant(data_of(parse_tensor(bytes), file.owner, files));
                      };
                      const auto sequence = [&](std::span<const std::byte> bytes) {
                        std::vector<Tensor> tensors;
                        for (WireReader r(bytes, "SequenceProto"); r.next();) {
                          if (r.field() == 3) tensors.push_back(tensor(r.bytes()));
                        }
                        return tensors;
                      };
                      PortValue value;
                      if (type.starts_with("optional(")) {
                        for (WireReader r(file.bytes, "OptionalProto"); r.next();) {
                          if (r.field() == 3) value.tensor = tensor(r.bytes());
                          if (r.field() == 5) value.sequence = sequence(r.bytes());
                        }
                      } else if (type.starts_with("seq(")) {
                        value.sequence = sequence(file.bytes);
                      } else {
                        value.tensor = tensor(file.bytes);
                      }
                      return value;
                    });
}

}  // namespace weft::onnx
