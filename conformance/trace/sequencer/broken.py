"""Small runs that each break a promise, while every event of theirs is one of the model's.

Most need views that are not virtually synchronous, and some an undone repair as well, as their
headers say. They show that a promise is judged at all. `kept` breaks none, and asks for all.
"""

from collections.abc import Callable
from typing import NamedTuple

from raincheck.conformance.trace.events import Event, Footer, Header, ViewRecord
from raincheck.model.machine.runs import Address
from raincheck.model.sequencer.handlers import Rules

from .scripted import Script
from .tracegen import Trace


class Broken(NamedTuple):
    """A run's files, whom its harness killed, and which promises it breaks."""

    trace: Trace
    killed: tuple[Address, ...]
    promises: frozenset[str]


def _of(script: Script, promises: str, killed: str = "") -> Broken:
    crashed = tuple(script.who(name) for name in killed)
    return Broken(script.files(killed), crashed, frozenset(promises.split()))


def kept(founders: str = "abc") -> Script:
    """No promise is broken: a's two messages are everybody's, and they go on without a."""
    script = Script(founders).do("a", "Send", 1).do("a", "Send", 1)
    for _ in range(2):
        script.each(founders, "ReceiveData", "a")
    return script.leave("a").decide(founders[1:]).install(founders[1:])


def _crossed(run: str) -> Script:
    """In one view b delivers a1 of the old coordinator's and its own b1, and c b1 and a1."""
    script = Script("abc", synchronous=False, run=run).do("a", "Send", 1)
    script.decide("bca").install("bca").do("b", "Send", 1).each("a", "ReceiveData", "b")
    script.do("b", "ReceiveData", "a").do("b", "ReceiveData", "b")
    return script.do("c", "ReceiveData", "b").do("c", "ReceiveData", "a")


def other_order(run: str) -> Broken:
    """Two members that stay deliver two messages in different orders."""
    return _of(_crossed(run), "TotalOrder UniformTotalOrder")


def other_order_of_a_crashed_one(run: str) -> Broken:
    """The same, but one of the two is killed."""
    return _of(_crossed(run), "UniformTotalOrder", killed="b")


def lost_at_a_survivor(run: str) -> Broken:
    """b has delivered a1 and c has not, and both go on without a, which was killed."""
    script = Script("abc", synchronous=False, run=run).do("a", "Send", 1)
    script.do("b", "ReceiveData", "a").decide("bc").install("bc").leave("bc")
    return _of(script, "Agreement UniformAgreement", killed="a")


def heard_by_the_dead_only(run: str) -> Broken:
    """b has delivered a1 and is killed with a; c and d go on without it."""
    script = Script("abcd", synchronous=False, run=run).do("a", "Send", 1)
    script.do("b", "ReceiveData", "a").decide("cd").install("cd").leave("cd")
    return _of(script, "UniformAgreement", killed="ab")


def in_two_views(run: str) -> Broken:
    """b delivers a1 in the first view, c in the second."""
    script = Script("abc", synchronous=False, run=run).do("a", "Send", 1)
    script.do("b", "ReceiveData", "a").decide("abcd").install("bca").each("ca", "ReceiveData", "a")
    return _of(script, "VirtualSynchrony Agreement UniformAgreement")


def _late_duplicate(run: str, rules: Rules) -> Script:
    """b's first message comes to the coordinator in the view after the one it was sent in."""
    script = Script("abc", rules=rules, synchronous=False, run=run).do("b", "Send", 1)
    return script.decide("abcd").install("abc")


def _without_b(script: Script) -> Script:
    """b leaves, and what the others know of its seqnos goes with it; then they read on."""
    script.each("ac", "ReceiveData", "a").leave("b").decide("acd").install("ac")
    return script.each("ac", "ReceiveData", "a")


def twice(run: str) -> Broken:
    """A message is sequenced twice, and the second time b, its sender, is forgotten."""
    script = _late_duplicate(run, Rules(view_tag=False, drain_on_leave=False))
    script.do("a", "ReceiveForward", "b").do("b", "Resend", 1).do("a", "ReceiveForward", "b")
    return _of(_without_b(script), "Integrity Fifo sequencer.GapFree")


def backwards(run: str) -> Broken:
    """b's second message is sequenced before its first, which is late and taken all the same."""
    script = _late_duplicate(run, Rules(hold_sends=False, exact_next=False, drain_on_leave=False))
    script.do("a", "ReceiveForward", "b")  # of the old view: it is rejected
    script.do("b", "Send", 1).do("a", "ReceiveForward", "b")
    script.do("b", "Resend", 1).do("a", "ReceiveForward", "b")
    return _of(_without_b(script), "Fifo sequencer.GapFree")


def never_sent(run: str) -> Broken:
    """Everybody delivers b2, and b's file, which is whole, has no such message."""
    script = Script("abc", run=run).do("b", "Send", 1).do("b", "Send", 1)
    for _ in range(2):
        script.do("a", "ReceiveForward", "b").each("ac", "ReceiveData", "a")
    trace = script.files()
    b = script.who("b")
    trace[b] = [each for each in trace[b] if not isinstance(each, Event) or each.index == 1]
    last = trace[b][-1]
    assert isinstance(last, Footer)
    last.index = 1
    return Broken(trace, (), frozenset({"Integrity"}))


def outside(run: str) -> Broken:
    """c delivers in a view that does not have it."""
    script = Script("abc", synchronous=False, run=run).do("a", "Send", 1)
    trace = script.each("abc", "ReceiveData", "a").files()
    for records in trace.values():
        header = records[0]
        assert isinstance(header, Header)
        header.initial = ViewRecord(1, (script.who("a"), script.who("b")))
    return Broken(trace, (), frozenset({"InView"}))


BROKEN: dict[str, Callable[[str], Broken]] = {
    made.__name__: made
    for made in (
        other_order,
        other_order_of_a_crashed_one,
        lost_at_a_survivor,
        heard_by_the_dead_only,
        in_two_views,
        twice,
        backwards,
        never_sent,
        outside,
    )
}
"""Each by its name; it takes the run's name."""
