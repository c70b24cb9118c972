"""Positions in sorted lists by NumPy's searchsorted, in every type, for tests/kernels/cpu_kernels_reference_test.cc: writes
tests/data/search."""
import json
import pathlib

import numpy as np
import cpu_kernel_cases
from cpu_kernel_cases import FLOATS, INTEGERS, PACKED, T, case, of

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "search"
OUT.mkdir(parents=True, exist_ok=True)

for type in FLOATS + INTEGERS + list(PACKED) + ["bool"]:
    listed, wanted = of(type, 40), of(type, 36)
    # (NumPy's order of objects is that of Python's integers.)
    order = np.sort(listed.values)
    for side, result in (("left", "i32"), ("right", "i64"), ("left", "u64"), ("right", "u32")):
        found = np.searchsorted(order, wanted.values, side)
        case("searchsorted", [T(type, order), T(type, wanted.values.reshape(4, 9))], [T(result, found.reshape(4, 9))], {"side": side})

np.save(OUT / "bytes.npy", np.frombuffer(bytes(cpu_kernel_cases.bytes_), np.uint8))
lines = (json.dumps(c, separators=(",", ":")) for c in cpu_kernel_cases.cases)
(OUT / "cases.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
print(len(cpu_kernel_cases.cases), "cases,", len(cpu_kernel_cases.bytes_), "bytes")
