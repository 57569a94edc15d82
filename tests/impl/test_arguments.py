"""Arguments of another kind, and those without effect: each is refused at the call that has it."""

from __future__ import annotations

import asyncio
import collections.abc
import inspect
import math
import socket
from collections.abc import Callable
from dataclasses import dataclass, fields
from decimal import Decimal
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

import raincheck
from raincheck.conformance.errors import UsageError
from raincheck.impl.aio import connect, ring_connect
from raincheck.impl.aio.events import Request
from raincheck.impl.arguments import check, kinds_of, shown_value
from raincheck.impl.errors import ArgumentError, ConfigError
from raincheck.impl.simulation.loop import SimulatedNetwork, run
from raincheck.impl.simulation.members import SimulatedChannel, SimulatedRing

Settings = type[Any]
CHANNEL, STACK = raincheck.ChannelConfig, raincheck.StackConfig
RING, RING_TIMES = raincheck.RingSettings, raincheck.RingConfig
NEEDED: dict[Settings, dict[str, Any]] = {
    CHANNEL: {"cluster": "test"},
    RING: {"ring": "test"},
    STACK: {},
    RING_TIMES: {},
}
"""The classes of settings, and what each cannot do without."""
EACH_SETTING = [
    pytest.param(settings, each.name, id=f"{settings.__name__}.{each.name}")
    for settings in NEEDED
    for each in fields(settings)
]
SECRET = b"not for anybody to see"


class Mute:
    """A value that cannot be shown."""

    def __repr__(self) -> str:
        raise OSError("no")


ODD: list[Any] = [
    None, True, False, 0, 1, -1, 7, 10**400, -(1 << 70), 1.5, 0.0, -0.5, math.nan, math.inf,
    -math.inf, Decimal(1), 1j, "", "x", "5", " ", "a\0b", "a\nb", "\ud800", "1" * 5000,
    "127.0.0.1:7001", "h:" + "9" * 5000, b"", b"x", SECRET, bytearray(b"x"), [], (), {}, set(),
    [5], [None], ["\ud800"], [b"x"], ["x", 5], ("127.0.0.1", 7001), ("127.0.0.1", True), (5, 7001),
    ("h",), [["x"]], {"x": 1}, object(), object, len, Mute(), STACK(), RING_TIMES(),
    raincheck.Address("b", 1), raincheck.Address("b", []),  # type: ignore[arg-type]
    raincheck.Address(5, 0),  # type: ignore[arg-type]
]  # fmt: skip


def conforms(hint: Any, value: Any) -> bool:
    """Whether a value is of an annotated type, told from the annotation alone."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(conforms(each, value) for each in inner)
    if origin is Literal:
        return isinstance(value, str) and value in inner
    if origin is collections.abc.Callable:
        return callable(value)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        each = [inner[0]] * len(value) if inner[-1] is Ellipsis else inner
        return len(value) == len(each) and all(map(conforms, each, value))
    if origin in (list, collections.abc.Sequence, collections.abc.Iterable):
        kind = collections.abc.Sequence if origin is list else origin
        texts = str | bytes | bytearray | raincheck.Address
        plain = isinstance(value, kind) and not isinstance(value, texts)
        return plain and all(conforms(inner[0], each) for each in value)
    if hint in (int, float):
        numbers = int if hint is int else int | float
        number = isinstance(value, numbers) and not isinstance(value, bool)
        return number and (hint is int or is_finite(value))
    if hint is bytes:
        return isinstance(value, bytes | bytearray)
    if hint is raincheck.Address:
        return isinstance(value, hint) and conforms(str, value.node) and conforms(int, value[1])
    return isinstance(value, NoneType if hint is None else hint)


def is_finite(value: float) -> bool:
    """Whether a number is below the largest float."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def assert_sentence(problem: BaseException, name: str) -> None:
    """One line that names the argument, is not too long, and shows no key."""
    said = str(problem)
    assert "\n" not in said, said
    assert len(said) < 400, said
    assert name in said, said
    assert SECRET.decode() not in said or name != "key"
    assert any(mark in said.removeprefix(name) for mark in (";", ":", ",", " must ")), said


