"""A second judge of SEQUENCER's traces: the direct checker, before which the files must fit."""

from __future__ import annotations

from typing import Final

import msgspec

from raincheck.conformance.damage.coherent import lives_of, written
from raincheck.conformance.damage.files import Files, text_of
from raincheck.conformance.damage.second import BEHAVIOUR, INCOHERENT, NONE
from raincheck.conformance.trace.events import decode_lines
from raincheck.conformance.trace.findings import HOLDS, VIOLATED
from raincheck.conformance.trace.sequencer.direct import Direct
from raincheck.model.machine.runs import Address

_NO_RECORDS: Final = (
    *(LookupError, TypeError, ValueError, AttributeError, AssertionError),
    msgspec.MsgspecError,
)


class DirectJudge:
    """Judges whole runs by `Direct`."""

    def verdict(self, files: Files) -> str:
        """Return whether the records are of a behaviour."""
        try:
            nodes = files.records[files.nodes()[0]][0]["nodes"]
            lives, crashed = lives_of(files, "sequencer", nodes)
            trace = {
                Address(*who): decode_lines(text_of([life.header, *life.events, *life.footer]))
                for who, life in lives.items()
            }
            found = Direct(trace, [Address(*who) for who in crashed]).verdict
        except _NO_RECORDS:
            return INCOHERENT
        # `Direct` takes the first view from each header as it is.
        founded = [life.header["initial"] for life in lives.values()]
        if len({written(view) for view in founded if view is not None}) > 1:
            return NONE
        return {HOLDS: BEHAVIOUR, VIOLATED: NONE}.get(found, INCOHERENT)
