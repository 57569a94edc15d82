"""The trace record: one JSON object per line, as `docs/trace-format.md` defines it.

Law of this file: it knows the *shape* of records and nothing of any protocol's meaning.
Runs and addresses are plain tuples, as the model's values are, so that the checker compares
without converting. Unknown keys inside `args`, `sent` and `changed` are errors, since a field that
nobody compares must never look checked; unknown keys beside them are annotations and are ignored.
"""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from .records import Address as Address
from .records import Footer as Footer
from .records import Natural

FORMAT_VERSION = 1

Positive = Annotated[int, msgspec.Meta(ge=1, le=2**62)]

Run = tuple[str, Natural, Positive, Positive]
"""Sender's node, sender's incarnation, first seqno, count: consecutive messages of one sender."""
Interval = tuple[Positive, Positive]
"""Seqnos from lo to hi, both included."""
Entry = tuple[str, Natural, Natural]
"""A number kept per address: node, incarnation, number."""
MessageId = tuple[str | Natural, ...]
"""What names a network message: see `channel_of`."""
Early = tuple[Natural, str, Natural, Positive, Positive]
"""A FORWARD that waits for its view: view, then its run."""

KINDS = {"FORWARD": 6, "DATA": 4, "JOIN_RSP": 6, "ACK": 6, "SAFE": 4}
"""How long the id of each kind of message is."""


class Args(msgspec.Struct, gc=False, forbid_unknown_fields=True, omit_defaults=True):
    """The arguments of an action; each action uses the ones that its specification names."""

    messages: Run | None = None
    view: Natural | None = None
    position: Natural | None = None
    crc: Natural | None = None
    from_: Address | None = msgspec.field(default=None, name="from")
    members: tuple[Address, ...] | None = None
    by: Address | None = None
    table: tuple[Entry, ...] | None = None
    digest: tuple[Entry, ...] | None = None


class Sent(msgspec.Struct, gc=False, forbid_unknown_fields=True, omit_defaults=True):
    """A message that the event sent."""

    id: MessageId
    to: Address | None = None
    view: Natural | None = None
    messages: Run | None = None
    crc: Natural | None = None
    table: tuple[Entry, ...] | None = None
    digest: tuple[Entry, ...] | None = None


class Delivered(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """The run that the event handed to the application, and the view in which it did."""

    view: Natural
    messages: Run


class Released(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """Safe delivery: the runs that the event handed to the application, in order, as few as
    possible, and the view in which it did.
    """

    view: Natural
    messages: tuple[Run, ...]


class Changed(msgspec.Struct, gc=False, forbid_unknown_fields=True, omit_defaults=True):
    """The variables of the specification that the event changed, with their new values."""

    seqno: Natural | UnsetType = UNSET
    said: Natural | UnsetType = UNSET
    view: Natural | UnsetType = UNSET
    forward_table: tuple[Interval, ...] | UnsetType = msgspec.field(
        default=UNSET, name="forwardTable"
    )
    resend: tuple[Interval, ...] | UnsetType = UNSET
    received_table: tuple[Entry, ...] | UnsetType = msgspec.field(
        default=UNSET, name="receivedTable"
    )
    position: tuple[Entry, ...] | UnsetType = UNSET
    delivered: Delivered | UnsetType = UNSET
    early: tuple[Early, ...] | UnsetType = UNSET
    status: str | UnsetType = UNSET
    incarnation: Natural | UnsetType = UNSET
    held: Natural | UnsetType = UNSET
    released: Released | UnsetType = UNSET
    told: Natural | UnsetType = UNSET
    heard: tuple[Entry, ...] | UnsetType = UNSET
    announced: Natural | UnsetType = UNSET


class ViewRecord(
    msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True, omit_defaults=True
):
    """A view: its counter and its members in rank order, the coordinator first."""

    id: Natural
    members: tuple[Address, ...]
    by: Address | None = None
    """Who decided it, in groups that merge: with the number that is its whole id."""


class Header(msgspec.Struct, tag_field="kind", tag="header", kw_only=True, omit_defaults=True):
    """The first line of each file: what it records, and under which assumptions."""

    version: Natural
    run: str
    protocol: str
    node: str
    incarnation: Natural
    nodes: tuple[str, ...]
    constants: dict[str, Any] = {}
    merges: bool = False
    initial: ViewRecord | None = None
    said: Natural = 0


class Event(msgspec.Struct, tag_field="kind", tag="event", gc=False):
    """One handled event of one node."""

    run: str
    protocol: str
    node: str
    incarnation: Natural
    index: Natural
    clock: Natural
    action: str
    args: Args
    received: MessageId | None = None
    sent: tuple[Sent, ...] = ()
    changed: Changed = msgspec.field(default_factory=Changed)


class Crash(msgspec.Struct, tag_field="kind", tag="crash", kw_only=True, omit_defaults=True):
    """A harness's word that it killed this incarnation, written in a file of its own."""

    run: str
    node: str
    incarnation: Natural
    traced: tuple[str, ...] = ()
    """The protocols of which it left a file; where nothing is said, nobody knows."""


NEVER_CAME = -1
"""In place of the incarnation of a node that never came, among those who are gone."""


class Absent(msgspec.Struct, tag_field="kind", tag="absent", kw_only=True, omit_defaults=True):
    """A harness's word that this node, which the headers list, never came."""

    run: str
    node: str


Record = Header | Event | Footer | Crash

DECODER: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)
_encoder = msgspec.json.Encoder()

decode = DECODER.decode
decode_lines = DECODER.decode_lines
encode = _encoder.encode


def encode_lines(records: list[Any]) -> bytes:
    """JSON Lines, with a newline after the last record too."""
    return _encoder.encode_lines(records)


def builtins(record: Any) -> Any:
    """The record as plain dictionaries and lists, as JSON has them."""
    return msgspec.to_builtins(record)


def channel_of(message: MessageId) -> tuple[MessageId, int]:
    """Split a message's id into its channel and its position in that channel.

    FORWARD: sender and receiver, each (node, incarnation), and k. DATA: coordinator and p.
    JOIN_RSP: sender, receiver, and the view it admits to. ACK, and SAFE, which has no receiver: the
    place that it speaks of.

    >>> channel_of(("DATA", "a", 0, 7))
    (('DATA', 'a', 0), 7)
    """
    return message[:-1], int(message[-1])


def kind_of(message: MessageId) -> str:
    """Return the kind of message that an id, or a channel's name, names: its first word."""
    return str(message[0]).partition(" ")[0]


def well_formed(message: MessageId) -> bool:
    """Whether an id has a known kind, its kind's length, and a text or a number in each place."""
    size = KINDS.get(kind_of(message)) if message else None
    if size != len(message):
        return False
    texts = (0, 1, 3) if size == 6 else (0, 1)
    return all(isinstance(part, str) == (at in texts) for at, part in enumerate(message))
