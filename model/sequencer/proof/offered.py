"""The proof of SEQUENCER for the prover: its theory, and words for its failures."""

from .failure import explanation as explanation
from .failure import reachability as reachability
from .failure import runs_that_break as runs_that_break
from .theory import theory as theory
from .vocabulary import WITHOUT as WITHOUT
from .vocabulary import basis_without as basis_without
from .walks import EXCUSED as EXCUSED
from .walks import edges as edges
from .walks import twins as twins
