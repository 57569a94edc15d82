"""The meaning of a step of SEQUENCER, found from two states of `spec/Sequencer.tla`.

A message is named by its sender and its number among the messages of that application: b2 is b's
second. The states hold no identities of network messages; identities are assigned here as the
channels grow.
"""

from collections.abc import Iterator
from typing import Final

from raincheck.conformance.report.sequence import Event, Message

from .names import State, members_name, message_name, running
from .witness import witness

__all__ = ["absent", "members", "tell", "witness"]

_MARKS: Final = {"InstallView": "view", "Join": "join", "Restart": "restart"}
_ENDS: Final = {"Crash": "crash", "Stop": "leave"}


def members(states: list[State]) -> tuple[str, ...]:
    """All nodes, in order of rank."""
    return tuple(states[0]["status"]) if states else ()


def absent(state: State) -> frozenset[str]:
    """Return the nodes that are still joining, or gone."""
    return frozenset(n for n, status in state["status"].items() if not running(status))


def tell(steps: list[tuple[str, State, State]]) -> list[Event]:
    """Return an event for each step."""
    teller = _Teller()
    return [teller.step(action, before, after) for action, before, after in steps]


def _changed(name: str, before: State, after: State) -> list[str]:
    return [n for n in after[name] if before[name][n] != after[name][n]]


def _stream_read(n: str, before: State, after: State) -> str:
    """Return the owner of the stream that n read on in."""
    return str(next(c for c, p in after["position"][n].items() if p != before["position"][n][c]))


