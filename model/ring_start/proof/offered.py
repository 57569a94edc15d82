"""The proof of RING_START for the prover: its theory, and what ties it to the model."""

from .theory import basis_without as basis_without
from .theory import theory as theory
from .walks import EXCUSED as EXCUSED
from .walks import edges as edges
from .walks import twins as twins
from .words import WITHOUT as WITHOUT