# ------------------------------------------------------------------ settings


@pytest.mark.parametrize(("settings", "name"), EACH_SETTING)
def test_a_setting_of_another_kind_is_refused_in_one_sentence(
    settings: Settings, name: str
) -> None:
    hint, refused = get_type_hints(settings)[name], 0
    for value in ODD:
        try:
            settings(**{**NEEDED[settings], name: value})
        except ConfigError as problem:
            refused += 1
            said = {"initial_hosts": "initial", "join": "", "members": ""}.get(name, name)
            assert_sentence(problem, said)
        else:
            assert conforms(hint, value), f"{name}={value!r} is taken, and is no {hint}"
    assert refused > 20


@pytest.mark.parametrize(("settings", "name"), EACH_SETTING)
def test_each_setting_has_a_kind_to_which_its_default_belongs(
    settings: Settings, name: str
) -> None:
    made = settings(**NEEDED[settings])
    kind = kinds_of(settings)[name]
    check(name, getattr(made, name), kind)
    assert not kind.fits(Mute())


def test_a_setting_without_a_kind_is_noticed() -> None:
    @dataclass
    class Forgotten:
        timeout: float = 1.0

    with pytest.raises(TypeError, match="the setting timeout has no kind"):
        kinds_of(Forgotten)


def test_long_values_and_those_that_cannot_be_shown_are_not() -> None:
    assert shown_value("x" * 500) == f"'{'x' * 79}..."
    assert shown_value(Mute()) == "a value of type Mute"
    assert shown_value(10**5000) == "a value of type int"


class Opened(Exception):
    """A socket, or the file of a ring's state, would be opened: the arguments were taken."""


async def outcome(call: Callable[[], Any]) -> BaseException:
    """What becomes of a call of `connect` on a machine without sockets."""
    no_more = {"side_effect": Opened}
    with (
        patch.object(socket, "socket", **no_more),
        patch.object(connect, "UdpTransport", **no_more),
        patch.object(connect, "MulticastTransport", **no_more),
        patch.object(connect, "TcpTransport", **no_more),
        patch.object(ring_connect, "UdpTransport", **no_more),
        patch.object(ring_connect, "StateFile", **no_more),
        patch.dict("os.environ", clear=True),
    ):
        try:
            await call()
        except Exception as problem:  # noqa: BLE001 (which one is what is tested)
            return problem
    raise AssertionError("it has connected")


odd_values = st.one_of(
    st.sampled_from(ODD),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.tuples(inner, inner)
            | st.dictionaries(st.text(max_size=3), inner, max_size=2)
        ),
        max_leaves=4,
    ),
)


@given(st.data())
def test_a_channel_with_any_odd_value_connects_or_is_refused_before_a_socket_is_opened(
    data: st.DataObject,
) -> None:
    name = data.draw(st.sampled_from([each.name for each in fields(CHANNEL)]))
    given = {"cluster": "test", name: data.draw(odd_values)}
    found = run(outcome(lambda: raincheck.Channel.connect(**given)))
    assert isinstance(found, ConfigError | Opened), repr(found)


@given(st.data())
def test_a_ring_with_any_odd_value_connects_or_is_refused_before_a_socket_is_opened(
    data: st.DataObject,
) -> None:
    name = data.draw(st.sampled_from([each.name for each in fields(RING)]))
    given = {"ring": "test", name: data.draw(odd_values)}
    found = run(outcome(lambda: raincheck.Ring.connect(**given)))
    assert isinstance(found, ConfigError | Opened), repr(found)


@given(st.data())
def test_a_question_with_any_odd_value_is_asked_or_refused(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(list(inspect.signature(raincheck.ask).parameters)))
    given = {"at": "127.0.0.1:7001", name: data.draw(odd_values)}
    found = run(outcome(lambda: raincheck.ask(**given)))
    assert isinstance(found, ConfigError | Opened), repr(found)


# ------------------------------------------------------------------ without effect


def nothing() -> None:
    """A function of the application."""


