// Matrix products. Conventions that all kernels share are in weft/kernels.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "weft/kernels/fusion.h"
#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// The type of the sums of a product of real types: i32 of integers, f32 of floats, f64 if one of them is.
DType product_type(DType a, DType b);

// y[…, m, n] = epilogue(Σ_k a[…, m, k] · b[…, k, n]); leading dimensions broadcast; strides express transposed operands
// and any other layout. y may be an epilogue operand's very view, but shares no memory with a or b. An empty k gives
// zeros. The epilogue takes the product's element in product_type().
//
// a and b                            sums               y, unless an expression gives it another type
// any two float types                f32                any float type
// f64 and a float type, on the CPU   f64                any float type
// any two of i8 u8 i16 u16 i32 u32   i32, they wrap     i32 or u32
// c64, or c64 and a float type       f32, each part     c64; no expression
//
// Floats are summed in no stated order: |error| ≤ k · 2^-24 · Σ|a·b| (f64: 2^-53). NaN and infinity reach the elements
// whose sums they are in. c64 is (a + bi)(c + di) = (ac - bd) + (ad + bc)i as written: an infinite operand may give NaN
// parts. Cooperative matrices (Flag::matrices) multiply f16 by f16, i8 by i8 and u8 by u8 with the same sums; they are
// used once a self-test has passed on the device. f64 is only supported on the CPU, which sums it by a plain loop.
// Throws InvalidArgument, Unsupported.
void matmul(Stream& stream, const View& a, const View& b, const View& y, const Epilogue& epilogue = {});

// y[…, m, n] = Σ_k a[…, m, k] · b[chosen[…], k, n]: each entry of y's leading dimensions takes one of the matrices of
// b, [matrices, k, n] (a mixture of experts), where it lies. `chosen`: integers that broadcast to y's leading
// dimensions, clamped to 0…matrices - 1. Types, sums and strides are matmul()'s, without complex numbers. Throws
// Unsupported if a GPU cannot bind all of b.
void gather_matmul(Stream& stream, const View& a, const View& b, const View& chosen, const View& y);

// y[…, m, n] = Σ a[m, k] · b[k, n] over the k from segments[…, 0] to segments[…, 1] - 1: products of pieces of two
// matrices, as the gradients of a mixture of experts. `segments`: integers [..., 2], clamped to 0…k; an empty one gives
// zeros. What lies outside of a segment does not reach its product. Types, sums and strides are matmul()'s, without
// complex numbers.
void segmented_matmul(Stream& stream, const View& a, const View& b, const View& segments, const View& y);

}  // namespace weft::kernels
