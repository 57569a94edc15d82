"""Real SEQUENCER cores in a group whose network and membership are decided by whoever drives it.

The cores are the implementation's own, one per node, each driven by explicit events. What they
hand out goes into channels and streams kept here; a `Move` says what happens next: which message
arrives, which view is decided or installed, who crashes. Read as the model's `State`, the whole
can be compared with the model after every move.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias, cast

from raincheck.conformance.bindings.sequencer import reading as mapping
from raincheck.impl import messages as wire
from raincheck.impl.sequencer import events as impl
from raincheck.impl.sequencer.core import Sequencer
from raincheck.model.machine.runs import Address
from raincheck.model.sequencer.handlers import Local
from raincheck.model.sequencer.state import Constants, Rsp, State, Tagged, View

from .moves import Move

RUNNING: Final = ("member", "leaving")


class Parcel(NamedTuple):
    """A message under way, and how the model reads it."""

    message: impl.Forward | impl.Data
    tagged: tuple[Tagged, ...]


class Impossible(Exception):
    """The network has nothing for this move: the schedule does not fit what happened before."""


MakeCore: TypeAlias = Callable[[wire.Address], Sequencer]
"""Makes the core of a process; a planted fault is one that makes a damaged core."""


class Group:
    """All the cores of one instance, and everything between them."""

    def __init__(self, constants: Constants, make: MakeCore) -> None:
        """Let the founders of the instance be members of the first view, the others join."""
        self.constants = constants
        self.make = make
        self.index = {name: i for i, name in enumerate(constants.nodes)}
        size = len(constants.nodes)
        founders = tuple(Address(n, 0) for n in constants.nodes if n in constants.founders)
        self.views = [View(founders, frozenset())]
        self.lives = [0] * size
        self.said = [0] * size
        self.gone: list[Local | None] = [None] * size
        self.forwards: list[list[list[Parcel]]] = [[[] for _ in range(size)] for _ in range(size)]
        self.streams: list[dict[int, Parcel]] = [{} for _ in range(size)]
        self.lengths = [0] * size
        self.position = [[0] * size for _ in range(size)]
        self.join_rsp: list[tuple[int, impl.JoinRsp, Rsp] | None] = [None] * size
        self.delivered: list[tuple[Tagged, ...]] = [()] * size
        self.cores = [make(wire.Address(name, 0)) for name in constants.nodes]
        for name in constants.founders:
            self.cores[self.index[name]].found(self.wire_view(1))

    # ------------------------------------------------------------------ moves

    def perform(self, move: Move) -> int:
        """Make the move; return of how many of the spec's steps it consists.

        Raises `impl.errors.NotEnabled` if the core refuses, `Impossible` if the network has
        nothing for it.
        """
        if move.action in ("ViewChange", "Demote"):
            self._decide(move)
            return 1
        i = self.index[move.args[0]]
        if move.action in ("Crash", "Stop"):
            return self._end(i, move.action)
        if move.action == "Restart":
            return self._restart(i)
        event, count, consume = self._event(i, move)
        self._carry_out(i, self.cores[i].handle(event), consume)
        return count

    def _event(self, i: int, move: Move) -> tuple[impl.Event, int, Callable[[], None] | None]:
        """The event for the core, its number of single steps, and what the network then forgets."""
        core = self.cores[i]
        match move.action:
            case "Send":
                contents = mapping.payloads(move.args[0], self.said[i] + 1, move.count)
                return impl.Send(contents), move.count, lambda: self._say(i, move.count)
            case "ReceiveForward":
                return self._forward_for(i, self.index[move.args[1]], move.place)
            case "ReceiveData":
                return self._data_for(i, self.index[move.args[1]])
            case "InstallView":
                if core.view >= len(self.views):
                    raise Impossible("no view is decided that is not installed yet")
                return impl.InstallView(self.wire_view(core.view + 1)), 1, None
            case "Join":
                answer = self.join_rsp[i]
                if answer is None:
                    raise Impossible("no JOIN_RSP is under way")
                c, rsp, read = answer
                return impl.Join(self.cores[c].me, rsp), 1, lambda: self._joined(i, read)
            case "Resend":
                return impl.Resend(move.count), move.count, None
            case "Leave":
                return impl.Leave(), 1, None
        raise Impossible(f"there is no action {move.action}")

    def _forward_for(
        self, i: int, j: int, place: int
    ) -> tuple[impl.Event, int, Callable[[], None]]:
        channel = self.forwards[j][i]
        if not 1 <= place <= len(channel):
            raise Impossible(f"nothing is at place {place} of the channel")
        forward = cast("impl.Forward", channel[place - 1].message)
        sender = wire.Address(*forward.messages.sender)

        def consume() -> None:
            del channel[place - 1]

        return impl.ReceiveForward(sender, forward), forward.messages.size, consume

    def _data_for(self, i: int, j: int) -> tuple[impl.Event, int, Callable[[], None]]:
        event = self.data_event(i, j)
        size = event.data.messages.size

        def consume() -> None:
            self.position[i][j] += size

        return event, size, consume

    def unread(self, i: int, j: int) -> Parcel | None:
        """Return what node i gets next of node j's stream, None if it has read all of it."""
        return self.streams[j].get(self.position[i][j])

    def data_event(self, i: int, j: int) -> impl.ReceiveData:
        """Return the arrival of the next DATA of node j's stream at node i."""
        parcel, who = self.unread(i, j), self.cores[j].me
        if parcel is None:
            raise Impossible("nothing more is in the stream")
        # NAKACK numbers the stream as it stands, also where virtual synchrony has cut it. A process
        # that comes back under its old address confuses only its peers' account of places.
        place = self.position[i][j] + 1
        if not self.constants.rules.incarnations:
            place = self.cores[i].position.get(who, 0) + 1
        data = cast("impl.Data", parcel.message)
        return impl.ReceiveData(who, data._replace(position=place))

    def _say(self, i: int, count: int) -> None:
        self.said[i] += count

    def _joined(self, i: int, rsp: Rsp) -> None:
        self.position[i] = list(rsp.digest)
        self.join_rsp[i] = None

    def _carry_out(
        self, i: int, effects: list[impl.Effect], consume: Callable[[], None] | None
    ) -> None:
        if consume is not None:
            consume()
        for effect in effects:
            match effect:
                case impl.Multicast(data):
                    self.streams[i][self.lengths[i]] = Parcel(data, mapping.tagged(data))
                    self.lengths[i] += data.messages.size
                case impl.SendForward(to, forward):
                    j = self.index[to.node]
                    if self.is_alive(Address(*to)):
                        self.forwards[i][j].append(Parcel(forward, mapping.tagged(forward)))
                case impl.Deliver():
                    self.delivered[i] += mapping.tagged(effect)
                case impl.SendJoinRsp(to, rsp):
                    j = self.index[to.node]
                    if self.cores[j].status == "joining" and self.gone[j] is None:
                        self.join_rsp[j] = (i, rsp, self._read_rsp(i, rsp))

    def _read_rsp(self, i: int, rsp: impl.JoinRsp) -> Rsp:
        """The answer as the model has it; of nodes outside the view it says nothing."""
        inside = {member.node: member for member in rsp.view.members}
        digest = tuple(
            rsp.digest.highest(inside[name]) if name in inside else self.position[i][c]
            for c, name in enumerate(self.constants.nodes)
        )
        return Rsp(rsp.view.id.counter, digest, mapping.table_of(rsp.table))

    # ------------------------------------------------------------------ processes and views

    def _end(self, i: int, action: str) -> int:
        if action == "Stop":
            self._carry_out(i, self.cores[i].handle(impl.Stop(self._is_drained(i))), None)
            status = self.cores[i].status
        elif self.gone[i] is not None or self.cores[i].status not in RUNNING:
            raise Impossible("only a running process can crash")
        else:
            status = "crashed"
        name = self.constants.nodes[i]
        self.gone[i] = mapping.ended(name, status, self.lives[i], self.said[i])
        for row in self.forwards:
            row[i] = []
        self.position[i] = [0] * len(self.position)
        self.join_rsp[i] = None
        return 1

    def _restart(self, i: int) -> int:
        if self.gone[i] is None:
            raise Impossible("only a process that has ended can come back")
        self.gone[i] = None
        self.lives[i] += 1
        self.cores[i] = self.make(wire.Address(self.constants.nodes[i], self.lives[i]))
        self.cores[i].said = self.said[i]
        self.delivered[i] = ()
        self.streams[i], self.lengths[i] = {}, 0
        for row in self.position:
            row[i] = 0
        return 1

    def _is_drained(self, i: int) -> bool:
        """Tell whether all who read the leaver's stream have read all of it."""
        name, length = self.constants.nodes[i], self.lengths[i]
        for p, core in enumerate(self.cores):
            if self.gone[p] is None and core.status in RUNNING:
                inside = any(member.node == name for member in core.members)
                if inside and self.position[p][i] != length:
                    return False
        return all(rsp is None or rsp[2].digest[i] == length for rsp in self.join_rsp)

    def _decide(self, move: Move) -> None:
        if move.view is None:
            raise Impossible(f"{move.action} needs the members of the view")
        c = self.index[self.views[-1].members[0].node]
        self.views.append(move.view)
        if move.cut is not None:
            self.streams[c] = {at: p for at, p in self.streams[c].items() if at < move.cut}
            self.lengths[c] = min(self.lengths[c], move.cut)

    def is_alive(self, who: Address) -> bool:
        """Tell whether the process behind the address is a member now."""
        i = self.index[who.node]
        core = self.cores[i]
        return self.gone[i] is None and core.status in RUNNING and Address(*core.me) == who

    def wire_view(self, number: int) -> wire.View:
        """Return the view of that number as the implementation has it."""
        view = self.views[number - 1]
        members = tuple(wire.Address(*member) for member in view.members)
        joiners = tuple(wire.Address(*joiner) for joiner in sorted(view.joiners))
        return wire.View(wire.ViewId(number, members[0]), members, joiners)

    # ------------------------------------------------------------------ read as the model

    def local(self, i: int) -> Local:
        """Return the state of node i as the model's."""
        gone = self.gone[i]
        if gone is not None:
            return gone
        return mapping.local_of(self.cores[i])

    def _positions(self, i: int) -> tuple[int, ...]:
        """The core's own account for the members of its view; the network's for anybody else."""
        row = self.position[i]
        if self.gone[i] is not None or not self.constants.rules.incarnations:
            return tuple(row)
        own = list(row)
        core = self.cores[i]
        for member in core.members:
            c = self.index[member.node]
            if member.incarnation == self.lives[c]:  # of a former life there is no stream left
                own[c] = core.position.get(member, 0)
        return tuple(own)

    def state(self) -> State:
        """Return everything as the model's state."""
        return State(
            tuple(map(self.local, range(len(self.cores)))),
            tuple(self.delivered),
            tuple(tuple(map(_flat, row)) for row in self.forwards),
            tuple(_flat(list(stream.values())) for stream in self.streams),
            tuple(map(self._positions, range(len(self.cores)))),
            tuple(None if rsp is None else rsp[2] for rsp in self.join_rsp),
            tuple(self.views),
        )


def _flat(parcels: list[Parcel]) -> tuple[Tagged, ...]:
    return tuple(message for parcel in parcels for message in parcel.tagged)
