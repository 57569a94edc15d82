"""The promises by the members' logs, and over a table of messages: the same on any logs whatever.

The logs need not be those of any protocol: members come and go as they like, views have any
members, and deliveries follow one order but for a few that do not.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations, pairwise
from random import Random
from typing import Any

import pytest

from raincheck.conformance.spark.recount import recounted
from raincheck.conformance.trace.events import Address
from raincheck.conformance.trace.findings import INCONCLUSIVE, VIOLATED
from raincheck.conformance.trace.sequencer.promises import evaluate
from raincheck.conformance.trace.sequencer.rows import Rows
from raincheck.conformance.trace.sequencer.summary import Installed, Summary

ENDS = ("footer", "ended", "open", "broken")
Logs = tuple[dict[Address, Summary], dict[Address, Any]]
Message = tuple[Address, int]


def any_logs(random: Random) -> Logs:
    """The summaries and packed deliveries of a few members."""
    everybody = [(name, 0) for name in "abcde"[: random.randint(2, 5)]]
    everybody += [("a", 1)] if random.random() < 0.3 else []
    views = {
        number: tuple(who for who in everybody if random.random() < 0.8)
        for number in range(1, random.randint(2, 7))
    }
    said = {who: random.randint(1, 4) for who in everybody}
    messages = [(who, seqno) for who in everybody for seqno in range(1, said[who] + 1)]
    random.shuffle(messages)
    messages.sort(key=lambda each: each[1] if random.random() < 0.8 else 0)
    parts = sorted(random.choices(range(len(messages) + 1), k=len(views) - 1))
    bounds = [0, *parts, len(messages)]
    heard = {v: messages[low:high] for v, (low, high) in zip(views, pairwise(bounds), strict=True)}
    summaries, deliveries = {}, {}
    for who in everybody:
        summary, rows = _member(random, who, views, heard, said[who])
        summaries[who], deliveries[who] = summary, rows.delivered
    return summaries, deliveries


def _member(
    random: Random,
    who: Address,
    views: dict[int, tuple[Address, ...]],
    heard: dict[int, list[Message]],
    said: int,
) -> tuple[Summary, Rows]:
    mine = [v for v, members in views.items() if who in members or random.random() < 0.05]
    mine = mine[: random.randint(1, len(mine))] if mine else []
    rows = Rows()
    for view in mine:
        told = list(heard[view])
        if random.random() < 0.15 and len(told) > 1:
            at = random.randrange(len(told) - 1)
            told[at : at + 2] = told[at : at + 2][::-1]
        if random.random() < 0.15:
            told = told[: random.randint(0, len(told))]
        if random.random() < 0.08:
            told += random.choice([heard[v] for v in mine])[:2]
        for sender, first, count in _runs(told):
            rows.deliver(view, rows.key_of(sender) + first, count)
    summary = Summary(path="", run="r", node=who[0], incarnation=who[1])
    summary.end = random.choice(ENDS)
    summary.status = random.choice(("member", "left", "crashed"))
    summary.seqno = said if random.random() < 0.9 else said - 1
    known = [view for view in mine if random.random() < 0.98]
    summary.views = [Installed(view, views[view], view, view) for view in known]
    summary.addresses, summary.view_starts = list(rows.codes), rows.view_starts
    return summary, rows


def _runs(told: list[Message]) -> Iterator[tuple[Address, int, int]]:
    """The same as runs of consecutive messages of one sender."""
    low = 0
    for at in range(1, len(told) + 1):
        (sender, first), size = told[low], at - low
        if at == len(told) or told[at] != (sender, first + size):
            yield sender, first, size
            low = at


@pytest.mark.parametrize("block", range(4))
def test_both_evaluations_come_to_the_same(block: int) -> None:
    broken: Counter[str] = Counter()
    cases = 500
    for seed in range(block * cases, (block + 1) * cases):
        summaries, deliveries = any_logs(Random(seed))
        again = set(recounted(summaries, deliveries))
        promises = evaluate(summaries, dict(deliveries))

        found = {promise.name for promise in promises if promise.verdict == VIOLATED}
        assert found == again, f"seed {seed}: by the logs {found}, by the messages {again}"
        broken.update(found)

    assert len(broken) == 8
    assert all(cases / 50 < times < cases * 0.9 for times in broken.values()), broken


def heard_by(summary: Summary, words: Any) -> list[tuple[Message, int]]:
    """What a member delivered, each message once, with its view."""
    found: dict[Message, int] = {}
    starts, view, key = dict(summary.view_starts), 0, 0
    for place, word in enumerate(words):
        view = starts.get(place, view)
        key, count = (word, 1) if word >= 0 else (key + 1, -word - 1)
        for more in range(count):
            sender = summary.addresses[(key + more) >> 40]
            found.setdefault((sender, (key + more) & ((1 << 40) - 1)), view)
    return list(found.items())


def firm(summary: Summary, heard: list[tuple[Message, int]]) -> list[tuple[Message, int]]:
    last = max((place.view for place in summary.views), default=0)
    if summary.status != "crashed" and summary.end != "open":
        return heard
    return [each for each in heard if each[1] < last]


def beside(p: Summary, q: Summary, heard: list[tuple[Message, int]]) -> set[Message]:
    """What p delivered before it came to a view that has lost q."""
    last = max((place.view for place in q.views), default=0)
    lost = [v.view for v in p.views if v.view > last and q.who not in v.members]
    return {message for message, view in heard if not lost or view < min(lost)}


def test_over_whom_a_promise_was_judged_is_who_could_have_broken_it() -> None:
    judged = 0
    for seed in range(1_000):
        summaries, deliveries = any_logs(Random(seed))
        whole = {who: heard_by(each, deliveries[who]) for who, each in summaries.items()}
        promises = {p.name: p for p in evaluate(summaries, dict(deliveries))}
        certain = {who: firm(summaries[who], heard) for who, heard in whole.items()}
        for name, heard in (("TotalOrder", certain), ("UniformTotalOrder", whole)):
            promise = promises[name]
            if VIOLATED in (promise.verdict, promises["UniformTotalOrder"].verdict):
                continue
            judged += 1
            members, messages = set(), set()
            for p, q in combinations(heard, 2):
                one, other = summaries[p], summaries[q]
                common = dict(heard[p]).keys() & dict(heard[q]).keys()
                if name == "TotalOrder":
                    common &= beside(one, other, heard[p]) & beside(other, one, heard[q])
                if len(common) > 1:
                    members |= {p, q}
                    messages |= common
            told = (promise.judged["members"], promise.judged["messages"])
            assert told == (len(members), len(messages)), (seed, name)
            assert (promise.verdict == INCONCLUSIVE) == (not members), (seed, name)

    assert judged > 200
