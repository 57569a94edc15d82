"""The findings between members' files of LOCKS: which posts each member has read, and when.

What was read was sent with the same contents: that channels say. Here is what the ring promises
beside it. An epoch has one post at a place, and a member reads its posts in order and without a
gap, from the place at which it came to this epoch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from raincheck.conformance.trace.findings import VIOLATED, FileReport, Finding
from raincheck.conformance.trace.promised import Promised, Run
from raincheck.model.locks.events import Epoch

from .posted import FOUNDS, POSTS, READS, RECOVERS, Posts, as_model, posts_of


def in_order(run: Run) -> Iterator[Finding]:
    """Yield a finding for each post that was read in another order than it was written."""
    reports: dict[Any, FileReport] = dict(run.reports)
    posts = posts_of(run)
    for one, other in posts.twice():
        reason = f"place {other.post.place} of its epoch has a post of {one.who[0]}.{one.who[1]}"
        yield _finding(reports[other.who], reason, other.at, "Depart")
    for report in reports.values():
        yield from _read_by(report, posts)


def _read_by(report: FileReport, posts: Posts) -> Iterator[Finding]:
    """Follow how far one member has read; None while nobody can tell."""
    last: int | None = None
    epoch: Epoch | None = None
    for note in report.noted:
        if note.topic == FOUNDS:
            last, epoch = 0, as_model(note.value, Epoch)
        elif note.topic == RECOVERS:
            last = None  # what it has read may not have been kept
        elif note.topic == READS:
            now, news = as_model(note.value[0], Epoch), note.value[1]
            if now != epoch:
                last = None  # it may have come onto the list anew, behind what was there
            epoch = now
            for place in news:
                if last is not None and place <= last:
                    reason = f"it reads a post of place {place}, and has read up to {last}"
                    yield _finding(report, reason, note.index, "Arrive")
                elif last is not None:
                    yield from _skipped(report, posts, epoch, last, place, note.index)
                last = place
        elif note.topic == POSTS:
            post, read = note.value[0], note.value[1]
            epoch, place = as_model(post[1], Epoch), post[2]
            if last is not None:
                yield from _skipped(report, posts, epoch, last, place, note.index)
            last = max(last or 0, read, place)


def _skipped(
    report: FileReport, posts: Posts, epoch: Epoch, after: int, before: int, index: int
) -> Iterator[Finding]:
    for each in posts.between(epoch, after, before)[:1]:
        (node, life), place = each.who, each.post.place
        reason = (
            f"it has not read the post of {node}.{life} at place {place}, and goes on behind it"
        )
        yield _finding(report, reason, index, "")


def _finding(report: FileReport, reason: str, index: int, action: str) -> Finding:
    return Finding(
        verdict=VIOLATED,
        part="network",
        reason=reason,
        run=report.run,
        node=report.node,
        incarnation=report.incarnation,
        index=index,
        action=action,
        path=report.path,
    )


PROMISED: Final = Promised(findings=in_order, arrives={"Post": "Arrive"})
