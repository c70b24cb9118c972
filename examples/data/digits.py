#!/usr/bin/env python3
"""Makes digits.npy and digits_labels.npy: 1,797 handwritten digits of 8x8 pixels, for the example kmeans.

  digits.py DIRECTORY         needs numpy, and pip, which fetches scikit-learn's wheel

Source: E. Alpaydin and C. Kaynak, "Optical Recognition of Handwritten Digits", UCI Machine Learning Repository, 1998,
https://doi.org/10.24432/C50P49, licence CC BY 4.0. It is the test set, as scikit-learn packs it in
sklearn/datasets/data/digits.csv.gz: in each line 64 pixels from 0 (paper) to 16 (ink), row by row, and the digit.
Changed only in form: pixels are u8 [1797, 64], labels u8 [1797].
"""
import gzip
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import numpy as np

SCIKIT_LEARN = "scikit-learn==1.9.1"


def main():
    target = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
                        "--dest", work, SCIKIT_LEARN], check=True)
        wheel = next(pathlib.Path(work).glob("*.whl"))
        packed = zipfile.ZipFile(wheel).read("sklearn/datasets/data/digits.csv.gz")
    rows = np.loadtxt(gzip.decompress(packed).decode().splitlines(), delimiter=",")
    assert rows.shape == (1797, 65) and rows.min() == 0 and rows[:, :64].max() == 16
    np.save(target / "digits.npy", rows[:, :64].astype(np.uint8))
    np.save(target / "digits_labels.npy", rows[:, 64].astype(np.uint8))


if __name__ == "__main__":
    main()
