"""Runs what OnnxSave's tests keep (WEFT_ONNX_KEEP=DIR) by ONNX Runtime, and compares: compare_onnxruntime.py DIR.

Checks each model by onnx.checker, then the outputs: integers and booleans equal, floats within 1e-4 of the largest magnitude
of the expected output and 1e-5 (2e-2 where inputs are f16). Needs the packages onnx, onnxruntime and numpy.
"""

import pathlib
import sys

import numpy as np
import onnx
import onnxruntime

LACKS = ("NOT_IMPLEMENTED", "Only support GridSample")  # what ONNX Runtime says of types and modes that it has not

passed, failed, lacking = 0, 0, 0
onnxruntime.set_default_logger_severity(4)
for folder in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    path = folder / "model.onnx"
    onnx.checker.check_model(str(path), full_check=False)
    try:
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        inputs = {i.name: np.load(folder / f"in_{i.name}.npy") for i in session.get_inputs()}
        results = session.run(None, inputs)
    except Exception as e:
        if any(text in str(e) for text in LACKS):
            lacking += 1
        else:
            failed += 1
        print(f"{folder.name}: {str(e)[-300:]}")
        continue
    narrow = any(v.dtype == np.float16 for v in inputs.values()) or any("float16" in i.type for i in session.get_outputs())
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
        if g.shape != w.shape or not np.array_equal(w[~finite], g[~finite], equal_nan=True) or not (np.abs(g[finite] - w[finite]) <= bound).all():
            wrong.append(f"{port.name}: {got.ravel()[:8]} for {want.ravel()[:8]}")
    if wrong:
        failed += 1
        print(f"{folder.name}: " + "; ".join(wrong))
    else:
        passed += 1
print(f"{passed} equal, {failed} not, {lacking} with operators that ONNX Runtime lacks in such types")
sys.exit(failed != 0)
