"""Traces and delivery logs: reading, checking, damaging them on purpose."""

import os

# numpy's linear algebra is not used here, and its threads wait by spinning.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
