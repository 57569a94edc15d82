"""FRAG in the stack: large messages go down as fragments, each of them a message to SEQUENCER.

It stands above SEQUENCER and below STATE TRANSFER, which therefore counts whole messages. What is
no frame passes. A few fragments at a time wait in the send buffer, so that small messages need not
wait for a large one; a fragment fills a bundle.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

from raincheck.impl.errors import WireError
from raincheck.impl.frag.core import Frag
from raincheck.impl.frag.events import (
    Deliver,
    Dropped,
    Event,
    Forget,
    Fragment,
    GivenUp,
    GiveUp,
    InstallView,
    Keep,
    ReceiveFragment,
    ReceiveGiveUp,
    Send,
    SendFragment,
)
from raincheck.impl.messages import Address, Frame, Payloads, Run
from raincheck.impl.sequencer.events import Deliver as Delivered
from raincheck.impl.wire.datagrams import HEADROOM

from .frames import FRAGMENT_HEAD, FragmentFrame, GivenUpFrame, cut, decode, encode
from .layer import Ground, Layer
from .passing import Found, Install, Joined, Skipped, ToAll

_AHEAD = 2
"""The bundles of fragments that wait in the send buffer at a time."""


class _Kept(NamedTuple):
    """What is kept of a message: its fragments, and whether they make a frame."""

    framed: bool
    pieces: list[bytes]


class FragLayer(Layer):
    """FRAG as a layer."""

    name = "frag"
    core: Frag

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        config = self.config
        self._whole = config.max_bundle - HEADROOM - 4  # of a message that needs no fragments
        self._size = self._whole - FRAGMENT_HEAD  # of a fragment's content
        self._most = self._count(config.max_message)
        window = 2 * self._most
        self.core = Frag(ground.me, window=window, repairs=ground.repairs.frag)
        self._buffer = ground.buffer
        self._contents: dict[int, bytes] = {}  # this member's messages under way
        self._waiting: deque[int] = deque()  # those of them that the core has not taken yet
        self._turns: deque[int] = deque()  # those of them with fragments to send
        self._last = 0
        self._kept: dict[tuple[Address, int], _Kept] = {}
        self._skipping = False  # whether what is taken is not to be delivered here
        self._place: tuple[int, int] = (0, 0)  # the seqno and the view of what is being taken

    # ------------------------------------------------------------------ sending

    def send_in_fragments(self, payload: bytes) -> int:
        """Take a message of at most `max_message` bytes; return its number, for `under_way`."""
        self._last += 1
        self._contents[self._last] = payload
        self._waiting.append(self._last)
        self.stirred = True
        return self._last

    def under_way(self, number: int) -> bool:
        """Whether that message has not been delivered here yet."""
        return number in self._contents

    def give_up(self, number: int) -> bool:
        """Give a message up; return whether it was not too late for that."""
        if number in self._waiting:
            self._waiting.remove(number)
        elif self.core.to_send(number):
            for effect in self.core.handle(GiveUp(number)):
                assert isinstance(effect, GivenUp)
                self._buffer.append_frame(encode(GivenUpFrame(number)))
            self._turns.remove(number)
        else:
            return False
        del self._contents[number]
        return True

    def down(self, event: Any, now: float) -> None:
        """Take frames of the layers above."""
        if not isinstance(event, ToAll):
            self.below.down(event, now)
        elif len(event.frame) > self._whole:
            self.send_in_fragments(event.frame)
        else:
            self._buffer.append_frame(event.frame)

    def step(self, now: float) -> bool:
        """Put fragments into the send buffer while there are few, each message in turn."""
        del now
        core, buffer, few = self.core, self._buffer, _AHEAD * self.config.max_bundle
        while self._waiting and core.may_send(self._count(len(self._contents[self._waiting[0]]))):
            number = self._waiting.popleft()
            core.handle(Send(number, self._count(len(self._contents[number]))))
            self._turns.append(number)
        added = False
        while self._turns and buffer.size < few:
            number = self._turns.popleft()
            if not core.to_send(number):
                continue  # a coordinator that lies has delivered it already
            for effect in core.handle(SendFragment(number)):
                assert isinstance(effect, Fragment)
                self._buffer.append_frame(self._frame(effect))
            if core.to_send(number):
                self._turns.append(number)
            added = True
        self.stirred = bool(self._waiting or self._turns)
        return added

    def _count(self, size: int) -> int:
        return max(1, -(-size // self._size))

    def _frame(self, fragment: Fragment) -> Frame:
        number, epoch, part, parts = fragment
        content = self._contents[number]
        piece = content[part * self._size : (part + 1) * self._size]
        framed = type(content) is Frame
        return encode(FragmentFrame(framed, number, epoch, part, parts, piece))

    @property
    def unsent(self) -> bool:
        return bool(self._waiting or self._turns)

    @property
    def pending(self) -> int:
        return len(self._contents)

    # ------------------------------------------------------------------ receiving

    def up(self, event: Any, now: float) -> None:
        """Take frames out of what SEQUENCER delivers; begin anew with a view that has joiners."""
        if type(event) is Delivered:
            if event.payloads.framed:
                self._take(*event, now)
            else:
                self.above.up(event, now)
            return
        match event:
            case Skipped(payloads):
                self._skip(payloads, now)
                return
            case Found() | Joined() | Install():
                placed = event.rsp.placed if isinstance(event, Joined) else event.placed
                (number, _), members, joiners = placed.view
                self._do(InstallView(number, members, joiners), now)
                again = [each for each in self.core.sending if self.core.to_send(each)]
                self._turns = deque(again)
                self.stirred = bool(self._waiting or again)
        self.above.up(event, now)

    def _skip(self, payloads: Payloads, now: float) -> None:
        """Take fragments of this member that others have; what they complete is over here, too."""
        self._skipping = True
        for content in payloads.unpack() if payloads.framed else ():
            if type(content) is Frame:
                self._take_frame(self.me, content, now)
        self._skipping = False

    def _take(self, run: Run, view: int, payloads: Payloads, now: float) -> None:
        """Take the fragments of a run; all else goes on."""
        for messages, contents, framed in cut(run, payloads):
            if framed:
                self._place = messages.first, view
                self._take_frame(run.sender, contents[0], now)
            else:
                self.above.up(Delivered(messages, view, Payloads.pack(contents)), now)

    def _take_frame(self, sender: Address, content: bytes, now: float) -> None:
        try:
            frame = decode(content)
        except WireError as problem:
            self.ground.offends(sender, problem.detail)
            return
        match frame:
            case GivenUpFrame(number):
                self._do(ReceiveGiveUp(sender, number), now)
            case FragmentFrame(framed, number, epoch, part, parts, piece):
                if parts > self._most or not 0 < len(piece) <= self._size:
                    what = f"a fragment of {len(piece)} bytes, {part} of {parts}"
                    self.ground.offends(sender, what)
                    return
                self._do(ReceiveFragment(sender, number, epoch, part, parts), now, framed, piece)
            case _:  # of a layer above
                self._pass_on(sender, Payloads.pack([Frame(content)], framed=True), now)

    def _pass_on(self, sender: Address, payloads: Payloads, now: float) -> None:
        """Pass one message up, in the present place."""
        if self._skipping:
            self.above.up(Skipped(payloads), now)
            return
        seqno, view = self._place
        self.above.up(Delivered(Run(sender, seqno, 1), view, payloads), now)

    def _do(self, event: Event, now: float, framed: bool = False, piece: bytes = b"") -> None:
        for effect in self.core.handle(event):
            match effect:
                case Keep(sender, number):
                    kept = self._kept.setdefault((sender, number), _Kept(framed, []))
                    if not self._is_mine(sender, number):
                        kept.pieces.append(piece)
                case Deliver(sender, number):
                    self._deliver(sender, number, now)
                case Forget(sender, number):
                    self._kept.pop((sender, number), None)
                case Dropped(_, reason):
                    self.counters[reason] += 1

    def _deliver(self, sender: Address, number: int, now: float) -> None:
        """Pass a whole message up, in the place of its last fragment."""
        framed, pieces = self._kept.pop((sender, number))
        if self._is_mine(sender, number):
            content = self._contents.pop(number)
            framed, pieces = type(content) is Frame, [content]
        size = sum(map(len, pieces))
        if size > self.config.max_message:
            self.ground.offends(sender, f"a message of {size} bytes in fragments")
            return
        whole = Payloads.joined(pieces, framed=framed)
        pieces.clear()  # the application's copy is cut out of the whole
        self._pass_on(sender, whole, now)

    def _is_mine(self, sender: Address, number: int) -> bool:
        """Whether that is a message of this member, which has the whole of it."""
        return sender == self.me and number in self._contents and number not in self._waiting

    def buffered(self) -> int:
        return sum(len(kept.pieces) for kept in self._kept.values())
