"""The provider of a state: it reads chunks from its application, as far as credit goes."""

from __future__ import annotations

from raincheck.impl.messages import Address

from .events import (
    Effect,
    EndState,
    GetState,
    Read,
    ReadFailed,
    ReceiveCancel,
    ReceiveCredit,
    ReceiveRequest,
    SendChunk,
    SendRefuse,
)
from .local import Local, Serving


class Provider(Local):
    """The handlers of a provider."""

    def room(self, requester: Address) -> bool:
        """Return whether the next chunk for that requester may be read now."""
        serving = self.serving.get(requester)
        return serving is not None and not (self.repairs.credits and serving.next > serving.upto)

    def receive_request(self, event: ReceiveRequest) -> list[Effect]:
        """REQUEST: begin to read this member's state, or refuse."""
        sender, transfer, upto = event
        if sender in self.suspects:
            return self._count("state_request_of_one_gone")
        if self.phase in ("fetching", "setting", "failed"):
            return [SendRefuse(sender, transfer)]  # this member has no complete state itself
        old = self.serving.get(sender)
        if old is not None and old.transfer >= transfer:
            return self._count("state_request_outdated")
        ended: list[Address] = [sender] if old is not None else []
        if not self.repairs.per_requester:
            ended = list(self.serving)
        for requester in ended:
            del self.serving[requester]
        self.serving[sender] = Serving(transfer, 1, upto)
        return [*map(EndState, ended), GetState(sender, transfer)]

    def read(self, event: Read) -> list[Effect]:
        """The application has given the next chunk."""
        requester, number, cut, last, payload = event
        serving = self.serving.get(requester)
        fits = serving is not None and number == serving.next and self.room(requester)
        self._guard("Read", "number = next and next <= upto", fits, (number, serving))
        assert serving is not None
        if last:
            del self.serving[requester]
        else:
            self.serving[requester] = serving._replace(next=number + 1)
        return [SendChunk(requester, serving.transfer, number, cut, True, last, payload)]

    def read_failed(self, event: ReadFailed) -> list[Effect]:
        """The application cannot give its state."""
        serving = self.serving.pop(event.requester, None)
        self._guard("ReadFailed", "requester in serving", serving is not None, event.requester)
        assert serving is not None
        return [SendRefuse(event.requester, serving.transfer)]

    def receive_credit(self, event: ReceiveCredit) -> list[Effect]:
        """The requester has room for more chunks."""
        serving = self.serving.get(event.sender)
        if serving is None or serving.transfer != event.transfer:
            return self._count("state_credit_outdated")
        self.serving[event.sender] = serving._replace(upto=max(serving.upto, event.upto))
        return []

    def receive_cancel(self, event: ReceiveCancel) -> list[Effect]:
        """CANCEL: stop reading."""
        serving = self.serving.get(event.sender)
        if serving is None or serving.transfer != event.transfer:
            return self._count("state_cancel_outdated")
        del self.serving[event.sender]
        return [EndState(event.sender)]
