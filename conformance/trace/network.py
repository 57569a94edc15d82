"""Part (b) of checking a trace: the network relation, between files that are each checked already.

Every received message was sent, before, with the same contents; one sequence of views; every
joiner got the coordinator's cut; who stopped was drained. Under virtual synchrony, who goes on to a
view left nothing of the one before unread: that is in `cuts.py`. That each channel is read in order
and each message at most once was checked by its reader alone, in part (a).
Law of this file: it sees summaries and rows, never events, so its join can be done block by block.
And it shares no rule with `direct.py`, which it is held against: only records and findings.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .cuts import changes
from .events import Address, MessageId
from .findings import INCONCLUSIVE, VIOLATED, Admission, Difference, FalseConjunct, Finding, Summary
from .rows import WORDS

Table = npt.NDArray[np.int64]
Summaries = Mapping[Address, Summary]


def table(rows: Any) -> Table:
    """Packed rows as a table of (position, clock, index, content)."""
    return np.frombuffer(rows, dtype=np.int64).reshape(-1, WORDS)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first row of one reader of a channel that does not fit what was sent."""

    kind: str
    """`absent`, `contents` or `clock`."""
    position: int
    index: int
    clock: int
    sent_index: int = 0
    sent_clock: int = 0


def compare_channel(sent: Table, received: Table) -> Mismatch | None:
    """Compare one reader's rows with the channel's; both are sorted by position."""
    if not len(received):
        return None
    places = np.searchsorted(sent[:, 0], received[:, 0])
    inside = np.minimum(places, max(len(sent) - 1, 0))
    if len(sent):
        partner = sent[inside]
        absent = partner[:, 0] != received[:, 0]
        wrong = partner[:, 3] != received[:, 3]
        early = partner[:, 1] >= received[:, 1]
        bad = absent | wrong | early
    else:
        partner, absent, wrong = received, np.ones(len(received), dtype=bool), None
        bad = absent
    if not bad.any():
        return None
    at = int(np.argmax(bad))
    position, clock, index, _ = (int(word) for word in received[at])
    if absent[at]:
        return Mismatch("absent", position, index, clock)
    assert wrong is not None
    kind = "contents" if wrong[at] else "clock"
    return Mismatch(kind, position, index, clock, int(partner[at, 2]), int(partner[at, 1]))


def channel_finding(
    summaries: Summaries, reader: Address, channel: MessageId, bad: Mismatch
) -> Finding | None:
    """What a mismatch means, given what is known of the sender's file."""
    sender = (str(channel[1]), int(channel[2]))
    other, mine = summaries.get(sender), summaries[reader]
    name = [*channel, bad.position]
    action = "ReceiveData" if channel[0] == "DATA" else "ReceiveForward"
    if bad.kind == "absent":
        known = 0 if other is None else other.written.get(channel_text(channel), 0)
        if bad.position > known and (other is None or not other.complete):
            return _unknown(mine, bad, action, other, f"{name} is not among what was recorded")
        reason = "it received a message that was never sent"
        detail: tuple[Difference, ...] = (Difference("received", "a message that was sent", name),)
    elif bad.kind == "contents":
        reason = "it received other contents than were sent"
        text = f"as sent by event {bad.sent_index} of {sender[0]}.{sender[1]}"
        detail = (Difference("view, messages, crc", text, f"of {name} as recorded here"),)
    else:
        reason = "it received a message before it was sent"
        detail = (Difference("clock", f"greater than {bad.sent_clock}", bad.clock),)
    return Finding(
        verdict=VIOLATED,
        part="network",
        reason=reason,
        run=mine.run,
        node=mine.node,
        incarnation=mine.incarnation,
        index=bad.index,
        clock=bad.clock,
        action=action,
        path=mine.path,
        differences=detail,
    )


def channel_text(channel: MessageId) -> str:
    """A channel's name as one word, for tables."""
    return " ".join(str(part) for part in channel)


def _unknown(
    mine: Summary, bad: Mismatch, action: str, other: Summary | None, text: str
) -> Finding:
    why = "there is no file of its sender" if other is None else "its sender's file is incomplete"
    return Finding(
        verdict=INCONCLUSIVE,
        part="network",
        reason=f"{text}: {why}",
        run=mine.run,
        node=mine.node,
        incarnation=mine.incarnation,
        index=bad.index,
        clock=bad.clock,
        action=action,
        path=mine.path,
    )


