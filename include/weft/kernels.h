// The kernel library: tensor kernels on the caller's memory, usable alone. A call takes a stream and views; on a GPU
// stream it records dispatches, on a CPU stream it computes at once, with the same result up to rounding.
//
// Kernels read nothing back to the host. A call is planned once for its operands' layouts and its options, and the plan
// is cached with the device (weft/kernels/plan.h); scratch that it needs comes from the stream. All of them throw
// InvalidArgument (shapes, types and axes that do not fit; the message names the kernel and the operand, what was
// expected and what was given) and Unsupported (a type or size that this device cannot do). Views may have any strides,
// zero (broadcast) and negative ones included, unless a kernel says otherwise; outputs may not overlap themselves. An
// output may share memory with an input only if both are the very same view; the outputs of kernels that move elements
// (concat, split, pad, tile, repeat, roll, gather, scatter, compact), of random numbers, sorts, products, attention and
// recurrent networks share memory with no input.
//
// A GPU may treat denormal numbers (f32 magnitudes below 2^-126, a range that bf16 shares) as 0 wherever it computes
// with them: in inputs, results and intermediate values. Results that are small themselves, and function values at
// denormal arguments, may therefore be off by as much as 2^-126, in addition to the error in the kernel's header:
// gelu_erf(2^-126) in bf16 may be 2^-126, where 2^-127 is right. Kernels that only move, compare, count, sort or test
// numbers keep denormals. So does the CPU.
#pragma once

#include "weft/kernels/attention.h"
#include "weft/kernels/compact.h"
#include "weft/kernels/conv.h"
#include "weft/kernels/copy.h"
#include "weft/kernels/elementwise.h"
#include "weft/kernels/fft.h"
#include "weft/kernels/fold.h"
#include "weft/kernels/fusion.h"
#include "weft/kernels/generate.h"
#include "weft/kernels/grid_sample.h"
#include "weft/kernels/index.h"
#include "weft/kernels/linalg.h"
#include "weft/kernels/matmul.h"
#include "weft/kernels/norm.h"
#include "weft/kernels/pad.h"
#include "weft/kernels/plan.h"
#include "weft/kernels/pool.h"
#include "weft/kernels/quantize.h"
#include "weft/kernels/quantized.h"
#include "weft/kernels/random.h"
#include "weft/kernels/reduce.h"
#include "weft/kernels/resize.h"
#include "weft/kernels/rnn.h"
#include "weft/kernels/row_gradient.h"
#include "weft/kernels/scan.h"
#include "weft/kernels/search.h"
#include "weft/kernels/softmax.h"
#include "weft/kernels/sort.h"
