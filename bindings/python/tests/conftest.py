"""Runs on the device of WEFT_DEVICE; by default on the cpu."""

import os

os.environ.setdefault("WEFT_DEVICE", "cpu")
