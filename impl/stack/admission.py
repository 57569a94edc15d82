"""Admission: the checks that the leader makes of a JOIN, and the joiners that want the state."""

from __future__ import annotations

from raincheck.impl.gms.core import Gms
from raincheck.impl.gms.events import ReceiveJoin
from raincheck.impl.messages import Address, Endpoint, View

_MAX_JOINING = 256


class Admission:
    """The leader's side of a JOIN."""

    def __init__(self, core: Gms, endpoints: dict[Address, Endpoint]) -> None:
        self._core = core
        self._endpoints = endpoints
        self.wants_state: set[Address] = set()
        """Joiners that want the group's state once they are admitted."""

    def refuses(self, joiner: Address, endpoint: Endpoint) -> str:
        """Return why a process cannot be admitted; "" if it can."""
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
        """Queue a joiner that is not refused."""
        if len(self._core.joining) >= _MAX_JOINING:
            return  # the joiner repeats its request
        self._endpoints[joiner] = endpoint
        if state:
            self.wants_state.add(joiner)
        self._core.handle(ReceiveJoin(joiner))

    def admitted(self, view: View) -> tuple[Address, ...]:
        """Return those joiners of the view that want the state, if this member admitted them."""
        mine = view.id.coordinator == self._core.me
        wanting = tuple(m for m in view.joiners if mine and m in self.wants_state)
        self.wants_state &= self._core.joining
        return wanting
