"""One protocol of one run while its files grow: what is broken already, and the verdict at the end.

The judges are those of the batch (`trace/judged.py`). They call violated only what stands whatever
the missing records say, and so they may be asked at any time, as if every file ended here.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from raincheck.conformance.trace.batches import Problem
from raincheck.conformance.trace.channels_compared import Compared, compare_all
from raincheck.conformance.trace.columns import ends_of
from raincheck.conformance.trace.findings import FileReport, Finding
from raincheck.conformance.trace.following.files import Feed
from raincheck.conformance.trace.following.shared import Shared
from raincheck.conformance.trace.judged import RunVerdict, broken_so_far, judge
from raincheck.conformance.trace.layers.judged import slim
from raincheck.conformance.trace.promised import Followed
from raincheck.conformance.trace.records import Address
from raincheck.conformance.trace.run import Keep

from .streams import LiveStreams

Lines = tuple[int, bytes]


class LiveRun:
    """The files of one protocol of one run, as far as they were read."""

    def __init__(self, run: str, protocol: str) -> None:
        self.run, self.protocol = run, protocol
        self.problems: list[Problem] = []
        self.streams = LiveStreams()
        self._shared = Shared()
        self._feeds: dict[str, Feed] = {}
        self._wrong = 0
        """How many violations of single files and streams are known."""

    def take(self, who: str, path: Path, lines: Lines, now: float) -> Followed | None:
        """Check these lines of that process's file; return who follows it, if anybody can."""
        feed = self._feeds.get(who)
        if feed is None:
            feed = self._feeds[who] = Feed(path, self.problems.append, self._shared)
        feed.take(*lines)
        if feed.follower is not None:
            self.streams.grew(who, feed.follower, now)
        return feed.follower

    @property
    def followers(self) -> list[Followed]:
        """Who follows its files."""
        found = (feed.follower for feed in self._feeds.values())
        return [each for each in found if each is not None]

    @property
    def events(self) -> int:
        """How many events were read."""
        return sum(each.events for each in self.followers)

    @property
    def over(self) -> bool:
        """Whether the footer of each file was read."""
        return all(each.ended for each in self.followers)

    def settle(self, now: float) -> bool:
        """Compare what both ends of streams have told; return whether something new is wrong."""
        self.streams.await_at(now)
        self.streams.settle()
        for each in self.followers:
            each.spill()
        wrong = len(self.streams.found) + sum(len(each.findings) for each in self.followers)
        before, self._wrong = self._wrong, wrong
        return wrong > before

    def broken(self, crashed: Collection[Address]) -> list[Finding]:
        """Return the violations in the files, in streams and between members, so far."""
        reports = self._reports(whole=False)
        return broken_so_far(self.protocol, reports, self.streams.found, crashed)

    def judged(self, crashed: Collection[Address], keep: Keep) -> RunVerdict:
        """Return the verdict with promises, as if the files ended here."""
        reports = self._reports(whole=True)
        compared = self.streams.found | self._compared()
        for report in reports:
            keep(slim(report))
        of = self.run, self.protocol
        return judge(*of, reports, compared, crashed, self.problems, ended=False)

    def closed(self, crashed: Collection[Address], keep: Keep | None) -> RunVerdict:
        """Return the verdict of all that was read: nothing comes any more."""
        followers = self.followers
        compared = self.streams.finish() | compare_all(each.columns for each in followers)
        reports = [each.done() for each in followers]
        if keep is not None:
            for report in reports:
                keep(slim(report))
        return judge(self.run, self.protocol, reports, compared, crashed, self.problems)

    def _reports(self, *, whole: bool) -> list[FileReport]:
        """Return the reports so far: none is complete, since other files may come beside it."""
        reports = [each.so_far(whole=whole) for each in self.followers]
        for report in reports:
            report.complete = False
        return reports

    def _compared(self) -> dict[str, Compared]:
        """Compare the channels that are no streams.

        A receiver that came late counts from its first message, and the place of that one may be
        among the records that are still to come: until its sender's file has ended, contents that
        do not fit say nothing.
        """
        ended = {each.who for each in self.followers if each.ended}
        found = compare_all(each.columns for each in self.followers)
        return {
            text: each for text, each in found.items() if not each.bad or ends_of(text)[0] in ended
        }
