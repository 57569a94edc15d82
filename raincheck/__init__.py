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
    from raincheck.conformance.deliveries.judge import DeliveryLog as DeliveryLog
    from raincheck.conformance.deliveries.judge import judge as judge
    from raincheck.conformance.deliveries.judge import judge_logs as judge_logs
    from raincheck.conformance.deliveries.properties import Verdicts as Verdicts
    from raincheck.impl.aio.ask import ask as ask
    from raincheck.impl.aio.barrier import Barrier as Barrier
    from raincheck.impl.aio.channel import Channel as Channel
    from raincheck.impl.aio.connect import ChannelConfig as ChannelConfig
    from raincheck.impl.aio.election import Election as Election
    from raincheck.impl.aio.events import Blocked as Blocked
    from raincheck.impl.aio.events import Excluded as Excluded
    from raincheck.impl.aio.events import Request as Request
    from raincheck.impl.aio.events import Unblocked as Unblocked
    from raincheck.impl.aio.events import ViewChange as ViewChange
    from raincheck.impl.aio.metrics import Metrics as Metrics
    from raincheck.impl.aio.metrics import RingMetrics as RingMetrics
    from raincheck.impl.aio.named_lock import NamedLock as NamedLock
    from raincheck.impl.aio.ring import Ring as Ring
    from raincheck.impl.aio.ring_client import RingClient as RingClient
    from raincheck.impl.aio.ring_connect import RingSettings as RingSettings
    from raincheck.impl.aio.state_callbacks import StateInterrupted as StateInterrupted
    from raincheck.impl.aio.state_callbacks import StateNotTransferred as StateNotTransferred
    from raincheck.impl.aio.status import PastView as PastView
    from raincheck.impl.aio.status import Status as Status
    from raincheck.impl.errors import ArgumentError as ArgumentError
    from raincheck.impl.errors import AskRefused as AskRefused
    from raincheck.impl.errors import CallFailed as CallFailed
    from raincheck.impl.errors import ConfigError as ConfigError
    from raincheck.impl.errors import LockMisused as LockMisused
    from raincheck.impl.errors import LocksFull as LocksFull
    from raincheck.impl.errors import MessageTooLarge as MessageTooLarge
    from raincheck.impl.errors import Misused as Misused
    from raincheck.impl.errors import NotInView as NotInView
    from raincheck.impl.errors import NotMember as NotMember
    from raincheck.impl.errors import NotPrimary as NotPrimary
    from raincheck.impl.errors import RaincheckError as RaincheckError
    from raincheck.impl.errors import WaitTimeout as WaitTimeout
    from raincheck.impl.errors import WouldBlock as WouldBlock
    from raincheck.impl.messages import Address as Address
    from raincheck.impl.messages import Batch as Batch
    from raincheck.impl.messages import Digest as Digest
    from raincheck.impl.messages import MergeView as MergeView
    from raincheck.impl.messages import Message as Message
    from raincheck.impl.messages import View as View
    from raincheck.impl.messages import ViewId as ViewId
    from raincheck.impl.ring.config import RingConfig as RingConfig
    from raincheck.impl.ring.fence import Fence as Fence
    from raincheck.impl.ring.fence import FenceKey as FenceKey
    from raincheck.impl.ring.fence import Leader as Leader
    from raincheck.impl.ring.fence import LockFence as LockFence
    from raincheck.impl.ring.fence import LockKey as LockKey
    from raincheck.impl.ring.fence import LockLost as LockLost
    from raincheck.impl.ring.fence import TokenLost as TokenLost
    from raincheck.impl.ring.views import RingView as RingView
    from raincheck.impl.stack.calls import Replies as Replies
    from raincheck.impl.stack.config import StackConfig as StackConfig
    from raincheck.impl.stack.reports import PrimaryChange as PrimaryChange
    from raincheck.impl.sync.locks import SyncBarrier as SyncBarrier
    from raincheck.impl.sync.locks import SyncElection as SyncElection
    from raincheck.impl.sync.locks import SyncLock as SyncLock
    from raincheck.impl.sync.ring import SyncClient as SyncClient
    from raincheck.impl.sync.ring import SyncRing as SyncRing

__version__ = "0.1.0"

_HOME = {
    "Channel": "aio.channel",
    "ChannelConfig": "aio.connect",
    "ArgumentError": "errors",
    "ConfigError": "errors",
    "MessageTooLarge": "errors",
    "Misused": "errors",
    "NotMember": "errors",
    "RaincheckError": "errors",
    "WaitTimeout": "errors",
    "Address": "messages",
    "Batch": "messages",
    "Digest": "messages",
    "MergeView": "messages",
    "Message": "messages",
    "View": "messages",
    "ViewId": "messages",
    "Ring": "aio.ring",
    "RingConfig": "ring.config",
    "RingSettings": "aio.ring_connect",
    "Fence": "ring.fence",
    "FenceKey": "ring.fence",
    "TokenLost": "ring.fence",
    "NamedLock": "aio.named_lock",
    "Election": "aio.election",
    "Leader": "ring.fence",
    "Barrier": "aio.barrier",
    "LockFence": "ring.fence",
    "LockKey": "ring.fence",
    "LockLost": "ring.fence",
    "LockMisused": "errors",
    "LocksFull": "errors",
    "RingClient": "aio.ring_client",
    "RingView": "ring.views",
    "SyncRing": "sync.ring",
    "SyncClient": "sync.ring",
    "SyncLock": "sync.locks",
    "SyncElection": "sync.locks",
    "SyncBarrier": "sync.locks",
    "StackConfig": "stack.config",
    "StateInterrupted": "aio.state_callbacks",
    "StateNotTransferred": "aio.state_callbacks",
    "Request": "aio.events",
    "ViewChange": "aio.events",
    "Blocked": "aio.events",
    "Unblocked": "aio.events",
    "Excluded": "aio.events",
    "Metrics": "aio.metrics",
    "RingMetrics": "aio.metrics",
    "Status": "aio.status",
    "PastView": "aio.status",
    "ask": "aio.ask",
    "AskRefused": "errors",
    "Replies": "stack.calls",
    "CallFailed": "errors",
    "NotInView": "errors",
    "NotPrimary": "errors",
    "PrimaryChange": "stack.reports",
    "WouldBlock": "errors",
}

_CHECKERS = {
    "DeliveryLog": "deliveries.judge",
    "Verdicts": "deliveries.properties",
    "judge": "deliveries.judge",
    "judge_logs": "deliveries.judge",
}

_MODULES = {
    **{name: f"raincheck.impl.{home}" for name, home in _HOME.items()},
    **{name: f"raincheck.conformance.{home}" for name, home in _CHECKERS.items()},
}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> object:
    """Load a public name from the module it lives in."""
    if name not in _MODULES:
        raise AttributeError(f"module 'raincheck' has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted([*_MODULES, *globals()])
