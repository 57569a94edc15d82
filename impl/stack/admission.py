"""Admission: the checks that the leader makes of a JOIN, and the joiners that want the state."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable

from raincheck.impl.gms.core import Gms
from raincheck.impl.messages import Address, Endpoint, View, shown
from raincheck.impl.networks import inside

from .config import StackConfig

_log = logging.getLogger("raincheck")
_MAX_JOINING = 256
_MINUTE = 60.0
_OF_ALL = 10  # as many times the admissions of one endpoint may there be of all


class Admission:
    """The leader's side of a JOIN."""

    def __init__(self, core: Gms, endpoints: dict[Address, Endpoint], config: StackConfig) -> None:
        self._core = core
        self._endpoints = endpoints
        admit = config.admit
        self._admit: Callable[[Address, Endpoint], bool] | None = None
        if callable(admit):
            self._admit = admit
        elif admit is not None:
            within = inside(admit, "admit")
            self._admit = lambda _joiner, endpoint: within(endpoint)
        self._limit = config.joins_per_minute
        self._lately: deque[tuple[float, Endpoint]] = deque()  # admissions of the last minute
        self.wants_state: set[Address] = set()
        """Joiners that want the group's state once they are admitted."""

    def refuses(self, joiner: Address, endpoint: Endpoint) -> str:
        """Return why a process cannot be admitted; "" if it can."""
        if not self.may_join(joiner, endpoint):
            return f"{endpoint[0]} is not among those that this group admits"
        core = self._core
        later = core.refuses(joiner)
        if later is not None:
            return f"{later} is a member, a later incarnation of {joiner.node}"
        known = self._endpoints.get(joiner, endpoint)
        if known == endpoint:
            return ""
        if joiner in core.members and joiner not in core.gone:
            return f"{joiner} is a member already, at {shown(known)}; choose another name"
        if joiner in core.joining:
            return f"{joiner} is joining already, from {shown(known)}; choose another name"
        return ""

    def may_join(self, joiner: Address, endpoint: Endpoint) -> bool:
        """Whether `admit` lets that process in."""
        admit = self._admit
        if admit is None:
            return True
        try:
            return bool(admit(joiner, endpoint))
        except Exception:  # noqa: BLE001 (whatever the application raises)
            _log.exception("admit failed for %s at %s, who is refused", joiner, endpoint)
            return False

    def too_often(self, joiner: Address, endpoint: Endpoint, now: float) -> bool:
        """Count an admission, unless there were too many in the last minute: then it waits."""
        if joiner in self._core.joining or joiner in self._core.members:
            return False
        lately = self._lately
        while lately and now - lately[0][0] >= _MINUTE:
            lately.popleft()
        here = sum(place == endpoint for _, place in lately)
        if here >= self._limit or len(lately) >= _OF_ALL * self._limit:
            return True
        lately.append((now, endpoint))
        return False

    def takes(self, joiner: Address, endpoint: Endpoint, state: bool) -> bool:
        """Note what a joiner that is not refused wants, unless too many wait: it repeats it."""
        if len(self._core.joining) >= _MAX_JOINING:
            return False
        self._endpoints[joiner] = endpoint
        if state:
            self.wants_state.add(joiner)
        return True

    def admitted(self, view: View) -> tuple[Address, ...]:
        """Return those joiners of the view that want the state, if this member admitted them."""
        mine = view.id.coordinator == self._core.me
        wanting = tuple(m for m in view.joiners if mine and m in self.wants_state)
        self.wants_state &= self._core.joining
        return wanting
