"""The words for each of Raincore's steps."""

from collections.abc import Iterator
from typing import Any

from .witness import State, epoch_name, list_name, number_name

_FAILURES = ("TokenUndelivered", "Undelivered911")


def message_name(message: Any, names: tuple[str, ...]) -> str:
    """Return a message as people name it: "token 16 ACD", "911 of A"."""
    if message["kind"] == "token":
        return f"token {number_name(message, names)} {list_name(message['nodelist'])}"
    if message["status"] == "no":
        return f"NO to {message['orig']}'s 911"
    claim = f" claims {epoch_name(message['claim'], names)}" if message["phase"] == "claim" else ""
    return f"911 of {message['orig']}{claim}"


class Words:
    """Describes what a member, or the environment, does in a step; has the members in order of
    rank.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def of_member(
        self, action: str, node: str, taken: Any, before: State, after: State
    ) -> tuple[str, str]:
        """Return what the member does in this step, and the mark of the event."""
        told = getattr(self, f"on_{action}", None)
        text = told(node, taken, before, after) if told else ""
        commits = list(self._commits(node, before, after))
        if commits:
            text = f"{text}; {', '.join(commits)}" if text else ", ".join(commits)
        if action in _FAILURES:
            return text, "drop"
        if before["up"][node] == "up" and after["up"][node] == "left":
            return text, "leave"
        if " drops " in text or " ignores " in text:
            return text, "drop"
        return text, "view" if any(each.startswith("commits") for each in commits) else ""

    def _commits(self, node: str, before: State, after: State) -> Iterator[str]:
        old, new = before["globalView"][node], after["globalView"][node]
        for index, view in enumerate(new, 1):
            if index > len(old) or old[index - 1] != view:
                yield (
                    f"commits {list_name(view)} as view {index}" if view else f"has NULL at {index}"
                )

    def _state(self, node: str, before: State, after: State) -> str:
        old, new = before["viewState"][node], after["viewState"][node]
        return new.upper() if old == new else f"{old.upper()} → {new.upper()}"

    def _number(self, node: str, state: State) -> str:
        return number_name(state["lastToken"][node], self.names)

    def on_Initialise(self, n: str, _taken: Any, _before: State, after: State) -> str:
        """A founder or a joiner."""
        copy = after["lastToken"][n]
        if after["tokenState"][n] == "eating":
            return f"{n} founds the ring {list_name(copy['nodelist'])} and holds its token"
        if copy["nodelist"]:
            return f"{n} is a founder and waits for the token"
        return f"{n} starts and asks {after['contacts'][n][0]} to be let in"

    def on_ReceiveToken(self, n: str, t: Any, before: State, after: State) -> str:
        """Taken or dropped."""
        number = number_name(t, self.names)
        if before["lastToken"][n] == after["lastToken"][n]:
            return f"{n} drops the token {number}: {self._why(n, t, before)}"
        had = before["tokenState"][n]
        text = f"{n} has the token {number}, list {list_name(t['nodelist'])}"
        text += f", {self._state(n, before, after)}"
        return text + (f" (it was {had})" if had != "hungry" else "")

    def _why(self, n: str, t: Any, before: State) -> str:
        copy = before["lastToken"][n]
        if n not in t["nodelist"]:
            return "it is not on the list"
        if (t["epoch"], t["seq"]) <= (copy["epoch"], copy["seq"]):
            return f"its copy is {number_name(copy, self.names)}"
        if t["epoch"] < before["promised"][n]:
            return f"it has promised {epoch_name(before['promised'][n], self.names)}"
        return "it eats already"

    def on_Receive911(self, n: str, c: Any, before: State, after: State) -> str:
        """One's own, or somebody else's."""
        if c["orig"] == n:
            return self._own(n, c, before, after)
        if before["newNodes"][n] != after["newNodes"][n]:
            return f"{n} will let {c['orig']} in"
        answers = after["network"] - before["network"]
        if any(each["kind"] == "911" and each["status"] == "no" for each in answers):
            return f"{n} says NO to {c['orig']}'s 911: {self._veto(n, c, before)}"
        if c["phase"] == "claim" and before["promised"][n] != after["promised"][n]:
            epoch = epoch_name(c["claim"], self.names)
            return f"{n} grants {c['orig']} epoch {epoch} and passes its 911 on"
        if answers:
            return f"{n} passes {c['orig']}'s 911 on with YES"
        return f"{n} has {c['orig']} on its list of new nodes already"

    def _own(self, n: str, c: Any, before: State, after: State) -> str:
        if after["tokenState"][n] == "eating" != before["tokenState"][n]:
            made = after["lastToken"][n]
            return (
                f"{n}'s 911 is back with YES: it makes the token "
                f"{number_name(made, self.names)} anew, list {list_name(made['nodelist'])}"
            )
        if c["status"] == "no":
            return f"{n} is told NO"
        if after["phase"][n] == "claim" != before["phase"][n]:
            epoch = epoch_name(after["wanted"][n], self.names)
            return f"{n}'s 911 is back with YES: it claims epoch {epoch}"
        if before["phase"][n] == "claim" != after["phase"][n]:
            return f"{n}'s claim is back, granted by {list_name(sorted(c['granted']))}: too few"
        return f"{n} ignores its own 911: it is {before['tokenState'][n]}"

    def _veto(self, n: str, c: Any, before: State) -> str:
        copy = before["lastToken"][n]
        mine, theirs = (copy["epoch"], copy["seq"]), (c["epoch"], c["seq"])
        if before["tokenState"][n] == "eating":
            return "it eats"
        if mine > theirs:
            return f"its copy is {number_name(copy, self.names)}"
        if mine == theirs and self.names.index(n) > self.names.index(c["orig"]):
            return "it has the same number and a higher rank"
        return f"it has promised {epoch_name(before['promised'][n], self.names)}"

    def on_TokenUndelivered(self, n: str, t: Any, before: State, after: State) -> str:
        """The failure of a pass."""
        text = f"{n} is told that the token {number_name(t, self.names)} did not reach {t['to']}"
        if before["lastToken"][n] != after["lastToken"][n]:
            goes = after["lastToken"][n]
            if after["tokenState"][n] == "eating":
                return f"{text}: it is alone, and keeps it"
            name, to = list_name(goes["nodelist"]), goes["to"]
            return f"{text}: list {name}, the token {number_name(goes, self.names)} goes to {to}"
        if after["phase"][n] == "claim":
            return f"{text}: it claims epoch {epoch_name(after['wanted'][n], self.names)}"
        if before["attempt"][n] != after["attempt"][n]:
            return f"{text}: it is starving and sends a 911"
        return text

    def on_Undelivered911(self, n: str, c: Any, before: State, after: State) -> str:
        """The failure of a 911."""
        mine = "its" if n == c["orig"] else f"{c['orig']}'s"
        what = f"its NO to {c['orig']}'s 911" if c["status"] == "no" else f"{mine} 911"
        text = f"{n} is told that {what} did not reach {c['to']}"
        next_ones = [m["to"] for m in after["network"] - before["network"] if m["kind"] == "911"]
        return f"{text}: it goes to {next_ones[0]}" if next_ones else text

    def on_EatingTimeout(self, n: str, _taken: Any, before: State, after: State) -> str:
        """The token goes on."""
        old, new = before["lastToken"][n], after["lastToken"][n]
        text = ""
        come = [each for each in new["nodelist"] if each not in old["nodelist"]]
        if come:
            text = f"{n} lets {list_name(come)} in, list {list_name(new['nodelist'])}, and "
        elif old["nodelist"] != new["nodelist"]:
            text = f"{n} takes itself off the list, {list_name(new['nodelist'])}, and "
        if after["up"][n] == "left":
            return f"{n}, which is alone, has left"
        if after["tokenState"][n] == "eating":
            return f"{text or f'{n} '}keeps the token, alone, {self._state(n, before, after)}"
        return f"{text or f'{n} '}passes the token {number_name(new, self.names)} to {new['to']}"

    def on_HungryTimeout(self, n: str, _taken: Any, before: State, after: State) -> str:
        """Starvation."""
        number = self._number(n, after)
        state = self._state(n, before, after)
        return f"{n} is starving ({state}) and sends a 911 with its copy's number {number}"

    def on_StarvingTimeout(self, n: str, _taken: Any, _before: State, after: State) -> str:
        """The same again."""
        return f"{n} sends another 911, with its copy's number {self._number(n, after)}"

    def on_TokenDelivered(self, n: str, _taken: Any, _before: State, _after: State) -> str:
        """The end of a leave."""
        return f"{n} knows that its last token has arrived: it has left"

    def on_Multicast(self, n: str, _taken: Any, _before: State, after: State) -> str:
        """The application's wish."""
        return f"{n}'s application multicasts: {n}{after['said'][n] + after['outbox'][n]} waits"

    def on_Wanted(self, n: str, _taken: Any, before: State, after: State) -> str:
        """Another one's wish."""
        (new,) = after["awaited"][n] - before["awaited"][n] or {"somebody"}
        return f"{n} hears that {new} wants the token"

    def on_Gap(self, n: str, _taken: Any, before: State, after: State) -> str:
        """It goes on."""
        text = f"{n}, which stood still, goes on"
        if before["attempt"][n] != after["attempt"][n]:
            return f"{text}: it is starving and sends a 911"
        return f"{text}, {self._state(n, before, after)}"

    def on_Leave(self, n: str, _taken: Any, _before: State, _after: State) -> str:
        """The application's wish."""
        return f"{n} wants to leave"

    def on_Crash(self, n: str, _taken: Any, before: State, _after: State) -> str:
        """The process is gone."""
        holds = before["tokenState"][n] == "eating"
        return f"{n} crashes" + (", and the token with it" if holds else "")

    def on_Recover(self, n: str, _taken: Any, _before: State, after: State) -> str:
        """It is back as it was."""
        return f"{n} is back with its copy {self._number(n, after)} and sends a 911"

    def on_Forget(self, n: str, _taken: Any, _before: State, after: State) -> str:
        """It is back as somebody else, or as a blank."""
        if after["up"][n] == "left":
            return f"{n} has lost its state: its next life has another name"
        return f"{n} has lost its state, and keeps its name"

    def of_nobody(self, action: str, taken: Any, after: State) -> str:
        """Return in words what the environment does in this step."""
        if action == "Split":
            one = [node for node, side in after["side"].items() if side]
            rest = [node for node in self.names if node not in one]
            return f"{list_name(one)} and {list_name(rest)} are cut off from each other"
        if action == "Pause":
            return f"{next(node for node, side in after['side'].items() if side)} stands still"
        if action == "Heal":
            return "all can reach each other again"
        if taken is None:
            return ""
        label = message_name(taken, self.names)
        if action == "Lose":
            return f"the {label} to {taken['to']} is lost: its sender is dead"
        if action == "Forge":
            return f"a stranger sends {taken['to']} the {label}, as {taken['current']}"
        if action == "Corrupt":
            return f"the {label} to {taken['to']} becomes another message on its way"
        lost = taken not in after["network"]
        return f"{taken['current']} will be told that the {label} did not reach {taken['to']}" + (
            ", and it never does" if lost else ": that is not true"
        )
