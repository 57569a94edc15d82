"""The requester of a state: it asks, fetches chunk by chunk, and tries another provider."""

from __future__ import annotations

from .events import (
    Ask,
    Begun,
    Effect,
    Failed,
    HandUp,
    ReceiveChunk,
    ReceiveGo,
    ReceiveRefuse,
    SendAsk,
    SendCancel,
    SendCredit,
    SendDone,
    SendRequest,
    StateSet,
    Take,
    TimeOut,
)
from .local import Local


class Requester(Local):
    """The handlers of a requester."""

    def ask(self, _event: Ask) -> list[Effect]:
        """The application wants the group's state."""
        self._guard("Ask", "phase", self.phase in ("idle", "set", "failed"), self.phase)
        return self._ask()

    def receive_go(self, event: ReceiveGo) -> list[Effect]:
        """The group is flushed: fetch the state."""
        if self.repairs.living_leader and event.sender in self.suspects:
            return self._count("state_go_of_one_gone")  # its DONE would reach nobody
        if self.phase == "setting":  # the state is here already, of this very cut
            self.leader = event.sender
            return []
        if self.phase not in ("asking", "fetching"):
            return [SendDone(event.sender, self.phase == "set")]
        effects = self._cancel()
        self.leader, self.cut = event.sender, event.cut
        self.candidates = event.providers
        return effects + self._try_next()

    def receive_chunk(self, event: ReceiveChunk) -> list[Effect]:
        """CHUNK: hand it up if it is the next one, of this transfer and this cut."""
        repairs, mine = self.repairs, (self.provider, self.attempt)
        if self.phase != "fetching" or (
            repairs.transfer_ids and (event.sender, event.transfer) != mine
        ):
            return self._count("state_chunk_of_another_transfer")
        if repairs.check_cut and event.cut != self.cut:
            return self._reject("state_chunk_of_another_cut")
        if repairs.check_chunk and (event.number != self.next or not event.sound):
            return self._reject("state_chunk_damaged")
        if repairs.credits and event.number > self.granted:
            return self._reject("state_chunk_beyond_credit")
        self.next += 1
        if event.last:
            self.phase = "setting"
        return [HandUp(event.payload, event.last)]

    def take(self, _event: Take) -> list[Effect]:
        """The application has taken a chunk: there is room for more."""
        here = self.phase in ("fetching", "setting") and self.taken < self.next - 1
        self._guard("Take", "taken < next - 1", here, (self.phase, self.taken, self.next))
        self.taken += 1
        upto = self.taken + self.window
        if self.phase != "fetching" or self.provider is None:
            return []
        if upto - self.granted < max(1, self.window // 2):  # one CREDIT for several chunks
            return []
        self.granted = upto
        return [SendCredit(self.provider, self.attempt, upto)]

    def receive_refuse(self, event: ReceiveRefuse) -> list[Effect]:
        """REFUSE: the provider cannot give its state; ask another one."""
        if self.phase != "fetching" or (event.sender, event.transfer) != (
            self.provider,
            self.attempt,
        ):
            return self._count("state_refusal_of_another_transfer")
        return self._try_next()

    def time_out(self, _event: TimeOut) -> list[Effect]:
        """The provider is silent: ask another one."""
        self._guard("TimeOut", "phase", self.phase == "fetching", self.phase)
        return self._reject("state_provider_silent")

    def state_set(self, event: StateSet) -> list[Effect]:
        """set_state is over: the messages behind the cut may be delivered."""
        whole = self.phase == "setting" or (self.phase == "fetching" and not event.ok)
        self._guard("StateSet", "phase", whole, self.phase)
        effects = self._cancel()
        self.phase = "set" if event.ok else "failed"
        self.newcomer = False
        return effects + self._done(event.ok)

    # ------------------------------------------------------------------ parts of these

    def _ask(self) -> list[Effect]:
        self.leader = next((m for m in self.members if m not in self.suspects), None)
        if self.leader is None:
            return self._fail()
        self.phase = "asking"
        return [SendAsk(self.leader)]

    def _cancel(self) -> list[Effect]:
        """Tell the provider, unless it is gone or has sent everything."""
        if self.phase != "fetching" or self.provider is None or self.provider in self.suspects:
            return []
        return [SendCancel(self.provider, self.attempt)]

    def _reject(self, reason: str) -> list[Effect]:
        self.counters[reason] += 1
        cancelled = self._cancel()
        if not self.repairs.next_provider:
            return cancelled
        return cancelled + self._try_next()

    def _try_next(self) -> list[Effect]:
        left = tuple(m for m in self.candidates if m not in self.suspects and m != self.me)
        if not left:
            return self._fail()
        self.provider, self.candidates = left[0], left[1:]
        self.phase = "fetching"
        self.attempt += 1
        self.next, self.taken, self.granted = 1, 0, self.window
        begun = [Begun(self.provider, self.attempt)] if self.repairs.one_reading else []
        return [*begun, SendRequest(self.provider, self.attempt, self.window)]

    def _fail(self) -> list[Effect]:
        self.phase = "failed"
        asked = "no member is left to ask" if self.leader is None else "no member could give it"
        return [Failed(f"{self.me} did not get the group's state: {asked}"), *self._done(False)]

    def _done(self, ok: bool) -> list[Effect]:
        if self.leader is None or self.leader in self.suspects:
            return []
        return [SendDone(self.leader, ok)]
