"""The settings of a stack, with their defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from raincheck.impl.arguments import (
    ADMISSION,
    ENDPOINTS,
    FLAG,
    SECONDS,
    SECONDS_OR_0,
    TEXT,
    check,
    check_settings,
    choice,
    count,
    defaults_of,
    without_effect,
)
from raincheck.impl.errors import ConfigError
from raincheck.impl.messages import Address, Endpoint
from raincheck.impl.networks import inside

Admit: TypeAlias = Sequence[str] | Callable[[Address, Endpoint], bool]

ORDERS = ("sequencer", "total")
"""The protocols that give messages one order."""

MERGES = ("leave", "callback", "state")
"""What may become of two groups that meet."""

DELIVERIES = ("agreed", "safe")
"""When a message in the order of all is delivered."""
STABILITIES = ("votes", "gossip")
"""How members learn what all have delivered."""
REPAIRS = ("requests", "gossip")
"""How members get what they lack."""
MOST_VOTES = 1_000_000
OF_GOSSIP = ("desired_avg_gossip", "gossip_interval", "gossip_fanout", "gossip_delay")
"""What is for groups with `stability="gossip"` alone."""

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "lan": {},
    "fast": {"heartbeat": 0.05, "suspect_after": 0.3, "verify_after": 0.1},
    "wan": {
        "heartbeat": 0.5,
        "suspect_after": 3.5,
        "verify_after": 1.0,
        "join_timeout": 4.0,
        "join_interval": 0.5,
        "ack_delay": 0.02,
        "retransmit_after": 0.3,
        "retransmit_max": 2.0,
        "nak_delay": 0.05,
        "stable_delay": 0.1,
        "gossip_delay": 0.2,
        "desired_avg_gossip": 1.0,
    },
}
"""Settings that go together; all members of a group should have those of one name.

