"""The keyword arguments that type checkers and editors know are those that there are."""

from dataclasses import fields
from typing import Any, get_type_hints

import pytest

from raincheck.impl.aio.channel import Channel
from raincheck.impl.aio.connect import ChannelConfig, ChannelSettings
from raincheck.impl.aio.ring import Ring
from raincheck.impl.aio.ring_connect import RingKeywords, RingSettings


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