WITHOUT_EFFECT: dict[Settings, dict[str, list[dict[str, Any]]]] = {
    STACK: {
        "desired_avg_gossip": [
            {"desired_avg_gossip": 0.3},
            {"desired_avg_gossip": 0.3, "stability": "gossip", "gossip_interval": 1.0},
        ],
        "gossip_interval": [{"gossip_interval": 1.0}],
        "gossip_fanout": [{"gossip_fanout": 3}],
        "gossip_delay": [{"gossip_delay": 0.03}],
        "stable_period": [{"stable_period": 0.6, "stability": "gossip"}],
        "repair": [{"repair": "gossip"}],
        "expected_votes": [{"expected_votes": 3}],
        "votes": [{"votes": 2}],
        "tie_breaker": [{"tie_breaker": False}],
        "found": [{"found": True}],
    },
    CHANNEL: {
        "group": [{"group": "239.1.1.1:7000"}, {"group": "239.1.1.1:7000", "transport": "tcp"}],
        "advertise": [{"advertise": "10.0.0.5:7001", "transport": "multicast"}],
        "run": [{"run": "another"}],
        "nodes": [{"nodes": ["a", "b"]}],
        "encrypt": [{"encrypt": False, "key": []}],
        "repair": [{"repair": "gossip"}],
        "expected_votes": [{"expected_votes": 3}],
        "votes": [{"votes": 1}],
        "tie_breaker": [{"tie_breaker": True}],
        "found": [{"found": False}],
        "primary_timeout": [{"primary_timeout": 10.0}],
        "admit": [{"admit": ["10.0.0.0/8"], "stack": STACK(admit=["10.1.0.0/16"])}],
        "order": [{"order": "sequencer", "stack": STACK(order="total")}],
        "delivery": [{"delivery": "agreed", "stack": STACK(delivery="safe")}],
        "stability": [
            {"stability": "votes", "stack": STACK(stability="gossip")},
            {"stability": "gossip", "stack": STACK(stable_period=0.6)},
        ],
        "on_merge": [{"on_merge": "leave", "stack": STACK(on_merge="callback")}],
        "stack": [
            {"stack": STACK(cluster="another")},
            {"stack": STACK(initial_hosts=(("10.0.0.1", 7000),))},
            {"stack": STACK(discovery=True)},
            {"stack": STACK(sums=False)},
        ],
    },
    RING: {
        "sync": [{"sync": True}],
        "run": [{"run": "another"}],
        "nodes": [{"nodes": ["a", "b"]}],
        "recovery": [{"recovery": "fast", "config": RING_TIMES(hungry=3.0)}],
        "encrypt": [{"encrypt": False, "key": []}],
        "found": [{"found": True}],
        "join": [{"join": ["10.0.0.1:7000"], "members": ["a@10.0.0.1:7000"], "name": "a"}],
        "config": [
            {"config": RING_TIMES(ring="another")},
            {"config": RING_TIMES(identity="another")},
            {"config": RING_TIMES(sums=False)},
        ],
    },
    RING_TIMES: {},
}
"""What has no effect beside the rest: each is refused."""

BY_ITSELF: dict[Settings, str] = {
    STACK: "cluster initial_hosts discovery join_timeout join_interval on_merge order delivery "
    "stability primary admit joins_per_minute sums max_bundle max_message send_buffer credit "
    "credit_messages unicast_window unicast_window_bytes multicast_window multicast_window_bytes "
    "retain_window retain_bytes state_window state_timeout flush_timeout application_timeout "
    "open_latch_after ack_delay retransmit_after retransmit_max nak_delay stable_bytes "
    "stable_delay heartbeat suspect_after verify_after",
    CHANNEL: "cluster name incarnation transport bind initial_hosts timeout leave_timeout ask "
    "inbox trace seed block unblock on_call discard_own get_state set_state key rejoin primary",
    RING: "ring name incarnation bind advertise members state_file timeout leave_timeout inbox "
    "trace admit ask clients key repairs on_node",
    RING_TIMES: "ring identity eating hungry starving retransmit_after retransmit_max give_up "
    "give_up_again hello max_members sums joins_per_minute max_datagram send_buffer",
}
"""What has an effect whatever the rest is, or says itself for whom it has none."""


