"""Values of NumPy, SciPy and Python's integers for every kernel of the table (weft/kernels/table.h) in every type that it
takes, for tests/kernels/cpu_kernels_reference_test.cc: writes tests/data/cpu_kernels/cases.json (what is called, and where its operands
lie) and bytes.npy (the operands)."""
import json
import pathlib

import numpy as np
import cpu_kernel_cases
import cpu_kernels_elementwise
import cpu_kernels_shapes

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "cpu_kernels"
OUT.mkdir(parents=True, exist_ok=True)

cpu_kernels_elementwise.elementwise()
cpu_kernels_elementwise.conversions()
cpu_kernels_shapes.movement()
cpu_kernels_shapes.rows()
cpu_kernels_shapes.products()
cpu_kernels_shapes.randoms()
cpu_kernels_shapes.dynamic()
cpu_kernels_shapes.gradients_with_weights()
cpu_kernels_elementwise.bessel_functions()
np.save(OUT / "bytes.npy", np.frombuffer(bytes(cpu_kernel_cases.bytes_), np.uint8))
lines = (json.dumps(c, separators=(",", ":")) for c in cpu_kernel_cases.cases)
(OUT / "cases.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
print(len(cpu_kernel_cases.cases), "cases,", len(cpu_kernel_cases.bytes_), "bytes")
