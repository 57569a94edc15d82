"""Large conforming traces of a group at work, for measuring: written from templates, not walked.

Each round every member sends one run, the coordinator relays the others', and everybody delivers
all of them. A round of m members is 2 m - 1 + m² events. In the end all of them go on to a second
view, with another coordinator. That they conform is the checker's word.
"""

from pathlib import Path

from raincheck.conformance.trace.events import Header, Run, ViewRecord, encode

CRC = 907060870


def rounds_for(events: int, members: int) -> int:
    """How many rounds make about that many events."""
    return max(1, events // (2 * members - 1 + members * members))


def write_steady(
    folder: Path,
    events: int,
    members: int = 3,
    size: int = 1,
    run: str = "steady",
    *,
    change: bool = True,
) -> list[Path]:
    """Write a trace of about that many events, one file per member; return the files.

    Without `change` it ends in the view that it begins in.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"n{i:02}" for i in range(members)]
    first = ViewRecord(1, tuple((name, 0) for name in names))
    rounds = rounds_for(events, members)
    paths = []
    for name in names:
        path = folder / f"{run}.{name}.0.jsonl"
        header = Header(
            version=1,
            run=run,
            protocol="sequencer",
            node=name,
            incarnation=0,
            nodes=tuple(names),
            initial=first,
        )
        with path.open("wb", buffering=1 << 20) as file:
            file.write(encode(header) + b"\n")
            writer = _Member(run, name, names, size)
            for number in range(rounds):
                file.write("".join(writer.round(number)).encode())
            if change:
                file.write(writer.next_view(rounds).encode())
            file.write(
                f'{{"kind":"footer","run":"{run}","node":"{name}","incarnation":0,'
                f'"index":{writer.index}}}\n'.encode()
            )
        paths.append(path)
    return paths


class _Member:
    """Writes what one member does in each round."""

    def __init__(self, run: str, name: str, names: list[str], size: int) -> None:
        self.run, self.name, self.names, self.size = run, name, names, size
        self.index = 0
        self.top = dict.fromkeys(names, 0)

    def round(self, number: int) -> list[str]:
        """The lines of one round: send, relay, deliver."""
        names, size = self.names, self.size
        head, low = names[0], number * size + 1
        base = number * 4 * len(names)
        high, clock = low + size - 1, base + 1
        table = f'"forwardTable":[[{low},{high}]]'
        changed = f'"seqno":{high},"said":{high},{table}'
        first_position = number * size * len(names) + 1
        lines = []
        mine: Run = (self.name, 0, low, size)
        if self.name == head:
            sent = _data(head, first_position, mine)
            lines.append(self._line(clock, "Send", _run(mine), "null", sent, changed))
            for place, other in enumerate(names[1:], start=1):
                theirs: Run = (other, 0, low, size)
                channel = f'["FORWARD","{other}",0,"{head}",0,{low}]'
                arguments = f'"from":["{other}",0],{_run(theirs)},"view":1,"crc":{CRC}'
                sent = _data(head, first_position + place * size, theirs)
                line = self._line(clock + place, "ReceiveForward", arguments, channel, sent, "")
                lines.append(line)
        else:
            sent = (
                f'{{"id":["FORWARD","{self.name}",0,"{head}",0,{low}],"to":["{head}",0],'
                f'"view":1,{_run(mine)},"crc":{CRC}}}'
            )
            lines.append(self._line(clock, "Send", _run(mine), "null", sent, changed))
        for place, other in enumerate(names):
            lines.append(self._delivery(other, low, base + 2 * len(names) + place, place, number))
        return lines

    def next_view(self, rounds: int) -> str:
        """The line of a view in which the second member is the coordinator."""
        members = ",".join(f'["{name}",0]' for name in [*self.names[1:], self.names[0]])
        clock = (rounds + 1) * 4 * len(self.names)
        arguments = f'"view":2,"members":[{members}]'
        return self._line(clock, "InstallView", arguments, "null", "", '"view":2')

    def _delivery(self, sender: str, low: int, clock: int, place: int, number: int) -> str:
        size = self.size
        theirs: Run = (sender, 0, low, size)
        position = number * size * len(self.names) + place * size + 1
        self.top[sender] = low + size - 1
        table = ",".join(f'["{n}",0,{top}]' for n, top in self.top.items() if top)
        arguments = (
            f'"from":["{sender}",0],{_run(theirs)},"view":1,"position":{position},"crc":{CRC}'
        )
        changed = (
            f'"receivedTable":[{table}],"position":[["{self.names[0]}",0,{position + size - 1}]],'
            f'"delivered":{{"view":1,{_run(theirs)}}}'
        )
        if sender == self.name:
            changed += ',"forwardTable":[]'
        received = f'["DATA","{self.names[0]}",0,{position}]'
        return self._line(clock, "ReceiveData", arguments, received, "", changed)

    def _line(
        self, clock: int, action: str, args: str, received: str, sent: str, changed: str
    ) -> str:
        self.index += 1
        return (
            f'{{"kind":"event","run":"{self.run}","protocol":"sequencer","node":"{self.name}",'
            f'"incarnation":0,"index":{self.index},"clock":{clock},"action":"{action}",'
            f'"args":{{{args}}},"received":{received},"sent":[{sent}],"changed":{{{changed}}}}}\n'
        )


def _run(run: Run) -> str:
    return f'"messages":["{run[0]}",{run[1]},{run[2]},{run[3]}]'


def _data(coordinator: str, position: int, run: Run) -> str:
    return (
        f'{{"id":["DATA","{coordinator}",0,{position}],"to":null,"view":1,{_run(run)},"crc":{CRC}}}'
    )
