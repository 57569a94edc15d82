"""The words for each step of the ring, on runs of the model in the spec's variables."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest

from raincheck.conformance.bindings.raincore import story as raincore_story
from raincheck.conformance.bindings.raincore.story import tell, witness
from raincheck.conformance.report.sequence import Diagram, Event, as_text
from raincheck.model.machine.composed import Move
from raincheck.model.raincore.local import Rules
from raincheck.model.raincore.state import Constants, Spent, State
from raincheck.model.raincore.system import RaincoreSystem

AS_WRITTEN = Rules(**{each.name: each.name == "one_founder" for each in fields(Rules)})
MOST = Spent(*(9 for _ in Spent._fields))._replace(pauses=0)


class Played:
    """A run of the model, step by step."""

    def __init__(self, nodes: str = "abc", members: str = "abc", **constants: Any) -> None:
        given = {"most": MOST, "max_attempts": 9, "max_epoch": 9, "max_seq": 99}
        given |= {name: frozenset(nodes) for name in ("crashers", "senders", "leavers")}
        self.system = RaincoreSystem(
            Constants(tuple(nodes), tuple(members), **given | {"max_messages": 9} | constants)
        )
        (self.state,) = self.system.initial()
        self.states = [self.system.variables(self.state)]
        self.actions: list[str] = []

    def __call__(self, action: str, node: str = "") -> str:
        """Take a step, and return how it is told."""
        moves: Iterator[Move[State]] = self.system.moves(self.state)
        move = next(
            each for each in moves if each.action == action and node in (each.node, *each.args, "")
        )
        self.state = move.target
        self.states.append(self.system.variables(self.state))
        self.actions.append(action)
        return self.events[-1].text

    @property
    def events(self) -> list[Event]:
        """All steps so far, told."""
        return tell(list(zip(self.actions, self.states, self.states[1:], strict=False)))


def test_a_pass_that_fails_as_the_text_has_it() -> None:
    play = Played(rules=AS_WRITTEN)

    assert play("EatingTimeout", "a") == "a passes the token 2 to b"
    assert play("Crash", "b") == "b crashes"
    assert play("TokenUndelivered", "a") == (
        "a is told that the token 2 did not reach b: list ac, the token 3 goes to c"
    )
    assert play("ReceiveToken", "c") == "c has the token 3, list ac, AGREEMENT → CHAOS"
    assert play("Crash", "c") == "c crashes, and the token with it"
    assert play("HungryTimeout", "a") == (
        "a is starving (CHAOS) and sends a 911 with its copy's number 3"
    )
    assert play("Undelivered911", "a") == "a is told that its 911 did not reach b: it goes to c"
    assert [each.mark for each in play.events] == ["", "crash", "drop", "", "crash", "", "drop"]
    assert raincore_story.absent(play.states[-1]) == {"b", "c"}


def test_a_pass_that_fails_is_claimed() -> None:
    play = Played()

    play("EatingTimeout", "a")
    play("Crash", "b")
    assert play("TokenUndelivered", "a") == (
        "a is told that the token 2 did not reach b: it claims epoch 1/a"
    )
    play("Undelivered911", "a")
    assert play("Receive911", "c") == "c grants a epoch 1/a and passes its 911 on"
    assert play("Receive911", "a") == (
        "a's 911 is back with YES: it makes the token 1/a:2 anew, list ac"
    )
    assert play("EatingTimeout", "a") == "a passes the token 1/a:3 to c"
    play("ReceiveToken", "c")
    play("EatingTimeout", "c")
    play("ReceiveToken", "a")
    play("EatingTimeout", "a")
    assert play("ReceiveToken", "c") == "c has the token 1/a:5, list ac, CHAOS → RESERVE"
    play("EatingTimeout", "c")
    assert play("ReceiveToken", "a") == (
        "a has the token 1/a:6, list ac, RESERVE → AGREEMENT; commits ac as view 2"
    )
    assert play.events[-1].mark == "view"


def test_arrows_go_from_who_sends_to_who_takes() -> None:
    play = Played()
    for action, node in (("EatingTimeout", "a"), ("ReceiveToken", "b"), ("EatingTimeout", "b")):
        play(action, node)

    first, second, third = play.events
    assert second.received == first.sent[0]
    assert (first.sent[0].label, first.sent[0].to) == ("token 2 abc", "b")
    assert third.sent[0].id != first.sent[0].id
    assert third.received is None
    told = Diagram("t", raincore_story.members(play.states), tuple(play.events))
    assert "├──────▶●" in as_text(told)


def test_the_same_words_sent_again_are_another_message() -> None:
    play = Played(rules=AS_WRITTEN, patient=False)
    play("HungryTimeout", "c")
    play("Receive911", "a")
    play("Receive911", "b")

    sent = [message for event in play.events for message in event.sent]
    received = [event.received for event in play.events if event.received]

    assert len({message.id for message in sent}) == len(sent) == 3
    assert [message.id for message in received] == [message.id for message in sent[:2]]


def test_who_says_no_says_why() -> None:
    play = Played(patient=False)
    play("HungryTimeout", "c")

    assert play("Receive911", "a") == "a says NO to c's 911: it eats"
    assert play.events[-1].sent[0].label == "NO to c's 911"
    assert play("Receive911", "c") == "c is told NO"

    play = Played(rules=AS_WRITTEN, patient=False)
    play("HungryTimeout", "b")
    assert play("Receive911", "c") == (
        "c says NO to b's 911: it has the same number and a higher rank"
    )
    play = Played(rules=AS_WRITTEN, patient=False)
    play("EatingTimeout", "a")
    play("ReceiveToken", "b")
    play("HungryTimeout", "c")
    assert play("Receive911", "a") == "a says NO to c's 911: its copy is 2"


def test_a_second_token_and_what_shows_that_two_eat() -> None:
    play = Played(rules=AS_WRITTEN, patient=False)
    play("HungryTimeout", "c")
    assert play("Receive911", "a") == "a passes c's 911 on with YES"
    play("Receive911", "b")
    assert play("Receive911", "c") == (
        "c's 911 is back with YES: it makes the token 1 anew, list abc"
    )

    assert witness("OneEater", play.states) == "a eats 1 and c eats 1, at once."
    assert witness("OneLock", play.states) == ""
    assert witness("ConsistentHistory", play.states) == ""


def test_a_joiner_and_a_leaver() -> None:
    play = Played("abc", "ab")

    assert play("Initialise", "c") == "c starts and asks a to be let in"
    assert play("Receive911", "a") == "a will let c in"
    assert play("EatingTimeout", "a") == "a lets c in, list acb, and passes the token 3 to c"
    assert play("ReceiveToken", "c") == "c has the token 3, list acb, CHAOS (it was starving)"
    assert play("Leave", "c") == "c wants to leave"
    assert play("EatingTimeout", "c").startswith(
        "c takes itself off the list, ab, and passes the token 5 to "
    )
    play("ReceiveToken", "b")
    assert play("TokenDelivered", "c") == "c knows that its last token has arrived: it has left"
    marks = [each.mark for each in play.events]
    assert (marks[0], marks[-1]) == ("join", "leave")


def test_a_multicast_a_life_that_returns_and_one_that_does_not() -> None:
    play = Played("abcd", "abc", spares=frozenset("d"))

    assert play("Multicast", "b") == "b's application multicasts: b1 waits"
    play("Crash", "b")
    assert play("Recover", "b") == "b is back with its copy 1 and sends a 911"
    assert play.events[-1].mark == "join"
    play("Crash", "b")
    assert play("Forget", "b") == "b has lost its state: its next life has another name"

    play = Played(rules=AS_WRITTEN)
    play("Crash", "b")
    assert play("Forget", "b") == "b has lost its state, and keeps its name"


def test_what_the_world_does() -> None:
    play = Played(truthful=False, arrives_after_failure=True)

    play("EatingTimeout", "a")
    assert play("FalseReport") == (
        "a will be told that the token 2 abc did not reach b: that is not true"
    )
    play("ReceiveToken", "b")
    assert play("TokenUndelivered", "a").startswith(
        "a is told that the token 2 did not reach b: it claims epoch 1/a"
    )
    assert play("Split").endswith("are cut off from each other")
    assert play("Heal") == "all can reach each other again"
    play("Crash", "a")
    assert play("Lose").endswith("is lost: its sender is dead")
    assert [each.node for each in play.events if each.action in ("Split", "Heal")] == ["", ""]


def test_what_the_adversary_does() -> None:
    play = Played("abc", "ab", strangers=frozenset("c"), datagrams_unaltered=False)

    assert play("Forge", "c") == "a stranger sends a the token 3 ab, as c"
    play("EatingTimeout", "a")
    assert play("Corrupt") == "the token 2 ab to b becomes another message on its way"
    assert [each.node for each in play.events if each.action in ("Forge", "Corrupt")] == ["", ""]


def test_a_token_that_is_dropped_says_why() -> None:
    play = Played(truthful=False, arrives_after_failure=True)
    play("EatingTimeout", "a")
    play("FalseReport")
    play("TokenUndelivered", "a")
    assert play("Receive911", "b") == "b grants a epoch 1/a and passes its 911 on"
    assert play("ReceiveToken", "b") == "b drops the token 2: it has promised 1/a"
    assert play.events[-1].mark == "drop"


@pytest.mark.parametrize(
    ("name", "changed", "sentence"),
    [
        (
            "ConsistentHistory",
            {"globalView": {"a": (("a", "b"), ("a",)), "b": (("a", "b"), ("b",))}},
            "View 2 is a at a, and b at b.",
        ),
        (
            "ConsistentHistory",
            {"globalView": {"a": (("a",),), "b": ()}, "past": {(1, ("b",))}},
            "View 1 was b in an earlier life, and is a at a.",
        ),
        (
            "NoHoles",
            {"globalView": {"a": (("a", "b"),), "b": ((), ("b",))}},
            "a has committed ab as view 1; b has NULL there.",
        ),
        (
            "FenceUnique",
            {"eaten": {((1, 2), 7, "a"), ((1, 2), 7, "b")}},
            "Both a and b have eaten with the number 1/b:7.",
        ),
        (
            "AgreedOrder",
            {"delivered": {"a": (("a", 1), ("b", 1)), "b": (("b", 1), ("a", 1))}},
            "a delivered a1 before b1, b delivered b1 before a1.",
        ),
        ("Integrity", {"delivered": {"a": (("b", 1), ("b", 1))}}, "a delivered b1 2 times."),
        ("Fifo", {"delivered": {"a": (("b", 2), ("b", 1))}}, "a delivered b2 before b1."),
        ("Fifo", {"delivered": {"a": (("b", 1), ("b", 2))}}, ""),
        ("AgreedOrder", {"delivered": {"a": (("a", 1),), "b": (("b", 1), ("a", 1))}}, ""),
        (
            "NoHoles",
            {"globalView": {"a": (("a", "b"),), "b": ()}},
            "a has committed ab as view 1; b has not.",
        ),
        ("NoHoles", {"globalView": {"a": (("a", "b"),), "b": (("a", "b"),)}}, ""),
        ("Lemma31", {}, ""),
    ],
)
def test_the_witness_is_what_breaks_the_promise(
    name: str, changed: dict[str, Any], sentence: str
) -> None:
    state = {"up": {"a": "up", "b": "up"}, "past": set(), "eaten": set()} | changed

    assert witness(name, [state]) == sentence