The defaults are "lan": no process that stands still for a second is excluded. "fast" finds a crash
in 0.4 s, and takes as long a pause for one. "wan" bears pauses of three seconds and long ways.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StackConfig:
    """Settings of one member's stack. Times are in seconds, sizes in bytes."""

    cluster: Annotated[str, TEXT] = "raincheck"
    """Name of the group; datagrams of other groups are counted and dropped."""
    initial_hosts: Annotated[tuple[Endpoint, ...], ENDPOINTS] = ()
    """Endpoints to ask for admission. Empty, and no discovery: found a group at once."""
    discovery: Annotated[bool, FLAG] = False
    """Ask by broadcast too (the transport must be able to)."""
    join_timeout: Annotated[float, SECONDS] = 1.0
    """A process that no member answers within this time founds the group."""
    join_interval: Annotated[float, SECONDS] = 0.1
    """Time between two requests to join."""

    on_merge: Annotated[str, choice(*MERGES)] = "leave"
    """When this group meets another one of its name, after a partition or founded apart: "leave",
    one of the two gives way, and its members leave; "callback", they merge, and the application
    sees a MergeView; "state", they merge, and the sides that do not prevail take the state of the
    one that does. All members need the same."""
    order: Annotated[str, choice(*ORDERS)] = "sequencer"
    """The protocol that gives messages one order: "sequencer" or "total". All members need the
    same."""
    delivery: Annotated[str, choice(*DELIVERIES)] = "agreed"
    """When a message in the order of all is delivered: "agreed", when it is received; "safe", when
    every member of the view has received it, so that not even a member that crashes has delivered
    what a survivor never does. All members need the same."""
    stability: Annotated[str, choice(*STABILITIES)] = "votes"
    """How members learn what all have delivered, which nobody needs to keep: "votes", each tells
    all what it has delivered, again and again (STABLE); "gossip", a word goes from member to member
    and gathers it (PBCAST), so that a round costs each member a few datagrams however many there
    are. All members need the same; groups with "gossip" do not merge."""
    repair: Annotated[str, choice(*REPAIRS)] = "requests"
    """How members get what they lack: "requests", each asks whom it lacks it from as soon as it
    sees a gap (NAKACK); "gossip", when a gossip comes by, it asks the member from which that has
    come (PBCAST), which spreads the requests of a large group and takes longer. "gossip" needs
    `stability="gossip"`. All members need the same."""
    primary: Annotated[str, choice("majority")] | None = None
    """Which side of a partition goes on: None, each for itself; "majority", the one whose view is
    primary, and nobody else delivers anything. All members need the same, and the same
    `expected_votes`; it needs an `on_merge` other than "leave"."""
    expected_votes: Annotated[int, count(0, MOST_VOTES)] = 0
    """With `primary`: how many votes there are altogether. The first primary view needs all."""
    votes: Annotated[int, count(0, MOST_VOTES)] = 1
    """With `primary`: how many of them this member has."""
    tie_breaker: Annotated[bool, FLAG] = True
    """With `primary`: whether of two halves the one with the smallest address goes on, instead of
    neither. All members need the same."""
    found: Annotated[bool, FLAG] = False
    """With `primary`: an operator says that no other process goes on, so that a majority of
    `expected_votes` may begin a new history."""
    admit: Annotated[Admit, ADMISSION] | None = None
    """Who may join, by this member as the leader: networks ("10.0.0.0/8", ...) that a joiner's
    address must be in, or a function of its name and endpoint. None: everybody."""
    joins_per_minute: Annotated[int, count(1)] = 30
    """Admissions of one endpoint in a minute, and ten times as many of all; more of them wait."""

    sums: Annotated[bool, FLAG] = True
    """Whether datagrams have a checksum. Those that a transport seals under a key need none."""
    max_bundle: Annotated[int, count(2048, 1 << 20, " (UDP carries at most 65507)")] = 60_000
    """The most bytes of one datagram with messages; one that does not fit goes in fragments. What
    the protocols say of a whole group has up to 60,000 bytes, however small this is."""
    max_message: Annotated[int, count(2048, 1 << 30)] = 128 << 20
    """The most bytes of one message. A member keeps at most twice as many of each sender until
    their last fragments have come."""
    send_buffer: Annotated[int, count(1)] = 1 << 20
    """Bytes of messages that `send` accepts before they are transmitted."""
    credit: Annotated[int, count(1)] = 2 << 20
    """Bytes of this member's messages that it has sent and not yet delivered itself."""
    credit_messages: Annotated[int, count(1)] = 65_536
    """The same, in messages."""
    unicast_window: Annotated[int, count(1)] = 64
    """Unacknowledged datagrams to one member; a receiver buffers as many out of order."""
    unicast_window_bytes: Annotated[int, count(1)] = 2 << 20
    """The same, in bytes."""
    multicast_window: Annotated[int, count(1)] = 128
    """Multicast datagrams that not all members have acknowledged."""
    multicast_window_bytes: Annotated[int, count(1)] = 4 << 20
    """The same, in bytes."""
    retain_window: Annotated[int, count(1)] = 512
    """Multicast datagrams that are not stable; each member keeps as many for retransmission."""
    retain_bytes: Annotated[int, count(1)] = 16 << 20
    """The same, in bytes."""

    state_window: Annotated[int, count(1)] = 16
    """Chunks of a state that its receiver has not taken yet; each is about a bundle."""
    state_timeout: Annotated[float, SECONDS] = 10.0
    """A state provider that has credit and sends nothing within this time is given up."""

    flush_timeout: Annotated[float, SECONDS] = 10.0
    """A member that delays a view change or a state transfer for so long, because its block()
    does not return or it cannot fetch what it lacks, is reported and excluded."""
    application_timeout: Annotated[float, SECONDS] = 8.0
    """A member whose application keeps the group waiting for so long, because its block() does not
    return or it takes none of the messages that fill its inbox, leaves the group by itself. Below
    `flush_timeout`, so that it knows why before the others exclude it."""
    open_latch_after: Annotated[float, SECONDS] | None = None
    """A member that has been blocked for so long opens its latch by itself, and this is
    reported. None: never. It trades virtual synchrony for progress
    (members may deliver different messages)."""

    ack_delay: Annotated[float, SECONDS] = 0.005
    """The longest delay of an acknowledgement, so that it covers several datagrams."""
    retransmit_after: Annotated[float, SECONDS] = 0.05
    """Delay of the first retransmission, longer where measured round trips are; it doubles with
    each retransmission, up to `retransmit_max`."""
    retransmit_max: Annotated[float, SECONDS] = 0.5
    """The longest pause between retransmissions."""
    nak_delay: Annotated[float, SECONDS] = 0.002
    """Age of a gap when it is first asked for; further requests back off."""

    stable_period: Annotated[float, SECONDS] = 0.5
    """Time between two digests, unless one is due sooner."""
    stable_bytes: Annotated[int, count(1)] = 2 << 20
    """A digest is also due after so many delivered bytes, or an eighth of `retain_window`."""
    stable_delay: Annotated[float, SECONDS] = 0.01
    """The longest random delay before a member multicasts STABILITY."""

    desired_avg_gossip: Annotated[float, SECONDS] = 0.2
    """With gossip: mean time between two gossips that members of the group begin, however many they
    are, while there is something to collect."""
    gossip_interval: Annotated[float, SECONDS_OR_0] = 0.0
    """With gossip: mean time between two gossips that this member begins; 0 takes
    `desired_avg_gossip` times the members."""
    gossip_fanout: Annotated[int, count(1)] = 2
    """With gossip: to how many members of those that have not seen a gossip a copy of it goes."""
    gossip_delay: Annotated[float, SECONDS] = 0.02
    """With gossip: the longest random time before a member sends a gossip again, so that one copy
    covers what several have brought."""

    heartbeat: Annotated[float, SECONDS] = 0.1
    """Time between two signs of life to those members that watch this one."""
    suspect_after: Annotated[float, SECONDS] = 1.0
    """A member that is silent for so long is asked whether it is alive."""
    verify_after: Annotated[float, SECONDS] = 0.23
    """A silent member that does not answer the question within this time is suspected."""

    @classmethod
    def preset(cls, name: str, **settings: Any) -> StackConfig:
        """Return the settings of one of `PRESETS`, but for those that are given here."""
        check("preset", name, choice(*PRESETS))
        return cls(**{**PRESETS[name], **settings})

    @property
    def fingerprint(self) -> str:
        """The settings that must be equal in all stacks: the protocols and the sizes."""
        sizes = f"max_bundle={self.max_bundle} max_message={self.max_message}"
        protocols = f"UNICAST/NAKACK/STABLE/GMS/FLUSH/{self.order.upper()}/FRAG"
        words = [protocols, sizes, f"on_merge={self.on_merge}", *self._primacy()]
        gossips = f"stability={self.stability} repair={self.repair}"
        return " ".join([*words, gossips, f"delivery={self.delivery}"])

    @property
    def merging(self) -> str:
        """What groups that are to merge must have in common, `on_merge` first; "leave" alone."""
        if self.on_merge == "leave":
            return self.on_merge
        safe = [] if self.delivery == DELIVERIES[0] else [f"delivery={self.delivery}"]
        order = [] if self.order == ORDERS[0] else [f"order={self.order}"]
        return " ".join([self.on_merge, *self._primacy(), *safe, *order, *self._sizes()])

    def _sizes(self) -> list[str]:
        """Return the sizes that all members need alike, as far as they are not the defaults."""
        defaults = {"max_bundle": 60_000, "max_message": 128 << 20}
        sizes = {name: getattr(self, name) for name in defaults}
        return [f"{name}={size}" for name, size in sizes.items() if size != defaults[name]]

    def _primacy(self) -> list[str]:
        """Return what members must have in common to know which view is primary."""
        if self.primary is None:
            return []
        ties = [] if self.tie_breaker else ["tie_breaker=no"]
        return [f"primary={self.primary}", f"expected_votes={self.expected_votes}", *ties]

    def __post_init__(self) -> None:
        """Reject settings that cannot work, and those that have no effect."""
        check_settings(self, StackConfig)
        if self.max_bundle > self.max_message:
            raise ConfigError(
                f"max_message is {self.max_message}; choose between max_bundle "
                f"({self.max_bundle}) and 1 GiB"
            )
        for name in (
            "send_buffer",
            "credit",
            "unicast_window_bytes",
            "multicast_window_bytes",
            "retain_bytes",
        ):
            if getattr(self, name) < self.max_bundle:
                raise ConfigError(
                    f"{name} is {getattr(self, name)}; it must hold at least one bundle of "
                    f"{self.max_bundle} bytes"
                )
        self._check_gossip()
        self._check_idle()
        for needs, what in (
            (self.on_merge != "leave", "groups are merged by"),
            (self.delivery == "safe", "safe delivery rests on"),
            (self.stability == "gossip", "collection by gossip rests on"),
        ):
            if needs and self.open_latch_after is not None:
                raise ConfigError(
                    f"{what} virtual synchrony, which open_latch_after gives up; "
                    f"leave one of them out"
                )
        self._check_order()
        self._check_primary()
        if self.admit is not None and not callable(self.admit):
            inside(self.admit, "admit")
        if self.suspect_after < 2 * self.heartbeat:
            raise ConfigError(
                f"suspect_after ({self.suspect_after}) must be at least twice heartbeat "
                f"({self.heartbeat}), or every late sign of life is a suspicion"
            )

    def _check_gossip(self) -> None:
        if self.repair == "gossip" and self.stability != "gossip":
            raise ConfigError("repair='gossip' needs stability='gossip': the same gossips do both")
        if self.stability == "gossip" and self.on_merge != "leave":
            raise ConfigError(
                f"groups with stability='gossip' do not merge, and on_merge is {self.on_merge!r}; "
                f"leave one of them out"
            )

    def _check_idle(self) -> None:
        """Reject times of the protocol that was not chosen; a preset has those of both."""
        if self.stability != "gossip":
            idle = dict.fromkeys(OF_GOSSIP, "stability='gossip'")
        else:
            idle = (
                {}
                if self.order == "total"
                else {"stable_period": "stability='votes' or order='total'"}
            )
            if self.gossip_interval:
                idle["desired_avg_gossip"] = "gossip_interval=0"
        for name, needed in idle.items():
            value = getattr(self, name)
            usual = [defaults_of(StackConfig)[name], *(each.get(name) for each in PRESETS.values())]
            if value not in usual:
                raise ConfigError(
                    without_effect(name, value, needed, "give both in one StackConfig")
                )

    def _check_order(self) -> None:
        if self.order != "total":
            return
        for offered, what, why in (
            (
                self.delivery == "agreed",
                f"delivery={self.delivery!r}",
                "its sequencer delivers at once",
            ),
            (
                self.primary is None,
                f"primary={self.primary!r}",
                "it keeps no table of former members",
            ),
            (
                self.open_latch_after is None,
                "open_latch_after",
                "it rests on virtual synchrony",
            ),
        ):
            if not offered:
                raise ConfigError(
                    f"order='total' does not go with {what}, for {why}; leave one of them out"
                )

    def _check_primary(self) -> None:
        if self.primary is None:
            for name in ("expected_votes", "votes", "tie_breaker", "found"):
                if (value := getattr(self, name)) != defaults_of(StackConfig)[name]:
                    raise ConfigError(
                        without_effect(name, value, "primary='majority'", "give primary=")
                    )
            return
        if not 1 <= self.expected_votes <= MOST_VOTES:
            raise ConfigError(
                f"expected_votes is {self.expected_votes}; say with primary= how many votes all "
                f"members have together, 1 to {MOST_VOTES}"
            )
        if not 1 <= self.votes <= self.expected_votes:
            raise ConfigError(
                f"votes is {self.votes}; it must be between 1 and expected_votes "
                f"({self.expected_votes})"
            )
        if self.on_merge == "leave":
            raise ConfigError(
                "primary= needs on_merge='state' or 'callback': with 'leave' a side would leave "
                "that others need for a majority"
            )