class _Teller:
    """Keeps the identities of the messages under way."""

    def __init__(self) -> None:
        self.count = 0
        self.forwards: dict[tuple[str, str], list[int]] = {}
        self.streams: dict[str, list[int]] = {}
        self.answers: dict[str, int] = {}

    def step(self, action: str, before: State, after: State) -> Event:
        """Return the event of one step."""
        received, source = self.taken(action, before, after)
        sent = tuple(self.put(before, after))
        node = self.actor(action, before, after)
        mark = {**_MARKS, **_ENDS}.get(action, "")
        if action == "Restart":
            self.streams[node] = []
        told = getattr(self, f"on_{action}", None)
        text = told(node, before, after) if told else ""
        if action == "ReceiveForward" and not sent and "drops" in text:
            mark = "drop"
        arguments = ", ".join(filter(None, (node, source)))
        call = f"{action}({arguments})" if arguments else action
        return Event(0, node, call, text, sent, received, mark)

    def actor(self, action: str, before: State, after: State) -> str:
        """Return the node whose handler made the step; "" is the membership service."""
        telling = {
            "Send": "said",
            "ReceiveData": "position",
            "InstallView": "view",
            "Resend": "resend",
            "Forge": "said",
            "Acknowledge": "told",
            "ReceiveAck": "heard",
            "Announce": "announced",
            "ReceiveSafe": "held",
        }.get(action, "status")
        if action == "ReceiveForward":
            return next((n for _, n in self.shrunk(before, after)), "")
        if action in ("ViewChange", "Demote", "Corrupt"):
            return ""
        return next(iter(_changed(telling, before, after)), "")

    @staticmethod
    def shrunk(before: State, after: State) -> Iterator[tuple[str, str]]:
        """Return the channels (from, to) that have become shorter."""
        for s, channels in after["forwards"].items():
            for n, channel in channels.items():
                if len(channel) < len(before["forwards"][s][n]):
                    yield s, n

    def taken(self, action: str, before: State, after: State) -> tuple[Message | None, str]:
        """Return the message that this step consumed, and its sender by the action's argument;
        forget the messages that can never be consumed.
        """
        found, source = None, ""
        for s, n in self.shrunk(before, after):
            old, new = before["forwards"][s][n], after["forwards"][s][n]
            ids = self.forwards.setdefault((s, n), [])
            if action == "ReceiveForward":
                place = next(i for i in range(len(old)) if old[:i] + old[i + 1 :] == new)
                found = Message(ids.pop(place), f"FORWARD {message_name(old[place]['message'])}", n)
                source = s
            else:  # lost with the process that would have received it
                ids[:] = ids[: len(new)]
        if action == "ReceiveData":
            n = next(iter(_changed("position", before, after)))
            source = _stream_read(n, before, after)
            place = after["position"][n][source] - 1
            label = f"DATA {message_name(before['stream'][source][place]['message'])}"
            found = Message(self.streams[source][place], label)
        if action == "Join":
            n = next(iter(_changed("status", before, after)))
            found = Message(self.answers[n], "JOIN_RSP", n)
        return found, source

    def put(self, before: State, after: State) -> Iterator[Message]:
        """Return the messages that this step sent."""
        for s, channels in after["forwards"].items():
            for n, channel in channels.items():
                for f in channel[len(before["forwards"][s][n]) :]:
                    self.count += 1
                    self.forwards.setdefault((s, n), []).append(self.count)
                    yield Message(self.count, f"FORWARD {message_name(f['message'])}", n)
        for c, stream in after["stream"].items():
            ids = self.streams.setdefault(c, [])
            del ids[len(stream) :]  # what nobody received is gone with its coordinator
            for d in stream[len(before["stream"][c]) :]:
                self.count += 1
                ids.append(self.count)
                yield Message(self.count, f"DATA {message_name(d['message'])}")
        for n, answer in after["joinRsp"].items():
            if answer and not before["joinRsp"][n]:
                self.count += 1
                self.answers[n] = self.count
                yield Message(self.count, "JOIN_RSP", n)

    def on_Acknowledge(self, n: str, _before: State, after: State) -> str:
        """Says how much of the stream has arrived."""
        return f"{n} acknowledges {after['told'][n]} of its coordinator's multicasts"

    def on_ReceiveAck(self, n: str, _before: State, _after: State) -> str:
        """Says who hears it."""
        return f"{n} receives an acknowledgement"

    def on_Announce(self, n: str, _before: State, after: State) -> str:
        """Says what all have."""
        return f"{n} announces that all have received {after['announced'][n]} of its multicasts"

    def on_ReceiveSafe(self, n: str, before: State, after: State) -> str:
        """Names what is delivered."""
        new = after["delivered"][n][len(before["delivered"][n]) :]
        return f"{n} delivers {', '.join(message_name(each['message']) for each in new)}"

    def on_Send(self, n: str, before: State, after: State) -> str:
        """Names the message and the way that it takes."""
        message = f"{n}{after['said'][n]}"
        tag = f"seqno {after['seqno'][n]}"
        if len(after["stream"][n]) > len(before["stream"][n]):
            return f"{n} is the coordinator and multicasts its {message} ({tag})"
        sent = [
            to
            for to, channel in after["forwards"][n].items()
            if len(channel) > len(before["forwards"][n][to])
        ]
        if sent:
            return f"{n} forwards its {message} ({tag}) to {sent[0]}"
        return f"{n} forwards its {message} ({tag}) to a coordinator that is gone: it is lost"

    def on_Resend(self, n: str, before: State, after: State) -> str:
        """Says where the message goes this time."""
        message = message_name(before["resend"][n][0])
        if len(after["stream"][n]) > len(before["stream"][n]):
            return f"{n} multicasts {message} again, as coordinator"
        return f"{n} forwards {message} again"

    def on_ReceiveForward(self, n: str, before: State, after: State) -> str:
        """Says what became of the FORWARD."""
        s, _ = next(self.shrunk(before, after))
        old, new = before["forwards"][s][n], after["forwards"][s][n]
        place = next(i for i in range(len(old)) if old[:i] + old[i + 1 :] == new)
        message = message_name(old[place]["message"])
        if len(after["stream"][n]) > len(before["stream"][n]):
            return f"{n} sequences {message} of {s}: it multicasts it"
        if len(after["early"][n]) > len(before["early"][n]):
            return f"{n} keeps {message} of {s} for the view that it has not installed yet"
        if old[place]["message"]["from"][0] != s:
            return f"{n} drops {message}, which {s} sends in another's name"
        if before["view"][n] and old[place]["view"] < before["view"][n]:
            return f"{n} drops {message} of {s}, which is of an older view"
        if before["views"][before["view"][n] - 1]["members"][0][0] == n:
            return f"{n} drops {message} of {s}, which is no member"
        return f"{n} drops {message} of {s}, since it is not the coordinator"

    def on_ReceiveData(self, n: str, before: State, after: State) -> str:
        """Says whether it was delivered, and what else it did."""
        c = _stream_read(n, before, after)
        message = message_name(before["stream"][c][after["position"][n][c] - 1]["message"])
        new = len(after["delivered"][n]) > len(before["delivered"][n])
        text = f"{n} delivers {message}" if new else f"{n} discards {message} as a duplicate"
        if len(after["held"][n]) > len(before["held"][n]):
            text = f"{n} receives {message} and holds it until all have it"
        if len(after["forwardTable"][n]) < len(before["forwardTable"][n]):
            text += " and takes it out of its forwardTable"
        return text

    def on_Stabilise(self, n: str, before: State, after: State) -> str:
        """Says which messages are stable."""
        gone = before["forwardTable"][n] - after["forwardTable"][n]
        names = ", ".join(sorted(map(message_name, gone)))
        return f"all members of {n}'s view have {names}: {n} takes it out of its forwardTable"

    def on_InstallView(self, n: str, before: State, after: State) -> str:
        """Says which view, what is delivered before it, and what is to be resent."""
        number = after["view"][n]
        text = f"{n} installs view {number} ({members_name(after['views'][number - 1])})"
        if after["resend"][n]:
            text += f", will resend {', '.join(map(message_name, after['resend'][n]))}"
        if before["held"][n]:
            names = ", ".join(message_name(each["message"]) for each in before["held"][n])
            text = f"{n} delivers {names}, and then {text}"
        return text

    def on_Join(self, n: str, _before: State, after: State) -> str:
        """Says where it starts."""
        return f"{n} is a member of view {after['view'][n]} now"

    def on_Leave(self, n: str, _before: State, _after: State) -> str:
        """leave() has been called."""
        return f"{n} wants to leave and sends nothing new"

    def on_Stop(self, n: str, _before: State, _after: State) -> str:
        """leave() has returned."""
        return f"{n} has left"

    def on_Crash(self, n: str, _before: State, _after: State) -> str:
        """The process is gone."""
        return f"{n} crashes"

    def on_Restart(self, n: str, _before: State, after: State) -> str:
        """The process is back."""
        return f"{n} comes back, in life {after['incarnation'][n] + 1}, and asks to join"

    def on_Forge(self, n: str, before: State, after: State) -> str:
        """Names the FORWARD that nobody sent, and the address from which it comes."""
        for source, channels in after["forwards"].items():
            for to, channel in channels.items():
                if len(channel) > len(before["forwards"][source][to]):
                    message = message_name(channel[-1]["message"])
                    where = "" if source == n else f" from {source}'s address"
                    return f"{n}, a stranger, forwards {message} to {to}{where}"
        return ""

    def on_Corrupt(self, _n: str, before: State, after: State) -> str:
        """Names the FORWARD before and after."""
        for s, channels in after["forwards"].items():
            for n, channel in channels.items():
                for old, new in zip(before["forwards"][s][n], channel, strict=True):
                    if old != new:
                        was, now = message_name(old["message"]), message_name(new["message"])
                        return f"the FORWARD of {was} from {s} to {n} becomes one of {now}"
        return ""

    def on_ViewChange(self, _n: str, before: State, after: State) -> str:
        """Names the view, and what was lost with the old coordinator."""
        views = after["views"]
        text = f"view {len(views)} is decided: {members_name(views[-1])}"
        lost = [
            message_name(d["message"])
            for c, stream in before["stream"].items()
            for d in stream[len(after["stream"][c]) :]
        ]
        return text + (f"; {', '.join(lost)} is lost, nobody had it" if lost else "")

    def on_Demote(self, n: str, before: State, after: State) -> str:
        """The same, said of a coordinator that lives."""
        return f"{self.on_ViewChange(n, before, after)}; the old coordinator loses its role"
