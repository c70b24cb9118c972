// DLPack's structs, version 1.0, whose layout is an agreement between libraries.
// Source: https://dmlc.github.io/dlpack/latest/c_api.html
#pragma once

#include <cstdint>

namespace weft::python::dlpack {

enum DeviceType : std::int32_t { kCpu = 1, kWebGpu = 15 };
enum TypeCode : std::uint8_t {
  kInt = 0,
  kUInt = 1,
  kFloat = 2,
  kBfloat = 4,
  kComplex = 5,
  kBool = 6,
  kFloat8E4m3fn = 10,
  kFloat8E5m2 = 12,
};
enum Flags : std::uint64_t { kReadOnly = 1, kIsCopied = 2 };

struct Device {
  DeviceType type;
  std::int32_t id;
};
struct DataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct Tensor {
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: dense
  std::uint64_t byte_offset;
};
struct ManagedTensor {
  Tensor tensor;
  void* context;
  void (*deleter)(ManagedTensor* self);
};
struct Version {
  std::uint32_t major, minor;
};
struct ManagedTensorVersioned {
  Version version;
  void* context;
  void (*deleter)(ManagedTensorVersioned* self);
  std::uint64_t flags;
  Tensor tensor;
};

}  // namespace weft::python::dlpack
