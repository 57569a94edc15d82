"""The promises are judged in every prefix of a run, and say over whom; nobody is no pass."""

import json
from pathlib import Path

import pytest

from raincheck.__main__ import main
from raincheck.conformance.trace.findings import HOLDS, INCONCLUSIVE, VIOLATED
from raincheck.conformance.trace.judged import RunVerdict
from raincheck.conformance.trace.run import check_paths
from raincheck.conformance.trace.sequencer.broken import BROKEN, kept
from raincheck.conformance.trace.sequencer.scripted import Script
from raincheck.conformance.trace.sequencer.tracegen import write_trace

GAP_FREE = "sequencer.GapFree"
PROMISES = {
    "TotalOrder",
    "UniformTotalOrder",
    "Agreement",
    "UniformAgreement",
    "Integrity",
    "Fifo",
    "InView",
    "VirtualSynchrony",
}


def judged(folder: Path, script: Script, killed: str = "") -> RunVerdict:
    """What the local engine says of the script's traces; those of `killed` break off."""
    crashed = tuple(script.who(name) for name in killed)
    write_trace(folder, script.files(killed), crashed)
    (verdict,) = check_paths([folder])
    return verdict


def of(verdict: RunVerdict, found: str) -> set[str]:
    return {each.name for each in verdict.promises if each.verdict == found and not each.idle}


def counterexample() -> Script:
    """README's: b has delivered a's message, c has not; both go on without a."""
    script = Script("abc", synchronous=False).do("a", "Send", 1).do("b", "ReceiveData", "a")
    return script.decide("bc").install("bc")


def test_a_good_run_keeps_every_promise_and_says_over_whom(tmp_path: Path) -> None:
    verdict = judged(tmp_path, kept())

    assert verdict.verdict == HOLDS
    assert of(verdict, HOLDS) == PROMISES | {GAP_FREE}
    over = {promise.name: promise.judged for promise in verdict.promises}
    assert over["TotalOrder"] == {"members": 3, "views": 1, "messages": 2}
    assert over["Agreement"] == {"members": 2, "views": 1, "messages": 2}
    assert over["UniformAgreement"] == {"members": 3, "views": 1, "messages": 2}
    assert over["Integrity"] == {"members": 3, "views": 1, "messages": 6}
    assert over["Fifo"] == {"members": 3, "views": 1, "messages": 6}
    assert over["VirtualSynchrony"] == {"members": 3, "views": 1, "messages": 2}


@pytest.mark.parametrize("end", ["they run on", "they leave", "they are killed"])
def test_survivors_that_disagree_are_found_whatever_becomes_of_them(
    tmp_path: Path, end: str
) -> None:
    script = counterexample()
    if end == "they leave":
        script.leave("bc")
    verdict = judged(tmp_path, script, killed="abc" if end == "they are killed" else "a")

    (agreement,) = [p for p in verdict.promises if p.name == "Agreement"]
    assert agreement.verdict == VIOLATED
    assert agreement.witness["members"] == [["b", 0], ["c", 0]]
    assert agreement.witness["messages"] == [["a", 0, 1]]
    assert agreement.witness["view"] == 1


def test_the_verb_finds_them_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = counterexample().leave("bc")
    write_trace(tmp_path / "t", script.files("a"), (script.who("a"),))

    code = main(
        ["conform", str(tmp_path / "t"), "--out", str(tmp_path / "e"), "--json", "--strict"]
    )

    results = {r["name"]: r for r in json.loads(capsys.readouterr().out)["results"]}
    assert code == 1
    assert results["r1: Agreement"]["verdict"] == VIOLATED
    assert results["r1: Agreement"]["judged"] == {"members": 2, "views": 1, "messages": 1}


