// Matrices of quantised weights for benchmarks, made on the device at random.
#pragma once

#include <cstdint>
#include <string>

#include "weft/device.h"
#include "weft/kernels/fusion.h"
#include "weft/kernels/quantized.h"

namespace weft::bench {

// "affine 4/64" (bits and group), or the scheme's name where the scheme says both.
std::string to_string(const kernels::QuantizedFormat& format);

// Codes are random bits, scales are f16 from 1/128 to 1/64 (of mxfp4 powers of two about that). What is added to affine
// weights and to q4_k's makes their mean 0. Different seeds give different weights, in memory of their own. Throws
// InvalidArgument for schemes that no benchmark has.
kernels::QuantizedMatrix random_weights(const Device& device, const kernels::QuantizedFormat& format, std::int64_t rows,
                                        std::int64_t columns, std::uint32_t seed);

// Bytes of the packed values, scales and zeros: what a product must read.
double stored_bytes(const kernels::QuantizedMatrix& w);

// Uniform in [-1, 1).
View random_floats(const Device& device, DType type, const Shape& shape, std::uint32_t seed);

// A copy of the last indices of an axis, 64 at most.
View last_part(const Device& device, const View& v, int axis);

// True if the last columns of y [m, n], the product of x and the weights' transpose, are the cpu's.
bool last_columns_agree(const Device& device, const View& x, const kernels::QuantizedMatrix& w, const View& y,
                        const kernels::Epilogue& epilogue = {});

}  // namespace weft::bench