@pytest.mark.parametrize("settings", NEEDED)
def test_of_each_setting_it_is_known_whether_it_has_an_effect_by_itself(settings: Settings) -> None:
    known = [*BY_ITSELF[settings].split(), *WITHOUT_EFFECT[settings]]
    assert sorted(known) == sorted(each.name for each in fields(settings))


@pytest.mark.parametrize(
    ("settings", "name", "values"),
    [
        pytest.param(settings, name, each, id=f"{settings.__name__}-{name}-{at}")
        for settings, table in WITHOUT_EFFECT.items()
        for name, values in table.items()
        for at, each in enumerate(values)
    ],
)
def test_a_setting_without_effect_is_refused_in_one_sentence(
    settings: Settings, name: str, values: dict[str, Any]
) -> None:
    async def configure() -> Any:
        if settings is CHANNEL:
            return await raincheck.Channel.connect("test", **values)
        if settings is RING:
            return await raincheck.Ring.connect("test", **values)
        return settings(**values)

    problem = run(outcome(configure))

    assert isinstance(problem, ConfigError), repr(problem)
    assert_sentence(problem, name)


def test_settings_that_are_equal_in_both_places_and_those_of_a_preset_are_taken() -> None:
    both = STACK(order="total", admit=["10.0.0.0/8"])
    assert CHANNEL(cluster="test", order="total", admit=["10.0.0.0/8"], stack=both).stack is both
    wan = STACK.preset("wan")
    assert CHANNEL(cluster="test", stability="gossip", stack=wan).stack is wan
    assert STACK.preset("wan", stability="gossip", gossip_interval=1.0).gossip_delay == 0.2
    assert STACK(stability="gossip", order="total", stable_period=0.6).stable_period == 0.6


# ------------------------------------------------------------------ calls


def odd_for(call: Callable[..., Any], name: str) -> list[Any]:
    """The values that are not of the annotated type of a parameter; one property is a text."""
    hint = get_type_hints(call)[name]
    odd = [value for value in ODD if not conforms(hint, value)]
    return [value for value in odd if name != "properties" or not isinstance(value, str)]


CHANNEL_CALLS: dict[str, dict[str, Any]] = {
    "send": {"payload": b"x", "to": None, "order": "total", "timeout": 1.0},
    "send_many": {"payloads": [b"x"], "order": "none", "timeout": 1.0},
    "call": {"payload": b"x", "to": None, "timeout": 1.0},
    "drain": {"timeout": 1.0},
    "leave": {"timeout": 1.0},
    "fetch_state": {"timeout": 1.0},
    "wait_for_members": {"count": 1, "timeout": 1.0},
    "wait_for_primary": {"timeout": 1.0},
    "change_key": {"key": None},
    "connecting": {"config": None},
}
RING_CALLS: dict[str, dict[str, Any]] = {
    "multicast": {"payload": b"x", "timeout": 1.0},
    "drain": {"timeout": 1.0},
    "leave": {"timeout": 1.0},
    "close": {"timeout": 1.0},
    "token": {"timeout": 1.0},
    "lock": {"name": "x", "timeout": 1.0, "on_lost": None},
    "read_lock": {"name": "x", "timeout": 1.0, "on_lost": None},
    "election": {"name": "x", "timeout": 1.0, "on_lost": None},
    "barrier": {"name": "x", "parties": 1},
    "wait_for_members": {"count": 1, "timeout": 1.0},
    "change_key": {"key": None},
    "connecting": {"settings": None},
}
CLIENT_CALLS: dict[str, dict[str, Any]] = {
    name: RING_CALLS[name] for name in ("lock", "read_lock", "election")
}
CLIENT_CONNECT: dict[str, dict[str, Any]] = {
    "connect": {
        **{"ring": "x", "members": ["127.0.0.1:7001"], "bind": None, "key": None},
        **{"encrypt": True, "timeout": 1.0},
    }
}
LOCK_CALLS: dict[str, dict[str, Any]] = {"acquire": {"timeout": 1.0}}
REQUEST_CALLS: dict[str, dict[str, Any]] = {"reply": {"payload": b""}, "refuse": {"reason": ""}}
LOG_CALLS: dict[str, dict[str, Any]] = {
    "sent": {"sender": "a", "message": 1, "view": 1},
    "delivered": {"member": "a", "sender": "a", "message": 1, "view": 1},
    "installed": {"member": "a", "view": 1, "members": ["a"]},
    "took_state": {"member": "a", "provider": "a", "view": 1},
    "crashed": {"member": "a"},
    "judge": {"properties": (), "complete": False},
}
VARIADIC = {"connect": "settings", "ended": "members"}


