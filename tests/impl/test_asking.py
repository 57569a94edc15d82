"""Live questions: their datagrams, the desk that answers them, and who asks; in virtual time."""

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raincheck.conformance.field.stack.hostile import question
from raincheck.impl.asking import wire
from raincheck.impl.asking.asker import Asker
from raincheck.impl.asking.desk import ANSWERS, COOKIE_LIFE, HINTS, Desk, who_may_ask
from raincheck.impl.errors import ConfigError, WireError
from raincheck.impl.messages import Endpoint
from raincheck.impl.transport.contract import is_own
from raincheck.impl.wire.sums import summed

HERE: Endpoint = ("10.0.0.1", 7000)
OPERATOR: Endpoint = ("127.0.0.1", 50_000)
STRANGER: Endpoint = ("6.6.6.6", 666)
NUMBERS = st.integers(0, (1 << 64) - 1)


def desk_that_tells(answer: bytes = b"all is well" * 100, *networks: str) -> Desk:
    """A desk of a member at HERE."""
    return Desk(who_may_ask(networks or None, HERE[0], sealed=False), lambda: answer)


def told(desk: Desk, datagram: bytes, endpoint: Endpoint, now: float = 0.0) -> list[bytes]:
    """What the desk sends back to that endpoint; it sends nothing elsewhere."""
    desk.receive(datagram, endpoint, now)
    outgoing = desk.poll_datagrams()
    assert {to for _, to in outgoing} <= {endpoint}
    return [data for data, _ in outgoing]


def asked(desk: Desk, endpoint: Endpoint, now: float = 0.0) -> Asker:
    """Somebody asks until it is over, or it is told nothing."""
    asker = Asker(7)
    again = True
    while again:
        again = any(asker.take(data) for data in told(desk, asker.datagram(), endpoint, now))
    return asker


# ------------------------------------------------------------------ the datagrams


@given(st.sampled_from([wire.ASK, wire.COOKIE, wire.REFUSED]), NUMBERS, NUMBERS)
def test_what_is_made_is_read(kind: int, number: int, other: int) -> None:
    read = wire.read(wire.made(kind, number, other))
    assert (read.kind, read.question, read.number) == (kind, number, other)


def test_an_answer_fits_into_one_datagram() -> None:
    largest = bytes(wire.MAX_ANSWER)
    assert wire.read(wire.made(wire.ANSWER, 1, 0, largest)).body == largest
    with pytest.raises(ValueError, match="60001 bytes, at most 60000"):
        wire.made(wire.ANSWER, 1, 0, bytes(wire.MAX_ANSWER + 1))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda ask: ask[:-1], "corrupted"),
        (lambda ask: ask[:20], "truncated"),
        (lambda _: b"", "truncated"),
        (lambda ask: b"XX" + ask[2:], "not_ours"),
        (lambda ask: ask[:40] + b"\1" + ask[41:], "corrupted"),
        (lambda ask: summed(ask[:2] + b"\7" + ask[3:]), "wrong_version"),
        (lambda ask: summed(ask[:3] + b"\7" + ask[4:]), "malformed"),
        (lambda ask: summed(ask + b"more"), "malformed"),
        (lambda _: summed(wire.made(wire.COOKIE, 1, 2) + b"more"), "malformed"),
    ],
)
def test_what_is_wrong_with_a_datagram_has_a_name(change, reason) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(WireError) as problem:
        wire.read(change(wire.made(wire.ASK, 1, 2)))
    assert problem.value.reason == reason


# ------------------------------------------------------------------ who is answered


def test_who_proves_where_it_is_gets_the_answer() -> None:
    desk = desk_that_tells()
    asker = asked(desk, OPERATOR)
    assert asker.answer == b"all is well" * 100
    assert desk.counters == {"ask.answered": 1}
    assert desk.poll_dropped() == []


def test_a_cookie_is_good_for_its_endpoint_and_for_two_minutes_at_most() -> None:
    desk = desk_that_tells()
    (cookie,) = told(desk, wire.made(wire.ASK, 7), OPERATOR)
    again = wire.made(wire.ASK, 7, wire.read(cookie).number)

    def kind(endpoint: Endpoint, now: float) -> int:
        (data,) = told(desk, again, endpoint, now)
        return wire.read(data).kind

    assert kind(OPERATOR, 1.0) == kind(OPERATOR, COOKIE_LIFE) == wire.ANSWER
    assert kind((OPERATOR[0], 50_001), 1.0) == wire.COOKIE
    assert kind(OPERATOR, 2.0 * COOKIE_LIFE) == wire.COOKIE


@pytest.mark.parametrize(
    ("networks", "sealed", "yes", "no"),
    [
        (None, False, ["127.0.0.1", "127.9.9.9", "::1", "10.0.0.1"], ["10.0.0.2", "6.6.6.6"]),
        (None, True, ["127.0.0.1", "6.6.6.6"], []),
        ([], False, [], ["127.0.0.1", "10.0.0.1"]),
        ([], True, [], ["127.0.0.1", "10.0.0.1"]),
        (["10.0.0.0/8", "fd00::/8"], False, ["10.9.9.9", "fd00::1"], ["127.0.0.1", "::1"]),
    ],
)
def test_who_may_ask(
    networks: list[str] | None, sealed: bool, yes: list[str], no: list[str]
) -> None:
    may = who_may_ask(networks, HERE[0], sealed=sealed)
    assert [host for host in (*yes, *no) if may((host, 1))] == yes


def test_an_address_is_this_machines_own_or_it_is_not() -> None:
    assert is_own("127.0.0.1")
    assert not is_own("203.0.113.7")


