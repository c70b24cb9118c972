"""Runs what OnnxSave's tests keep (WEFT_ONNX_KEEP=DIR) by ONNX Runtime, and compares: compare_onnxruntime.py DIR.

Checks each model by onnx.checker, then the outputs: integers and booleans equal, floats within 1e-4 of the largest magnitude
of the expected output and 1e-5 (2e-2 where the graph has f16). Needs the packages onnx, onnxruntime and numpy.
"""

import pathlib
import sys

import numpy as np
import onnx
import onnxruntime

passed, failed, lacking = 0, 0, 0
onnxruntime.set_default_logger_severity(4)
for folder in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    path = folder / "model.onnx"
    onnx.checker.check_model(str(path), full_check=False)
    try:
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    except Exception as e:  # an operator that it has not in such a type
        if "NOT_IMPLEMENTED" not in str(e):
            failed += 1
        else:
            lacking += 1
        print(f"{folder.name}: {str(e)[:220]}")
        continue
    inputs = {i.name: np.load(folder / f"in_{i.name}.npy") for i in session.get_inputs()}
    try:
        results = session.run(None, inputs)
    except Exception as e:
        failed += 1
        print(f"{folder.name}: {str(e)[:300]}")
        continue
    narrow = b"f16" in path.read_bytes() or any(v.dtype == np.float16 for v in inputs.values())
    wrong = []
    for n, (got, port) in enumerate(zip(results, session.get_outputs())):
        want = np.load(folder / f"out_{n}.npy")
        if got.dtype.kind not in "f":
            if not np.array_equal(got, want):
                wrong.append(f"{port.name}: {got.ravel()[:6]} for {want.ravel()[:6]}")
            continue
        w, g = want.astype("f8"), got.astype("f8")
        finite = np.isfinite(w)
        scale = np.abs(w[finite]).max(initial=0)
        bound = (2e-2 if narrow else 1e-4) * scale + 1e-5
        if g.shape != w.shape or not np.array_equal(w[~finite], g[~finite], equal_nan=True) or not (np.abs(g - w)[finite] <= bound).all():
            wrong.append(f"{port.name}: {got.ravel()[:8]} for {want.ravel()[:8]}")
    if wrong:
        failed += 1
        print(f"{folder.name}: " + "; ".join(wrong))
    else:
        passed += 1
print(f"{passed} equal, {failed} not, {lacking} with operators that ONNX Runtime lacks in such types")
sys.exit(failed != 0)
