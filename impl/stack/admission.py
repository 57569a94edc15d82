"""Admission: the checks that the leader makes of a JOIN, and the joiners that want the state."""

from __future__ import annotations

from raincheck.impl.gms.core import Gms
from raincheck.impl.gms.events import ReceiveJoin
from raincheck.impl.messages import Address, Endpoint, View

_MAX_JOINING = 256


class Admission:
    """The leader's door."""

    def __init__(self, core: Gms, endpoints: dict[Address, Endpoint]) -> None:
        self._core = core
        self._endpoints = endpoints
        self.wants_state: set[Address] = set()
        """Who wants the group's state, once it is admitted."""

    def refuses(self, joiner: Address, endpoint: Endpoint) -> str:
        """Why a process cannot be admitted, or nothing."""
        core = self._core
        later = core.refuses(joiner)
        if later is not None:
            return f"{later} is a member, a later incarnation of {joiner.node}"
        host, port = known = self._endpoints.get(joiner, endpoint)
        if known == endpoint:
            return ""
        if joiner in core.members and joiner not in core.gone:
            return f"{joiner} is a member already, at {host}:{port}; choose another name"
        if joiner in core.joining:
            return f"{joiner} is joining already, from {host}:{port}; choose another name"
        return ""

    def request(self, joiner: Address, endpoint: Endpoint, state: bool) -> None:
        """A process asks that is not refused."""
        if len(self._core.joining) >= _MAX_JOINING:
            return  # it will ask again
        self._endpoints[joiner] = endpoint
        if state:
            self.wants_state.add(joiner)
        self._core.handle(ReceiveJoin(joiner))

    def admitted(self, view: View) -> tuple[Address, ...]:
        """The joiners of the view that asked for the state, where this member has admitted them."""
        mine = view.id.coordinator == self._core.me
        wanting = tuple(m for m in view.joiners if mine and m in self.wants_state)
        self.wants_state &= self._core.joining
        return wanting