@dataclass(slots=True)
class Views:
    """The one sequence of views, as far as the files tell it."""

    members: dict[int, tuple[Address, ...]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


def check_views(summaries: Summaries) -> Views:
    """The same counter means the same members everywhere, and each view follows from the last."""
    views = Views()
    installed = sorted(
        (
            (place.clock, who, place)
            for who, summary in summaries.items()
            for place in summary.views
        ),
        key=lambda found: found[:2],
    )
    for _, who, place in installed:
        known = views.members.setdefault(place.view, place.members)
        if known != place.members:
            reason = f"view {place.view} has other members here than elsewhere"
            views.findings.append(
                _found(summaries[who], place.index, place.clock, reason, known, place.members)
            )
    for number in sorted(views.members):
        old, new = views.members.get(number - 1), views.members[number]
        were = {who for _, who, place in installed if place.view == number - 1}
        if old is not None and not follows(old, new, were):
            who, place = next((w, p) for _, w, p in installed if p.view == number)
            reason = f"view {number} does not follow from view {number - 1}"
            wanted = f"survivors of {list(old)} in their order, then joiners; or its rotation"
            views.findings.append(
                _found(summaries[who], place.index, place.clock, reason, wanted, new)
            )
    return views


def follows(old: tuple[Address, ...], new: tuple[Address, ...], installed: set[Address]) -> bool:
    """Successor or Demoted of `spec/Views.tla`; joiners in any order among themselves.

    A joiner of the old view that was never admitted may have left and joined anew; who has
    `installed` the old view has not.
    """
    if new == (*old[1:], old[0]):
        return True
    staying = 0
    for member in old:
        if staying < len(new) and member == new[staying]:
            staying += 1
    joiners = new[staying:]
    distinct = len({node for node, _ in new}) == len(new)
    return staying > 0 and distinct and not any(j in installed for j in joiners)


def check_members(summaries: Summaries, views: Views, crashed: Iterable[Address]) -> list[Finding]:
    """Whose records are missing: no file at all, or a file that just stops."""
    run = next(iter(summaries.values())).run
    killed = set(crashed)
    everybody = {member for members in views.members.values() for member in members}
    # Who was killed before it wrote a line has said nothing: traces are written ahead.
    findings = [
        _missing(run, who, "a member of a view has no file")
        for who in sorted(everybody - set(summaries) - killed)
    ]
    for who, summary in sorted(summaries.items()):
        if summary.end == "open" and who not in killed:
            reason = "the file has no footer, and no crash is recorded: events may be missing"
            findings.append(_missing(run, who, reason, summary))
    return findings


def check_admissions(summaries: Summaries) -> list[Finding]:
    """Every joiner got what its coordinator sent: the table and the digest of one cut."""
    findings = []
    sent: dict[tuple[Address, Address, int], Admission] = {
        (given.sender, given.joiner, given.view): given
        for summary in summaries.values()
        for given in summary.admitted
    }
    for _, summary in sorted(summaries.items()):
        for got in summary.joined:
            given = sent.get((got.sender, got.joiner, got.view))
            if given is None:
                other = summaries.get(got.sender)
                if other is not None and other.complete:
                    reason = "it received a JOIN_RSP that was never sent"
                    findings.append(
                        _found(summary, got.index, got.clock, reason, None, got.view, "Join")
                    )
                else:
                    bad = Mismatch("absent", got.view, got.index, got.clock)
                    text = f"JOIN_RSP for view {got.view} is not among what was recorded"
                    findings.append(_unknown(summary, bad, "Join", other, text))
                continue
            want, have = (given.table, given.digest), (got.table, got.digest)
            if want != have:
                reason = "it received another table or digest than were sent"
                findings.append(_found(summary, got.index, got.clock, reason, want, have, "Join"))
            elif got.clock <= given.clock:
                reason = "it received a JOIN_RSP before it was sent"
                wanted = f"a clock above {given.clock}"
                findings.append(
                    _found(summary, got.index, got.clock, reason, wanted, got.clock, "Join")
                )
    return findings


def check_drained(summaries: Summaries) -> list[Finding]:
    """Who stopped was drained: nobody lost it from its view before having read its whole stream."""
    findings = []
    _, lost = changes(summaries)
    for who, summary in sorted(summaries.items()):
        if not summary.stopped or summary.constants.get("DrainOnLeave", True) is False:
            continue
        length = summary.multicast - lost.get(who, 0)
        for reader in (other for _, other in sorted(summaries.items())):
            for left in reader.departures:
                if left.member != who or left.position >= length:
                    continue
                if left.index == 0 and not reader.complete:
                    continue  # The rest of what it read may be missing, and that is said already.
                if left.index and any(
                    left.index < view.index and who in view.members for view in reader.views
                ):
                    continue  # It was admitted again; where it was lost last is what counts.
                values = {
                    "p": list(reader.who),
                    "position[p][n]": left.position,
                    "Len(stream[n])": length,
                }
                text = "DrainOnLeave => position[p][n] = Len(stream[n])"
                findings.append(
                    Finding(
                        verdict=VIOLATED,
                        part="network",
                        reason="it stopped before every member had received all of its stream",
                        run=summary.run,
                        node=summary.node,
                        incarnation=summary.incarnation,
                        index=summary.conforming,
                        clock=left.clock,
                        action="Stop",
                        path=summary.path,
                        conjuncts=(FalseConjunct(text, values),),
                    )
                )
    return findings


def _found(
    mine: Summary,
    index: int,
    clock: int,
    reason: str,
    expected: Any,
    recorded: Any,
    action: str = "InstallView",
) -> Finding:
    return Finding(
        verdict=VIOLATED,
        part="network",
        reason=reason,
        run=mine.run,
        node=mine.node,
        incarnation=mine.incarnation,
        index=index,
        clock=clock,
        action=action,
        path=mine.path,
        differences=(Difference("value", expected, recorded),),
    )


def _missing(run: str, who: Address, reason: str, summary: Summary | None = None) -> Finding:
    return Finding(
        verdict=INCONCLUSIVE,
        part="records",
        reason=reason,
        run=run,
        node=who[0],
        incarnation=who[1],
        index=summary.conforming if summary else 0,
        path=summary.path if summary else "",
    )
