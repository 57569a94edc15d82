"""One life under a key opens what a proved life has sealed, once, and nothing else."""

from itertools import count
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raincheck.impl.messages import Endpoint
from raincheck.impl.sealing import sealing as module
from raincheck.impl.sealing.head import GREETING, HEAD, OVERHEAD
from raincheck.impl.sealing.keys import Keys, read_keys
from raincheck.impl.sealing.sealing import SEED, WINDOW, Sealing

OLD, NEW = read_keys([b"o" * 32, b"n" * 32], {})
HERE, THERE = ("10.0.0.1", 7000), ("10.0.0.2", 7000)
SEEDS = count(1)


def life(
    keys: Keys = (OLD,), here: Endpoint = HERE, group: str = "group x", *, encrypt: bool = True
) -> Sealing:
    """A life whose salt no other one has."""
    seed = Random(next(SEEDS)).randbytes(SEED)
    return Sealing(keys, group, here, seed, encrypt=encrypt)


def exchange(a: Sealing, b: Sealing, now: float = 0.0) -> list[bytes]:
    """Pass greetings to and fro until nobody answers any more; return what was under way."""
    seen = []
    while passing := [(b, HERE, each) for each, _ in a.poll_answers()] + [
        (a, THERE, each) for each, _ in b.poll_answers()
    ]:
        for to, source, datagram in passing:
            seen.append(datagram)
            assert to.open(datagram, source, now) is None
    return seen


def acquainted(*, encrypt: bool = True) -> tuple[Sealing, Sealing]:
    """Two lives that have proved themselves to each other."""
    a, b = life(here=HERE, encrypt=encrypt), life(here=THERE, encrypt=encrypt)
    assert b.open(a.seal(b"first"), HERE, 0.0) is None
    exchange(a, b)
    assert a.proved
    assert b.proved
    return a, b


@pytest.mark.parametrize("encrypt", [True, False])
def test_what_is_sealed_is_opened_once(encrypt: bool) -> None:
    a, b = acquainted(encrypt=encrypt)
    sealed = a.seal(b"hello")

    assert (b"hello" in sealed) is not encrypt
    assert len(sealed) == len(b"hello") + OVERHEAD
    assert b.open(sealed, HERE, 0.0) == b"hello"
    assert b.open(sealed, HERE, 0.0) is None
    assert b.counters["replayed"] == 1
    assert b.open(a.seal(b""), HERE, 0.0) == b""
    assert a.open(b.seal(b"back"), THERE, 0.0) == b"back"


def test_no_two_datagrams_of_all_lives_have_the_same_salt_and_counter() -> None:
    lives = acquainted()
    heads = [
        HEAD.unpack_from(each.seal(b"x"))[5:] for each in (*lives, life(), life()) for _ in range(9)
    ]
    greeted = life()
    greeted.open(life().seal(b"x"), THERE, 0.0)
    heads += [HEAD.unpack_from(datagram)[5:] for datagram, _ in greeted.poll_answers()]
    heads.append(HEAD.unpack_from(greeted.seal(b"x"))[5:])

    assert len(set(heads)) == len(heads)


