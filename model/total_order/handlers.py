"""The steps of the service: whether `spec/TotalOrder.tla` has a step from a state to another one.

The law of this file: each function is the spec's action of that name as a predicate on two states,
and nothing here proposes a step. What only changes as the action says is left to those who propose.
"""

from __future__ import annotations

from collections.abc import Sequence

from .logs import ahead, beyond, counts, firm, is_prefix, leaving, sequence, went_on
from .state import Constants, Delivery, Message, Order, State


def was_sent(old: State, new: State, message: Message, view: int) -> bool:
    """Whether a member of the view has sent it."""
    sender = next(p for p in old.processes if p.node == message.sender.node)
    sent = next(p.sent for p in new.processes if p.node == sender.node)
    if message.sender not in old.views[view - 1].members:
        return False
    if not message.seqno <= message.payload <= sent:
        return False
    if message.sender.incarnation == 0 and message.payload != message.seqno:
        return False
    current = sender.present and message.sender == sender.address
    return not current or message.payload == sender.past + message.seqno


def is_next(
    constants: Constants,
    state: State,
    node: int,
    log: Sequence[Delivery],
    message: Message,
    settled: Sequence[Order],
) -> bool:
    """Whether it comes next of its sender's, after the log, the others' and what is settled."""
    known = {each.message for each in log} | {each for order in settled for each in order}
    for place, other in enumerate(state.processes):
        if place != node and constants.rules.follows:
            known |= {e.message for e in (other.delivered if constants.uniform else firm(other))}
    ours = [each for each in known if each.sender.node == message.sender.node]
    if any(each.payload >= message.payload for each in ours):
        return False
    numbers = [each.seqno for each in ours if each.sender == message.sender]
    if numbers:
        return message.seqno == max(numbers) + 1
    founding = (p.present and p.node in constants.founders and p.life == 0 for p in state.processes)
    return message.seqno == 1 or not any(founding)


def may_order(
    constants: Constants,
    old: State,
    new: State,
    node: int,
    log: Sequence[Delivery],
    message: Message,
    view: int,
) -> bool:
    """Whether it may be ordered in the view, behind the log."""
    rules = constants.rules
    if rules.completes and view == len(new.views) and leaving(new) and not new.cut:
        return False
    if rules.from_members and not was_sent(old, new, message, view):
        return False
    return not rules.in_turn or is_next(constants, old, node, log, message, new.cut)


def may_deliver(
    constants: Constants,
    old: State,
    new: State,
    node: int,
    log: tuple[Delivery, ...],
    each: Delivery,
) -> bool:
    """Whether the process, with that log, may deliver the message in the view."""
    message, view = each
    place = len(sequence(log, view))
    if view == len(old.views) - 1 and old.cut and constants.rules.completes:
        return message in old.cut[0][place : place + 1]
    others = ahead(old, node, log, view)
    if others and constants.rules.follows:
        return all(sequence(q.delivered, view)[place] == message for q in others)
    return may_order(constants, old, new, node, log, message, view)


def _delivers(constants: Constants, old: State, new: State, node: int) -> bool:
    """Whether the process may have delivered what is new in its log, one after another."""
    before, after = old.processes[node], new.processes[node]
    log, had = after.delivered, len(before.delivered)
    return all(
        log[i].view in {before.view, after.view} - {0}
        and (i == 0 or log[i - 1].view <= log[i].view)
        and may_deliver(constants, old, new, node, log[:i], log[i])
        for i in range(had, len(log))
    )


# ------------------------------------------------------------------ steps of a member


def send(constants: Constants, old: State, new: State, node: int) -> bool:
    """The application multicasts a message."""
    return old.processes[node].present and _delivers(constants, old, new, node)


def deliver(constants: Constants, old: State, new: State, node: int) -> bool:
    """The process delivers something."""
    return old.processes[node].present and _delivers(constants, old, new, node)


def install_view(constants: Constants, old: State, new: State, node: int) -> bool:
    """The process, a member or a joiner, installs a view.

    The first that goes on settles what the others deliver, if that was not settled before.
    """
    me, after = old.processes[node], new.processes[node]
    following = me.view + 1 if me.present else len(old.views)
    if after.view != following or me.address not in old.views[following - 1].members:
        return False
    mine = sequence(after.delivered, me.view)
    settled = ((mine,) if me.present else old.cut) if leaving(new) else ()
    if new.cut != settled or not _delivers(constants, old, new, node):
        return False
    if not me.present or not constants.rules.completes:
        return True
    if old.cut:
        return mine == old.cut[0]
    return not any(
        counts(old, other, me.view, uniform=constants.uniform)
        for other in ahead(old, node, after.delivered, me.view)
    )


# ------------------------------------------------------------------ around them


def end(constants: Constants, old: State, new: State, node: int) -> bool:  # noqa: ARG001
    """The process crashes, or leaves; what it had settled alone may be open again."""
    if not leaving(new):
        return new.cut == ()
    left = len(new.views) - 1
    known = any(went_on(new, p, left) or beyond(p, left) for p in new.processes)
    return new.cut == old.cut or (new.cut == () and not known)


def restart(constants: Constants, old: State, new: State, node: int) -> bool:  # noqa: ARG001
    """The process comes back with nothing but its name."""
    return old.processes[node].status == "gone"


def may_settle(constants: Constants, old: State, new: State, order: Order) -> bool:
    """Whether that may be what those who go on from the last view deliver in it."""
    view = len(old.views)
    has = [sequence(p.delivered, view) for p in old.processes]
    for process, mine in zip(old.processes, has, strict=True):
        free = not counts(old, process, view, uniform=constants.uniform)
        if not is_prefix(mine, order) and not (free and is_prefix(order, mine)):
            return False
    for place, message in enumerate(order):
        if any(len(mine) > place for mine in has):
            continue
        for node, process in enumerate(old.processes):
            if process.present and process.view == view:
                first = order[len(has[node]) : place]
                log = (*process.delivered, *(Delivery(each, view) for each in first))
                if was_sent(old, new, message, view) and is_next(
                    constants, old, node, log, message, ()
                ):
                    break
        else:
            return False
    return True


def view_change(constants: Constants, old: State, new: State) -> bool:
    """The next view is decided when all have installed the last one."""
    last = old.views[-1]
    for process in old.processes:
        if process.present and process.address in last.members and process.view < len(old.views):
            return False
    if not new.cut:
        return True
    return leaving(new) and may_settle(constants, old, new, new.cut[0])