def test_a_member_that_is_reached_elsewhere_takes_only_loopback_for_its_machine() -> None:
    may = who_may_ask(None, None, sealed=False)
    assert [host for host in ("127.0.0.1", HERE[0]) if may((host, 1))] == ["127.0.0.1"]


def test_what_is_no_network_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"ask= names what is no network: '10/33'"):
        who_may_ask(["10/33"], None, sealed=False)
    with pytest.raises(ConfigError, match=r"ask is '10\.0\.0\.0/8'; give a list of networks"):
        who_may_ask("10.0.0.0/8", None, sealed=False)


def test_who_may_not_ask_is_told_so_and_counted() -> None:
    desk = desk_that_tells()
    asker = asked(desk, STRANGER)
    assert asker.refusal == "does not allow this process to ask; see ask= there"
    assert asker.answer is None
    assert desk.counters == {"ask.not_allowed": 1}
    (dropped,) = desk.poll_dropped()
    assert (dropped.reason, dropped.sender) == ("ask.not_allowed", STRANGER)


def test_who_asks_with_another_version_is_told_so() -> None:
    desk = desk_that_tells()
    ask = wire.made(wire.ASK, 7)
    other = summed(ask[:2] + b"\2" + ask[3:])
    (refusal,) = told(desk, other, OPERATOR)
    assert len(refusal) < len(ask)
    assert desk.counters == {"ask.wrong_version": 1}
    # Who asks reads it as one of another version, since its own is another one.
    asker = Asker(7)
    asker.take(summed(refusal[:2] + b"\2" + refusal[3:]))
    assert "speaks another version of the protocol (version 2 of a question" in asker.refusal
    # A refusal is never answered, so two versions do not talk for ever.
    assert told(desk, summed(refusal[:2] + b"\2" + refusal[3:] + bytes(200)), OPERATOR) == []


def test_what_answers_another_question_is_not_taken() -> None:
    asker = Asker(7)
    for data in (
        wire.made(wire.ANSWER, 8, 0, b"lies"),
        wire.made(wire.REFUSED, 8, wire.NOT_ALLOWED),
        wire.made(wire.COOKIE, 8, 9),
        summed(b"RA\2" + wire.made(wire.REFUSED, 8)[3:]),
        b"RA",
    ):
        assert not asker.take(data)
    assert not asker.over
    assert wire.read(asker.datagram()).number == 0


# ------------------------------------------------------------------ how much


def test_answers_and_hints_are_bounded_in_a_second_and_the_rest_is_counted() -> None:
    desk = desk_that_tells()
    (cookie,) = told(desk, wire.made(wire.ASK, 7), OPERATOR)
    proved = wire.made(wire.ASK, 7, wire.read(cookie).number)

    for second in (10.0, 11.0):
        answers = sum(bool(told(desk, proved, OPERATOR, second)) for _ in range(1000))
        cookies = [told(desk, wire.made(wire.ASK, n), OPERATOR, second) for n in range(1000)]
        refused = [told(desk, wire.made(wire.ASK, n), STRANGER, second) for n in range(1000)]
        assert answers == ANSWERS
        assert sum(map(bool, (*cookies, *refused))) == HINTS

    assert desk.counters["ask.answered"] == 2 * ANSWERS
    assert desk.counters["ask.too_often"] == 2 * (1000 - ANSWERS + 1000 - HINTS)
    assert desk.counters["ask.not_allowed"] == 2000
    reports = desk.poll_dropped()  # one for each reason and second
    assert sorted(report.reason for report in reports) == sorted(
        2 * ["ask.too_often", "ask.not_allowed"]
    )


def hostile(lots: Random) -> Iterator[bytes]:
    """Datagrams of questions: well-formed ones, damaged ones, and bytes that only begin so."""
    while True:
        data = bytearray(question(lots))
        how = lots.random()
        if how < 0.2:
            data = bytearray(wire.MAGIC + lots.randbytes(lots.choice((0, 1, 22, 126, 1500))))
        elif how < 0.6:
            data[lots.randrange(2, len(data))] = lots.randrange(256)
        yield summed(bytes(data)) if lots.random() < 0.7 and len(data) > 8 else bytes(data)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 1 << 32))
def test_whatever_comes_nothing_raises_and_nobody_gets_more_than_it_sent(seed: int) -> None:
    lots = Random(seed)
    desk = desk_that_tells(bytes(1000), "0.0.0.0/1")  # half of the world may ask
    sent = dict.fromkeys([("1.1.1.1", 1), ("200.1.1.1", 1)], 0)
    got = dict(sent)
    source = hostile(lots)
    for step in range(200):
        endpoint, data = lots.choice(list(sent)), next(source)
        desk.receive(data, endpoint, step / 50)
        sent[endpoint] += len(data)
        for answer, to in desk.poll_datagrams():
            assert to == endpoint
            got[to] += len(answer)
        assert got[endpoint] <= sent[endpoint]
    assert not desk.counters["ask.answered"]
    kept = {"truncated", "corrupted", "malformed", "wrong_version", "unasked", "not_allowed"}
    assert set(desk.counters) <= {f"ask.{reason}" for reason in (*kept, "too_often")}


def test_an_unproved_answer_is_noticed_by_this_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """A desk that believes every cookie sends more than it got."""
    desk = desk_that_tells()
    monkeypatch.setattr(Desk, "_cookies_of", lambda *_: range(1 << 63))
    ask = wire.made(wire.ASK, 1)
    assert sum(map(len, told(desk, ask, OPERATOR))) > len(ask)