@given(st.booleans(), st.data())
def test_any_flipped_bit_is_noticed(encrypt: bool, data: st.DataObject) -> None:
    a, b = acquainted(encrypt=encrypt)
    damaged = bytearray(a.seal(b"hello"))
    at = data.draw(st.integers(0, 8 * len(damaged) - 1))
    damaged[at // 8] ^= 1 << at % 8
    before = sum(b.counters.values())

    assert b.open(bytes(damaged), HERE, 0.0) is None
    assert sum(b.counters.values()) == before + 1
    assert b.open(a.seal(b"next"), HERE, 0.0) == b"next"


@given(st.binary(max_size=200), st.booleans())
def test_junk_is_dropped_and_counted(junk: bytes, headed: bool) -> None:
    a, b = acquainted()
    if headed:
        junk = a.seal(b"")[: HEAD.size] + junk

    assert b.open(junk, HERE, 0.0) is None
    assert sum(b.counters.values()) == 2  # the first one of all was not proved yet


@pytest.mark.parametrize("encrypt", [True, False])
def test_a_datagram_that_is_cut_is_noticed(encrypt: bool) -> None:
    a, b = acquainted(encrypt=encrypt)
    sealed = a.seal(b"hello")

    for size in range(len(sealed)):
        assert b.open(sealed[:size], HERE, 0.0) is None
    assert b.open(sealed, HERE, 0.0) == b"hello"


def test_a_stranger_gets_no_answer_but_that_its_key_is_wrong() -> None:
    _, b = acquainted()
    stranger = life((NEW,), ("6.6.6.6", 666))

    for datagram in (stranger.seal(b"x"), b"RC\3 plain" * 9, b""):
        assert b.open(datagram, ("6.6.6.6", 666), 5.0) is None

    ((answer, to),) = b.poll_answers()
    assert to == ("6.6.6.6", 666)
    assert len(answer) == HEAD.size
    assert stranger.open(answer, THERE, 5.0) is None
    assert stranger.poll_answers() == []


def test_two_lives_with_unlike_keys_both_say_so() -> None:
    a, b = life((OLD,), HERE), life((NEW,), THERE)

    b.open(a.seal(b"x"), HERE, 0.0)
    exchange(a, b)

    assert a.refused == {THERE: "10.0.0.2:7000 refuses this key"}
    assert b.refused == {HERE: "10.0.0.1:7000 has another key"}
    for each in (a, b):
        ((reason, _, detail, _),) = each.poll_dropped()
        assert reason == "wrong_key"
        assert "one group has one key" in detail


def test_a_refusal_is_shorter_than_what_it_answers() -> None:
    b = life()

    for size in range(100):
        b.open(b"RC".ljust(size, b"x"), ("6.6.6.6", size), 0.0)

    answers = b.poll_answers()
    assert len(answers) == 99 - HEAD.size
    assert all(len(answer) < to[1] for answer, to in answers)


def test_a_refusal_is_answered_by_nobody_and_an_endpoint_gets_one_in_a_second() -> None:
    a, b = life((OLD,), HERE), life((NEW,), THERE)

    for _ in range(50):
        b.open(a.seal(b"x"), HERE, 0.0)
    (refusal,) = exchange(a, b)
    b.open(a.seal(b"x"), HERE, 1.0)

    assert len(b.poll_answers()) == 1
    assert a.counters["wrong_key"] == 1
    assert b.open(refusal, HERE, 2.0) is None
    assert b.poll_answers() == []


def test_another_group_with_the_same_key_is_not_opened() -> None:
    a, b = life(group="group x"), life(group="group y", here=THERE)

    assert b.open(a.seal(b"x"), HERE, 0.0) is None
    assert b.counters == {"other_group": 1}
    forged = bytearray(a.seal(b"x"))
    forged[8:12] = b.seal(b"")[8:12]
    assert b.open(bytes(forged), HERE, 0.0) is None
    assert b.counters["unauthentic"] == 1
    assert b.poll_answers() == []


def test_groups_whose_names_have_one_checksum_do_not_open_each_others() -> None:
    a, b = life(group="group plumless"), life(group="group buckeroo", here=THERE)

    assert a.seal(b"x")[8:12] == b.seal(b"x")[8:12]
    assert b.open(a.seal(b"x"), HERE, 0.0) is None
    assert b.counters == {"unauthentic": 1}


def test_whatever_an_earlier_life_has_heard_and_sent_is_nothing_to_the_next() -> None:
    a, b = life(here=HERE), life(here=THERE)
    recorded = [a.seal(b"first")]
    b.open(recorded[0], HERE, 0.0)
    recorded += exchange(a, b)
    recorded += [a.seal(b"%d" % i) for i in range(20)]

    again = life(here=THERE)
    for times in range(3):
        for datagram in recorded:
            assert again.open(datagram, HERE, float(times)) is None

    assert not again.proved


def test_a_life_is_not_shown_what_was_sealed_before_its_question() -> None:
    a, _ = acquainted()
    recorded = [a.seal(b"%d" % i) for i in range(20)]
    late = life(here=THERE)

    late.open(recorded[0], HERE, 0.0)
    exchange(a, late)

    assert late.proved
    assert all(late.open(each, HERE, 0.0) is None for each in recorded)
    assert late.counters["replayed"] == 20
    assert late.open(a.seal(b"new"), HERE, 0.0) == b"new"


def test_an_answer_does_not_fit_another_question() -> None:
    a, b = life(here=HERE), life(here=THERE)
    b.open(a.seal(b"first"), HERE, 0.0)
    answers = [each for each in exchange(a, b) if HEAD.unpack_from(each)[2] == GREETING]
    third = life(here=THERE)

    for answer in answers:
        third.open(answer, HERE, 1.0)

    assert not third.proved


def test_a_life_that_was_forgotten_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LIVES", 2)
    a, b = life(here=HERE), life(here=THERE)
    b.open(a.seal(b"first"), HERE, 0.0)
    recorded = [*exchange(a, b), a.seal(b"old")]
    for number in range(2):
        other = life(here=("10.0.0.9", number))
        b.open(other.seal(b"x"), ("10.0.0.9", number), 0.0)
        for greeting, _ in b.poll_answers():
            other.open(greeting, THERE, 0.0)
        for greeting, _ in other.poll_answers():
            b.open(greeting, ("10.0.0.9", number), 0.0)
        b.poll_answers()

    for datagram in recorded:
        assert b.open(datagram, HERE, 1.0) is None

    exchange(a, b, 1.0)
    b.open(a.seal(b"x"), HERE, 2.0)
    exchange(a, b, 2.0)
    assert b.open(recorded[-1], HERE, 2.0) is None
    assert b.open(a.seal(b"new"), HERE, 2.0) == b"new"
    assert len(b._lives) == 2
    assert len(b._places) <= 2


@given(st.lists(st.integers(0, 24), max_size=60), st.integers(0, 10))
def test_no_order_of_arrival_makes_a_datagram_arrive_twice(order: list[int], later: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "WINDOW", 8)
        patch.setattr(module, "_MASK", (1 << 8) - 1)
        a, b = acquainted()
        sealed = {number: a.seal(b"%d" % number) for number in range(max(order, default=0) + 1)}
        taken = [b.open(sealed[number], HERE, 0.0) for number in order + order[:later]]
    delivered = [each for each in taken if each is not None]

    assert len(set(delivered)) == len(delivered)
    highest = -1
    for number, result in zip(order, taken, strict=False):
        if number > highest:
            assert result == b"%d" % number
            highest = number


def test_what_is_late_by_less_than_the_window_is_taken() -> None:
    a, b = acquainted()
    sealed = [a.seal(b"%d" % i) for i in range(WINDOW + 1)]

    assert b.open(sealed[-1], HERE, 0.0) is not None
    assert b.open(sealed[1], HERE, 0.0) == b"1"
    assert b.open(sealed[0], HERE, 0.0) is None
    assert b.open(sealed[1], HERE, 0.0) is None


def test_what_comes_back_from_a_mirror_proves_nothing() -> None:
    a = life(here=HERE)
    under_way = [a.seal(b"hello")]

    for _ in range(4):
        for datagram in under_way:
            assert a.open(datagram, HERE, 0.0) is None
        under_way = [each for each, _ in a.poll_answers()]

    assert a.counters == {"own": 1}
    assert not a.proved


def test_a_datagram_counts_only_from_where_its_sender_is() -> None:
    a, b = acquainted()
    sealed = a.seal(b"hello")

    assert b.open(sealed, ("6.6.6.6", 666), 0.0) is None
    assert b.counters["moved"] == 1
    assert b.open(sealed, HERE, 0.0) == b"hello"


def test_a_greeting_from_elsewhere_proves_nothing() -> None:
    a, b = life(here=HERE), life(here=THERE)

    b.open(a.seal(b"first"), ("6.6.6.6", 666), 0.0)
    ((question, _),) = b.poll_answers()
    a.open(question, THERE, 0.0)
    ((answer, _),) = a.poll_answers()
    b.open(answer, ("6.6.6.6", 666), 0.0)

    assert not b.proved
    assert b.counters["moved"] == 1


def test_the_first_datagram_is_sent_again_once_its_receiver_knows_its_sender() -> None:
    a, b = life(here=HERE), life(here=THERE)
    b.open(a.seal_to(b"old", THERE, 0.0), HERE, 0.0)
    b.open(a.seal_to(b"join me", THERE, 0.1), HERE, 0.1)
    a.seal_to(b"to another", ("10.0.0.3", 7000), 0.1)

    under_way, taken = b.poll_answers(), []
    while under_way:
        for datagram, to in under_way:
            taken += [(a if to == HERE else b).open(datagram, THERE if to == HERE else HERE, 0.2)]
        under_way = a.poll_answers() + b.poll_answers()

    assert [each for each in taken if each is not None] == [b"join me"]
    b.open(a.seal_to(b"later", THERE, 0.3), HERE, 0.3)
    assert a.poll_answers() == b.poll_answers() == []


def test_a_datagram_that_is_old_is_not_sent_again() -> None:
    a, b = life(here=HERE), life(here=THERE)
    b.open(a.seal_to(b"join me", THERE, 0.0), HERE, 0.0)

    answers = exchange(a, b, 5.0)

    assert a.proved
    assert all(HEAD.unpack_from(each)[2] == GREETING for each in answers)


def test_questions_to_one_life_are_few_until_it_answers() -> None:
    a, b = life(here=HERE), life(here=THERE)

    for _ in range(100):
        b.open(a.seal(b"x"), HERE, 0.0)

    assert len(b.poll_answers()) == 1
    assert b.counters["unproved"] == 100
    b.open(a.seal(b"x"), HERE, 0.1)
    assert len(b.poll_answers()) == 1


def test_a_recorded_question_gets_no_more_answers_than_it_may() -> None:
    a, b = life(here=HERE), life(here=THERE)
    b.open(a.seal(b"x"), HERE, 0.0)
    ((question, _),) = b.poll_answers()

    for _ in range(100):
        a.open(question, THERE, 0.0)

    assert len(a.poll_answers()) == 1


def test_a_question_of_a_proved_life_is_answered_once() -> None:
    a, b = life(here=HERE), life(here=THERE)
    b.open(a.seal(b"first"), HERE, 0.0)
    recorded = exchange(a, b)

    for datagram in recorded * 3:
        b.open(datagram, HERE, 1.0)

    assert b.poll_answers() == []


def test_the_key_is_changed_in_three_steps_and_nothing_is_lost() -> None:
    a, b = acquainted()
    steps = [(OLD, NEW), (NEW, OLD), (NEW,)]
    for keys in steps:
        for changed in (a, b):
            changed.change(keys)
            assert b.open(a.seal(b"to b"), HERE, 0.0) == b"to b"
            assert a.open(b.seal(b"to a"), THERE, 0.0) == b"to a"

    with_old = life((OLD,), THERE).seal(b"x")
    assert a.open(with_old, THERE, 0.0) is None
    assert a.counters["wrong_key"] == 1


def test_a_step_that_is_left_out_is_said_on_both_sides() -> None:
    a, b = acquainted()

    a.change((NEW,))
    assert b.open(a.seal(b"x"), HERE, 0.0) is None
    exchange(a, b)

    assert b.refused == {HERE: "10.0.0.1:7000 has another key"}
    assert a.refused == {THERE: "10.0.0.2:7000 refuses this key"}


def test_authenticated_and_encrypted_datagrams_may_be_mixed() -> None:
    a, b = life(here=HERE, encrypt=False), life(here=THERE)
    b.open(a.seal(b"first"), HERE, 0.0)
    exchange(a, b)

    assert b.open(a.seal(b"to b"), HERE, 0.0) == b"to b"
    assert a.open(b.seal(b"to a"), THERE, 0.0) == b"to a"


def test_what_is_kept_of_others_is_bounded() -> None:
    b = life(here=THERE)
    for i in range(3000):
        place = (f"10.1.{i // 250}.{i % 250}", 7000)
        b.open(b"RC plain", place, float(i))
        b.open(life(here=place).seal(b"x"), place, float(i))
        b.poll_answers()

        b.seal_to(b"x", place, float(i))
    kept = (b.refused, b._refusals, b._greeted, b._lives, b._again)
    assert max(map(len, kept)) <= 1024
