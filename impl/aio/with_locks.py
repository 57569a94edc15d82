"""The named locks of a member or a client, as its application calls them."""

from __future__ import annotations

from raincheck.impl.arguments import LOCK_NAME, PLAIN_FUNCTION, TIMEOUT, check_call, optional
from raincheck.impl.locks.events import Mode

from .election import Election
from .lock_requests import Requests
from .named_lock import NamedLock
from .named_locks import NamedLocks, OnLost
from .waiting import Signal

_ON_LOST = optional(PLAIN_FUNCTION)


class WithLocks:
    """A member, or a client, with named locks and elections."""

    def _make_locks(self, requests: Requests, settled: Signal) -> None:
        self._requests = requests
        self._named = NamedLocks(requests)
        self._settled = settled

    def _look_at_locks(self) -> None:
        """Look whether the member has changed so that somebody can go on."""
        self._named.look()

    def _end_locks(self, why: str) -> None:
        """Give everything up: the member leaves, or has stopped."""
        self._requests.end()
        self._named.end(why)

    def lock(
        self,
        name: str,
        *,
        timeout: float | None = None,
        on_lost: OnLost | None = None,
    ) -> NamedLock:
        """Return one of the ring's many locks: inside `async with` this member's task has it alone.

        Who asks first, of all tasks of all members, is served first; more exactly, whose request
        comes onto the token first. `timeout` is the time-out of each acquisition, in seconds;
        `on_lost` is called with the fence at the moment when a held lock is known to be lost, and
        must not block. At the end LockLost is raised if it was.

        A member that crashes, leaves or is given up by the others loses its locks. One that is cut
        off cannot know: only a resource that compares fences is safe from a late holder.
        """
        return self._lock_of(name, "write", timeout, on_lost)

    def read_lock(
        self,
        name: str,
        *,
        timeout: float | None = None,
        on_lost: OnLost | None = None,
    ) -> NamedLock:
        """Return the lock of that name for readers, who have it together, and no writer with them.

        `lock(name)` is the writer's. All wait in one line: a reader that comes behind a writer
        waits for it, so writers are served too. The rest is as with `lock`.
        """
        return self._lock_of(name, "read", timeout, on_lost)

    def _lock_of(
        self, name: str, mode: Mode, timeout: float | None, on_lost: OnLost | None
    ) -> NamedLock:
        check_call("name", name, LOCK_NAME)
        check_call("timeout", timeout, TIMEOUT)
        check_call("on_lost", on_lost, _ON_LOST)
        return NamedLock(self._named, name, mode, timeout, on_lost)

    def election(
        self,
        name: str,
        *,
        timeout: float | None = None,
        on_lost: OnLost | None = None,
    ) -> Election:
        """Return the election of that name: inside `async with` this member's task leads.

        It is the lock of that name: who holds it leads. Where the lead is lost, the body is
        cancelled at that moment, `on_lost` is called with the fence, and LockLost is raised at the
        end. `Election.run` leads again and again; `Election.changes` says who leads. `timeout`, in
        seconds, is that of each wait to be elected.

        What a leader writes has to carry its fence: one that is cut off cannot know that another
        one leads.
        """
        check_call("name", name, LOCK_NAME)
        check_call("timeout", timeout, TIMEOUT)
        check_call("on_lost", on_lost, _ON_LOST)
        return Election(self._named, self._settled, name, timeout, on_lost)
