"""Values of NumPy for the functions of the Python array API standard 2025.12 on tensors, for tests/tensor/array_test.cc and
indexing_test.cc: writes tests/data/arrays/cases.json (what is called, and where its operands lie), indexing.json,
promotion.json and bytes.npy (the operands)."""
import json
import pathlib

import arrays_elementwise
import arrays_functions
import arrays_indexing
import numpy as np
import cpu_kernel_cases

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "arrays"

# The standard's functions. Those of `WITHOUT` have no case.
STANDARD = """
arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu zeros zeros_like
astype can_cast finfo iinfo isdtype result_type abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift
bitwise_invert bitwise_or bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 floor
floor_divide greater greater_equal hypot imag isfinite isinf isnan less less_equal log log1p log2 log10 logaddexp logical_and
logical_not logical_or logical_xor maximum minimum multiply negative nextafter not_equal positive pow real reciprocal remainder
round sign signbit sin sinh square sqrt subtract tan tanh trunc take take_along_axis matmul matrix_transpose tensordot vecdot
broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack tile unstack argmax
argmin count_nonzero nonzero searchsorted where unique_all unique_counts unique_inverse unique_values argsort sort
cumulative_prod cumulative_sum max mean min prod std sum var all any diff""".split()
WITHOUT = {
    "asarray": "tensor() copies values, as in every case here",
    "empty": "its content is undefined", "empty_like": "as empty",
    "from_dlpack": "no values", "can_cast": "no values", "finfo": "no values", "iinfo": "no values", "isdtype": "no values",
    "result_type": "promotion.json",
}


def written(name, cases):
    lines = (json.dumps(c, separators=(",", ":")) for c in cases)
    (OUT / name).write_text("[\n" + ",\n".join(lines) + "\n]\n")


OUT.mkdir(parents=True, exist_ok=True)
for part in (arrays_elementwise.unary, arrays_elementwise.binary, arrays_elementwise.ternary, arrays_functions.creation,
             arrays_functions.statistics, arrays_functions.manipulation, arrays_functions.searching, arrays_functions.products):
    part()
cases = [{"function": c.pop("kernel"), **c} for c in cpu_kernel_cases.cases]
missing = set(STANDARD) - set(WITHOUT) - {c["function"] for c in cases}
assert not missing, f"no case of {sorted(missing)}"
written("cases.json", cases)
indexing = arrays_indexing.cases()
written("indexing.json", indexing)
(OUT / "promotion.json").write_text(json.dumps(arrays_elementwise.promotion(), separators=(",", ":")) + "\n")
np.save(OUT / "bytes.npy", np.frombuffer(bytes(cpu_kernel_cases.bytes_), np.uint8))
print(len(cases), "cases,", len(indexing), "index expressions,", len(cpu_kernel_cases.bytes_), "bytes")