@pytest.mark.parametrize(
    ("of", "calls"),
    [
        (raincheck.Channel, CHANNEL_CALLS),
        (raincheck.Ring, RING_CALLS),
        (raincheck.NamedLock, LOCK_CALLS),
        (raincheck.RingClient, CLIENT_CALLS),
        (Request, REQUEST_CALLS),
        (raincheck.DeliveryLog, LOG_CALLS),
    ],
)
def test_no_parameter_of_a_public_call_is_forgotten(
    of: type, calls: dict[str, dict[str, Any]]
) -> None:
    there = {
        name: {each for each in inspect.signature(call).parameters if each != "self"}
        for name, call in inspect.getmembers(of, inspect.isfunction)
        if not name.startswith("_") and name not in VARIADIC
    }
    expected = {name: set(parameters) for name, parameters in calls.items()}
    assert {name: names for name, names in there.items() if names} == expected


async def refused(of: object, calls: dict[str, dict[str, Any]], *kinds: type[Exception]) -> None:
    """Give each call each odd value for each of its parameters: it raises one of these."""
    for name, good in calls.items():
        call = getattr(of, name)
        for parameter in good:
            values = odd_for(call, parameter)
            assert len(values) > 20
            for value in values:
                problem = await raised(call, {**good, parameter: value})
                assert isinstance(problem, kinds), f"{name} of {parameter}={value!r}: {problem!r}"
                assert_sentence(problem, "" if parameter in ("payload", "payloads") else parameter)


async def raised(call: Callable[..., Any], arguments: dict[str, Any]) -> BaseException | None:
    """What a call raises, at once or when it is awaited."""
    try:
        done = call(**arguments)
        if inspect.isawaitable(done):
            await done
    except Exception as problem:  # noqa: BLE001 (which one is what is tested)
        return problem
    return None


def test_a_call_of_a_channel_refuses_an_argument_of_another_kind_and_does_nothing() -> None:
    async def scenario() -> None:
        config = SimulatedChannel(
            cluster="test", bind=("10.0.0.1", 7000), network=SimulatedNetwork(),
            stack=STACK(join_timeout=0.1), get_state=lambda: b"", set_state=taken,
            on_call=lambda request: request.payload,
        )  # fmt: skip
        async with raincheck.Channel.connecting(config) as channel:
            await channel.send(b"before")
            await refused(channel, CHANNEL_CALLS, ArgumentError, ConfigError)
            for hook in ("on_view", "on_excluded", "on_primary"):
                await refuses_hooks(channel, hook)
            await channel.send(b"after", timeout=1)
            await channel.drain(timeout=1)
            assert [(await anext(channel)).payload for _ in range(2)] == [b"before", b"after"]

    run(scenario())


def test_a_call_of_a_ring_refuses_an_argument_of_another_kind_and_does_nothing() -> None:
    async def scenario() -> None:
        settings = SimulatedRing(ring="test", bind=("10.0.0.1", 7000), network=SimulatedNetwork())
        async with raincheck.Ring.connecting(settings) as ring:
            await refused(ring, RING_CALLS, ArgumentError, ConfigError)
            await refused(ring.lock("x"), LOCK_CALLS, ArgumentError)
            assert ring.node.locks.pending is False
            await refuses_hooks(ring, "on_view")
            async with ring.token(timeout=5):
                await ring.multicast(b"after", timeout=1)
            assert (await anext(ring)).payload == b"after"

    run(scenario())


def test_a_client_refuses_an_argument_of_another_kind() -> None:
    asyncio.run(refused(raincheck.RingClient, CLIENT_CONNECT, ConfigError))


