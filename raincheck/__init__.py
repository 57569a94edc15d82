"""Formally checked group communication: totally ordered multicast and membership.

    import raincheck

    async with raincheck.Channel.connect("orders", bind="127.0.0.1:7001") as channel:
        await channel.send(b"hello")
        async for message in channel:
            print(message.sender, message.payload)

The names below are loaded when first used, so that `raincheck check` need not import a channel,
and a channel imports nothing of the checkers.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raincheck.impl.channel import Channel as Channel
    from raincheck.impl.connect import ChannelConfig as ChannelConfig
    from raincheck.impl.errors import ConfigError as ConfigError
    from raincheck.impl.errors import MessageTooLarge as MessageTooLarge
    from raincheck.impl.errors import NotMember as NotMember
    from raincheck.impl.errors import RaincheckError as RaincheckError
    from raincheck.impl.errors import WaitTimeout as WaitTimeout
    from raincheck.impl.messages import Address as Address
    from raincheck.impl.messages import Batch as Batch
    from raincheck.impl.messages import Digest as Digest
    from raincheck.impl.messages import Message as Message
    from raincheck.impl.messages import View as View
    from raincheck.impl.messages import ViewId as ViewId
    from raincheck.impl.ring import Ring as Ring
    from raincheck.impl.ring_config import RingConfig as RingConfig
    from raincheck.impl.ring_connect import RingSettings as RingSettings
    from raincheck.impl.ring_fence import Fence as Fence
    from raincheck.impl.ring_fence import FenceKey as FenceKey
    from raincheck.impl.ring_fence import TokenLost as TokenLost
    from raincheck.impl.ring_views import RingView as RingView
    from raincheck.impl.stack_config import StackConfig as StackConfig
    from raincheck.impl.state_desk import StateInterrupted as StateInterrupted
    from raincheck.impl.state_desk import StateNotTransferred as StateNotTransferred

__version__ = "0.1.0"

_HOME = {
    "Channel": "channel",
    "ChannelConfig": "connect",
    "ConfigError": "errors",
    "MessageTooLarge": "errors",
    "NotMember": "errors",
    "RaincheckError": "errors",
    "WaitTimeout": "errors",
    "Address": "messages",
    "Batch": "messages",
    "Digest": "messages",
    "Message": "messages",
    "View": "messages",
    "ViewId": "messages",
    "Ring": "ring",
    "RingConfig": "ring_config",
    "RingSettings": "ring_connect",
    "Fence": "ring_fence",
    "FenceKey": "ring_fence",
    "TokenLost": "ring_fence",
    "RingView": "ring_views",
    "StackConfig": "stack_config",
    "StateInterrupted": "state_desk",
    "StateNotTransferred": "state_desk",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    """Load a public name from the module it lives in."""
    if name not in _HOME:
        raise AttributeError(f"module 'raincheck' has no attribute {name!r}")
    value = getattr(import_module(f"raincheck.impl.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted([*_HOME, *globals()])
