"""The proof of NAKACK for the prover: its theory, and what ties it to the model."""

from .model import EXCUSED as EXCUSED
from .model import edges as edges
from .model import twins as twins
from .theory import basis_without as basis_without
from .theory import theory as theory
from .with_stable import compositions as compositions
from .words import WITHOUT as WITHOUT