async def taken(chunks: Any) -> None:
    """Take a state."""
    async for _ in chunks:
        pass


async def refuses_hooks(member: Any, name: str) -> None:
    """Only functions and None can be set."""
    for value in ODD:
        if value is not None and not callable(value):
            with pytest.raises(ArgumentError, match=name):
                setattr(member, name, value)
    with pytest.raises(ArgumentError, match="not async"):
        setattr(member, name, taken)
    assert getattr(member, name) is None
    setattr(member, name, nothing)
    assert getattr(member, name) is nothing
    setattr(member, name, None)


def test_a_function_whose_result_nobody_awaits_is_refused_if_it_is_async() -> None:
    class Asks:
        async def __call__(self, *_: object) -> bool:
            return False

    async def scenario() -> None:
        settings = SimulatedRing(ring="test", bind=("10.0.0.1", 7000), network=SimulatedNetwork())
        async with raincheck.Ring.connecting(settings) as ring:
            for take in (ring.lock, ring.read_lock, ring.election):
                with pytest.raises(ArgumentError, match=r"on_lost is .* not async"):
                    take("x", on_lost=taken)

    run(scenario())
    for admit in (taken, Asks()):  # what it returns, a coroutine, would count as True
        for connects in (raincheck.Ring.connect, raincheck.Channel.connect):
            with pytest.raises(ConfigError, match=r"admit is .* not async"):
                connects("test", admit=admit)  # type: ignore[operator]


def test_a_time_out_below_0_is_over_at_once() -> None:
    async def scenario() -> None:
        settings = SimulatedRing(ring="test", bind=("10.0.0.1", 7000), network=SimulatedNetwork())
        async with raincheck.Ring.connecting(settings) as ring:
            began = asyncio.get_running_loop().time()
            with pytest.raises(raincheck.WaitTimeout):
                await ring.wait_for_members(2, timeout=-1)
            assert asyncio.get_running_loop().time() - began < 0.01

    run(scenario())


def test_an_answer_of_another_kind_is_refused_and_can_be_given_again() -> None:
    answers: list[bytes] = []
    asked: Any = SimpleNamespace(sender=raincheck.Address("a", 0), payload=b"", view=1)
    asked.unicast = True
    request = Request(asked, lambda payload, _: answers.append(payload))

    asyncio.run(refused(request, REQUEST_CALLS, ArgumentError))
    request.reply(b"an answer")

    assert answers == [b"an answer"]


def test_a_delivery_log_refuses_what_is_no_row_and_notes_nothing() -> None:
    log = raincheck.DeliveryLog()
    asyncio.run(refused(log, LOG_CALLS, UsageError))
    for value in odd_for(raincheck.DeliveryLog.sent, "sender"):
        with pytest.raises(UsageError, match="member is"):
            log.ended(value)
    assert log.rows == []


def test_judge_refuses_what_are_no_rows() -> None:
    for value in ("rows", b"rows", 5, None, 1.5, {"member": "a"}, object()):
        with pytest.raises(UsageError, match=r"rows is .*; give a list of rows"):
            raincheck.judge(value)  # type: ignore[arg-type]
    for name in ("properties", "complete"):
        for value in odd_for(raincheck.judge, name):
            odd: dict[str, Any] = {name: value}
            with pytest.raises(UsageError, match=f"{name} is"):
                raincheck.judge([], **odd)


def test_a_set_state_that_is_no_coroutine_function_is_said() -> None:
    async def scenario() -> None:
        network = SimulatedNetwork()

        def member(number: int, **about: Any) -> SimulatedChannel:
            return SimulatedChannel(
                cluster="test", bind=(f"10.0.0.{number}", 7000), network=network,
                initial_hosts=[("10.0.0.1", 7000)], get_state=lambda: b"state", **about,
            )  # fmt: skip

        def plain(chunks: Any) -> None:
            del chunks

        async with raincheck.Channel.connecting(member(1)):
            with pytest.raises(raincheck.StateNotTransferred, match="no coroutine function"):
                await raincheck.Channel.connecting(member(2, set_state=plain))

    run(scenario())
