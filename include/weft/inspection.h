// What data types and devices are like: the data type and inspection functions of the Python array API standard.
// result_type() and cast(), its astype, are in weft/graph.h, default_device() in weft/device.h, and available_devices()
// in weft/devices.h.
//
//   isdtype(x.dtype(), types::integers | types::boolean)
//   finfo(DType::f16).eps       // 0.0009765625
//   dtypes(device).contains(DType::f64)
#pragma once

#include <cstdint>

#include "weft/device.h"
#include "weft/dtype.h"
#include "weft/schema.h"
#include "weft/shape.h"

namespace weft {

// ---- Data types.

struct FloatInfo {
  DType dtype;             // of c64 that of its parts, f32
  int bits;                // of one number
  double eps;              // from 1 to the next number
  double min, max;         // the least and the greatest finite number
  double smallest_normal;  // the least positive number of full precision
};
// The limits of a type of floats, or of the parts of c64. Throws TypeError for other types.
FloatInfo finfo(DType dtype);

struct IntegerInfo {
  DType dtype;
  int bits;
  std::int64_t min;
  std::uint64_t max;
};
// The limits of a type of integers. Throws TypeError for other types, bool too.
IntegerInfo iinfo(DType dtype);

// Whether the type is one of these. The standard's kinds are sets of weft/schema.h: types::boolean, signed_integers,
// unsigned_integers, integers (its "integral"), floats ("real floating"), complex ("complex floating"), numbers and
// complex together ("numeric"); a type is a set of its own, and sets are joined by |.
bool isdtype(DType dtype, TypeSet kinds);

// Whether values of the one type become the other by promotion: result_type(from, to) is `to`. False for types that
// have none in common.
bool can_cast(DType from, DType to);

// ---- What there is.

// The standard's types in which the device computes, as far as they are among these kinds: bool, the integers from 8 to
// 64 bits, f32 and c64, and on the cpu f64. There is no complex128. That Weft has more types, such as f16, is not said.
TypeSet dtypes(const Device& device = default_device(), TypeSet kinds = types::any);

struct DefaultTypes {
  DType real_floating = DType::f32;
  DType complex_floating = DType::c64;
  DType integral = DType::i32;
  DType indexing = DType::i32;  // positions along axes of 2^31 elements and more are i64
};
// The types of what is made without one. They are those of every device.
DefaultTypes default_dtypes(const Device& device = default_device());

struct Capabilities {
  bool boolean_indexing = true;       // x[mask]
  bool data_dependent_shapes = true;  // unique(), nonzero(), …, but not in compile()
  int max_dimensions = kMaxRank;
};
// What the standard asks libraries.
Capabilities capabilities();

}  // namespace weft