def test_a_run_in_which_nobody_was_there_to_be_judged_by_is_no_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = Script("ab").do("a", "Send", 1).each("ab", "ReceiveData", "a").leave("ab")
    write_trace(tmp_path / "t", script.files())

    code = main(["conform", str(tmp_path / "t"), "--out", str(tmp_path / "e"), "--json"])

    results = {r["name"]: r for r in json.loads(capsys.readouterr().out)["results"]}
    assert code == 2
    assert results["r1: sequencer"]["verdict"] == HOLDS
    undecided = {n for n, r in results.items() if r["verdict"] == INCONCLUSIVE and "idle" not in r}
    assert undecided == {f"r1: {name}" for name in PROMISES - {"Integrity", "InView"}}
    assert results["r1: Agreement"]["judged"] == {"members": 0, "views": 0, "messages": 0}
    assert "no two members went on together" in results["r1: Agreement"]["detail"]


# ---------------------------------------------------------------- whose log counts how far


def inverted(end: str) -> Script:
    """Before a crashed b had delivered d1, c1; c and d, in the next view, c1, d1."""
    script = Script("abcd", synchronous=False)
    script.do("d", "Send", 1).do("a", "ReceiveForward", "d")
    script.do("c", "Send", 1).do("a", "ReceiveForward", "c")
    script.each("bb", "ReceiveData", "a").do("a", "Crash")
    if end == "b leaves":
        script.leave("b")
    elif end == "b crashes":
        script.do("b", "Crash")
    staying = "bcd" if end == "b stays" else "cd"
    script.decide(staying).install(staying)
    first = staying[0]
    for who in "cd":
        script.do(who, "Resend", 1)
        if who != first:
            script.do(first, "ReceiveForward", who)
        script.each(staying, "ReceiveData", first)
    return script


def test_a_member_that_stays_is_held_against_the_others(tmp_path: Path) -> None:
    verdict = judged(tmp_path, inverted("b stays"))

    assert verdict.verdict == HOLDS
    assert {"TotalOrder", "Agreement", "VirtualSynchrony"} <= of(verdict, VIOLATED)


@pytest.mark.parametrize("end", ["b leaves", "b crashes"])
def test_what_others_deliver_when_a_member_is_gone_is_held_against_it_uniformly_only(
    tmp_path: Path, end: str
) -> None:
    verdict = judged(tmp_path, inverted(end))

    assert of(verdict, VIOLATED) == {"UniformTotalOrder", "UniformAgreement"}


def test_a_member_that_leaves_is_judged_until_it_left(tmp_path: Path) -> None:
    """b leaves, and c, in the same view, goes on to deliver in the other order."""
    script = Script("abc", synchronous=False).do("a", "Send", 1)
    script.decide("bca").install("bca").do("b", "Send", 1)
    script.do("b", "ReceiveData", "a").do("b", "ReceiveData", "b").leave("b")
    script.do("c", "ReceiveData", "b").do("c", "ReceiveData", "a").do("a", "ReceiveData", "b")
    verdict = judged(tmp_path, script)

    assert verdict.verdict == HOLDS
    assert of(verdict, VIOLATED) == {"TotalOrder", "UniformTotalOrder"}


def test_a_crashed_member_is_judged_for_the_views_that_it_went_on_from(tmp_path: Path) -> None:
    script = kept("abcd").do("b", "Send", 1).each("bcd", "ReceiveData", "b")
    verdict = judged(tmp_path, script, killed="c")

    over = {promise.name: promise.judged for promise in verdict.promises}
    assert over["TotalOrder"] == {"members": 4, "views": 2, "messages": 3}
    assert over["Agreement"] == {"members": 3, "views": 1, "messages": 2}


# ---------------------------------------------------------------- each promise, broken


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_each_promise_is_broken_by_a_run_of_its_own(tmp_path: Path, name: str) -> None:
    broken = BROKEN[name]("r1")
    write_trace(tmp_path, broken.trace, broken.killed)
    (verdict,) = check_paths([tmp_path])

    assert of(verdict, VIOLATED) == broken.promises
    assert (verdict.verdict == VIOLATED) == (name == "never_sent")


def test_every_promise_is_broken_by_some_run() -> None:
    assert frozenset().union(*(made("r").promises for made in BROKEN.values())) == {
        *PROMISES,
        GAP_FREE,
    }
