// Single elements, for the references of kernels (kernel_references.h).
#pragma once

#include "core/format.h"
#include "kernels/cpu_loops.h"
#include "weft/error.h"

namespace weft::test {

// The element at that offset as a double. Throws InternalError for types that are no single number.
inline double element_as_double(const View& view, std::int64_t offset) {
  return kernels::with_type(view.dtype, [&]<class T>() -> double {
    if constexpr (std::is_convertible_v<T, double>)
      return static_cast<double>(kernels::data<const T>(view)[offset]);
    else
      throw InternalError("an element of {} as one number", name(view.dtype));
  });
}

}  // namespace weft::test
