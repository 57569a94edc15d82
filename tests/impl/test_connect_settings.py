"""The keyword arguments of `connect`: those that there are, and no others in silence."""

import asyncio
from dataclasses import fields
from typing import Any, get_type_hints

import pytest

from raincheck.impl.aio.channel import Channel
from raincheck.impl.aio.connect import ChannelConfig, ChannelSettings
from raincheck.impl.aio.ring import Ring
from raincheck.impl.aio.ring_connect import RingKeywords, RingSettings
from raincheck.impl.errors import ConfigError
from raincheck.impl.stack.config import StackConfig


@pytest.mark.parametrize(
    ("keywords", "settings", "positional"),
    [(ChannelSettings, ChannelConfig, "cluster"), (RingKeywords, RingSettings, "ring")],
)
def test_keywords_and_settings_are_the_same(keywords: Any, settings: Any, positional: str) -> None:
    hints = get_type_hints(settings)
    expected = {each.name: hints[each.name] for each in fields(settings)}
    del expected[positional]
    assert get_type_hints(keywords) == expected


@pytest.mark.parametrize("connect", [Channel.connect, Ring.connect])
def test_a_keyword_that_does_not_exist_is_refused_at_the_call(connect: Any) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'bin'"):
        connect("test", bin="127.0.0.1:0")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {name: value},
            f"{name} is {value!r}, and only groups with primary='majority' go by it; give "
            f"primary=, or leave {name}= out",
        )
        for name, value in (
            ("expected_votes", 0),
            ("votes", 1),
            ("tie_breaker", True),
            ("found", False),
            ("primary_timeout", 10.0),
        )
    ]
    + [
        (
            {"stack": {}},
            "stack is {}; give a StackConfig, as in stack=StackConfig(max_bundle=9000)",
        ),
        (
            {"stack": StackConfig(initial_hosts=(("10.0.0.1", 7000),))},
            "stack= has initial_hosts=(('10.0.0.1', 7000),), which connect fills in from its other "
            "arguments; leave it out of the StackConfig",
        ),
        (
            {"group": "239.1.1.1:4000", "transport": "tcp"},
            "group is '239.1.1.1:4000', and transport 'tcp' has no IP group; give "
            "transport='multicast', or leave group= out",
        ),
    ],
    ids=str,
)
def test_an_argument_that_another_one_leaves_without_effect_is_refused_at_the_call(
    settings: Any, sentence: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        Channel.connect("test", **settings)
    assert str(refused.value) == sentence


def test_what_a_stack_has_counts_for_what_is_given_beside_it() -> None:
    stack = StackConfig(primary="majority", expected_votes=3, on_merge="callback")
    assert ChannelConfig(cluster="test", votes=1, primary_timeout=2.0, stack=stack).patience == 2.0


def test_datagrams_cannot_be_left_unencrypted_without_a_key() -> None:
    with pytest.raises(ConfigError, match="encrypt is False, and there is no key"):
        asyncio.run(ChannelConfig(cluster="test", encrypt=False, key=[]).open_transport())
