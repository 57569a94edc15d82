"""SEQUENCER in groups that merge, beyond `spec/Sequencer.tla`, which has one sequence of views.

The twin of `InstallView` in `spec/MCMerging.tla`: a merged view may skip numbers, and its members
are given the tables of the other sides, and their places, as they were at their cuts (`Theirs`).
All know the cut, so that nobody waits for JOIN_RSP.
"""

from __future__ import annotations

from raincheck.model.machine.machine import Accepted, Refused, refusal
from raincheck.model.machine.runs import Address, without_interval

from . import handlers as node
from .handlers import Answer, Local, Rules, Table


def merged_table(me: Local, table: Table) -> Table:
    """Return how far each sender's messages count as delivered, once the sides are one."""
    mine = dict(me.received_table)
    mine |= {who: max(last, mine.get(who, 0)) for who, last in table}
    return tuple(sorted(mine.items()))


def merge(
    rules: Rules,
    me: Local,
    number: int,
    members: tuple[Address, ...],
    table: Table,
    place: int = 0,
) -> Answer:
    """The member installs a merged view, as the next one of a line that it shares with all sides.

    Its own messages that another side has delivered it does not send again. `place` is as in
    `handlers.install_view`.
    """
    mine = node.address(rules, me)
    refused = refusal(
        (node.running(me), "Running(n)", {"status": me.status}),
        (number > me.view, "v > view[n]", {"v": number, "view": me.view}),
        (mine in members, "Address(n) \\in Members(new)", {"Address": mine, "new": members}),
    )
    if refused:
        return refused
    received = merged_table(me, table)
    last = dict(received).get(mine, 0)
    before = me._replace(
        view=number - 1,
        received_table=received,
        forward_table=without_interval(me.forward_table, 1, last) if last else me.forward_table,
        resend=without_interval(me.resend, 1, last) if last else me.resend,
        held=(),
    )
    answer = node.install_view(rules, before, number, members, place)
    if isinstance(answer, Refused):
        return answer
    others = tuple(out for out in answer.outputs if not isinstance(out, node.JoinRsp))
    return Accepted(answer.local, (*node.released(me, len(me.held)), *others))
