"""Values of NumPy, SciPy and Python's integers for every kernel of the table (weft/kernels/table.h) in every type that it
takes, for tests/kernels/twins_reference_test.cc: writes tests/data/twins/cases.json (what is called, and where its operands
lie) and bytes.npy (the operands)."""
import json
import pathlib

import numpy as np
import twin_cases
import twins_elementwise
import twins_shapes

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "twins"
OUT.mkdir(parents=True, exist_ok=True)

twins_elementwise.elementwise()
twins_elementwise.conversions()
twins_shapes.movement()
twins_shapes.rows()
twins_shapes.products()
twins_shapes.randoms()
twins_shapes.dynamic()
np.save(OUT / "bytes.npy", np.frombuffer(bytes(twin_cases.bytes_), np.uint8))
lines = (json.dumps(c, separators=(",", ":")) for c in twin_cases.cases)
(OUT / "cases.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
print(len(twin_cases.cases), "cases,", len(twin_cases.bytes_), "bytes")
