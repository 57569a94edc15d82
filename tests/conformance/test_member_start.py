"""A member of a run starts without what only judging needs: runs start dozens of them."""

import subprocess
import sys

from raincheck.conformance.field.merging.traced import TRACED as MERGING
from raincheck.conformance.field.stack.layer_traces import SEQUENCER, TRACED, of_stability

NODES = ("stack.node", "merging.node", "ring.node")
HEAVY = ("numpy", "networkx", "pandas", "pyspark", "pyarrow", "rich", "jinja2", "z3")


def test_a_member_that_records_loads_nothing_heavy() -> None:
    gossip = of_stability(TRACED, "gossip")
    layers = {*TRACED, *MERGING, *gossip, "raincore"} - {SEQUENCER}
    code = (
        "import sys\n"
        "from importlib import import_module\n"
        "from raincheck.conformance.bindings.binding import binding_of\n"
        f"for each in {NODES!r}: import_module('raincheck.conformance.field.' + each)\n"
        f"for each in {sorted(layers)!r}: binding_of(each)\n"
        f"print(sorted(set({HEAVY!r}) & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )

    assert done.stdout == "[]\n"
