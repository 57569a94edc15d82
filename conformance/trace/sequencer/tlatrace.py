"""A recorded trace as a TLA+ module, so that TLC can check it against the very specification.

The module EXTENDS Sequencer and lets it take only the recorded steps, in the order of the Lamport
clocks. TLC walks the trace to its end exactly if it is a behaviour: the depth says how far it got.
It is a third opinion for small traces of founders (no joins, no views), and slow: TLC's states
hold all that was ever sent, so its time grows with the square of the length.
"""

from pathlib import Path
from typing import NamedTuple

from raincheck.conformance.errors import UsageError
from raincheck.conformance.trace.batches import Problem
from raincheck.conformance.trace.events import Event, Header
from raincheck.conformance.trace.tracefile import read_records

_MODULE = """---- MODULE {name} ----
EXTENDS Sequencer

VARIABLE at

TraceRanking == <<{ranking}>>
TracePayload(n) == {{}}

\\* One record per event, in the order of the clocks: action, node, the channel's other end,
\\* and the view, seqno and received messages that were recorded after it.
Trace == <<
{events}
>>

TraceInit == Init /\\ at = 1

Step(e) ==
    CASE e.action = "Send" -> Send(e.node)
      [] e.action = "ReceiveForward" -> ReceiveForward(e.node, e.other)
      [] e.action = "ReceiveData" -> ReceiveData(e.node, e.other)

TraceNext ==
    /\\ at <= Len(Trace)
    /\\ at' = at + 1
    /\\ Step(Trace[at])
    /\\ seqno'[Trace[at].node] = Trace[at].seqno
    /\\ Len(delivered'[Trace[at].node]) = Trace[at].delivered

TraceSpec == TraceInit /\\ [][TraceNext]_<<vars, at>>
====
"""

_CFG = """SPECIFICATION TraceSpec
CONSTANTS
  Ranking <- TraceRanking
  Payload <- TracePayload
  Founders = {{{founders}}}
  FifoForward = TRUE
  VirtualSynchrony = FALSE
  Strangers = {{}}
  TrueSources = TRUE
  TrueContents = TRUE
  ViewTag = TRUE
  HoldSends = TRUE
  ResendAlways = TRUE
  OwnTable = TRUE
  KeepUntil = "delivered"
  ExactNext = TRUE
  JoinPolicy = "table"
  Incarnations = TRUE
  PruneTable = TRUE
  DrainOnLeave = TRUE
  FromMembers = TRUE
  Delivery = "agreed"
"""


class TlaTrace(NamedTuple):
    """The written files and what TLC must reach."""

    module: Path
    cfg: Path
    events: int


def write_tla_trace(folder: Path, paths: list[Path], name: str = "TraceSequencer") -> TlaTrace:
    """Write module and configuration for the files of one run of founders, single messages."""
    names: list[str] = []
    events: list[Event] = []
    problems: list[Problem] = []
    for path in paths:
        for batch in read_records(path, problems.append):
            for record in batch.records:
                if isinstance(record, Header) and record.initial is not None:
                    names = [node for node, _ in record.initial.members]
                elif isinstance(record, Event):
                    events.append(record)
    if problems:
        raise UsageError(f"{problems[0].path}, line {problems[0].line}: {problems[0].reason}")
    events.sort(key=lambda event: (event.clock, event.node, event.index))
    text = ", ".join(f'"{node}"' for node in names)
    seqno = dict.fromkeys(names, 0)
    delivered = dict.fromkeys(names, 0)
    lines = []
    for event in events:
        if event.action not in ("Send", "ReceiveForward", "ReceiveData"):
            raise UsageError(f"{event.action} is no step that a TLA+ trace of founders can hold")
        if event.action == "Send":
            seqno[event.node] += 1
        if hasattr(event.changed.delivered, "messages"):
            delivered[event.node] += 1
        other = event.received[1] if event.received else event.node
        lines.append(
            f'  [action |-> "{event.action}", node |-> "{event.node}", other |-> "{other}", '
            f"seqno |-> {seqno[event.node]}, delivered |-> {delivered[event.node]}]"
        )
    folder.mkdir(parents=True, exist_ok=True)
    module, cfg = folder / f"{name}.tla", folder / f"{name}.cfg"
    module.write_text(_MODULE.format(name=name, ranking=text, events=",\n".join(lines)))
    cfg.write_text(_CFG.format(founders=text))
    return TlaTrace(module, cfg, len(events))
