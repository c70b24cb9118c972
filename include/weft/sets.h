// Sets, in tensors of any shape: NumPy's isin, intersect1d, union1d, setdiff1d and setxor1d. unique() is in
// weft/array.h.
//
// Operands are converted to the type that they have in common; NaN is a member of no set, so that each is distinct, as
// in unique(). Results are of rank 1, ascending, without repetition, NaN last. All but isin() wait, as unique() does:
// the size of their result depends on data; they cannot be traced by compile(), and throw InvalidArgument there. They
// throw InvalidArgument (an undefined Tensor) and TypeError (c64, types without a common one).
#pragma once

#include "weft/tensor.h"

namespace weft {

// ---- Sets.

// Whether each element of x is among the elements of `set`, bool, of x's shape; of inverted = true whether it is not.
// NaN is in no set. Nothing waits: set is sorted, and searched.
Tensor isin(const Operand& x, const Operand& set, bool inverted = false);
// The values that are in both.
Tensor intersect1d(const Operand& a, const Operand& b);
// The values that are in one of them, or in both.
Tensor union1d(const Operand& a, const Operand& b);
// The values of a that are not in b.
Tensor setdiff1d(const Operand& a, const Operand& b);
// The values that are in exactly one of them.
Tensor setxor1d(const Operand& a, const Operand& b);

}  // namespace weft
