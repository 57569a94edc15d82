"""The delivery log of a member of a run, in the format of docs/trace-format.md."""

import json
from pathlib import Path


class Log:
    """The delivery log, in the format of docs/trace-format.md; each call is one write."""

    def __init__(self, path: Path, member: str) -> None:
        self._file = path.open("x", encoding="utf-8")
        self._member = member
        self.position = 0
        """The last position: how many deliveries and states are recorded."""

    def row(self, event: str, **fields: object) -> None:
        """Append a row that is not a delivery."""
        self._write(json.dumps({"member": self._member, "event": event, **fields}) + "\n")

    def sends(self, view: int, first: int, count: int) -> None:
        """Record the messages that are about to be sent."""
        self._write(
            "".join(
                f'{{"member":"{self._member}","view":{view},"message":{number},'
                f'"position":{number},"event":"send"}}\n'
                for number in range(first, first + count)
            )
        )

    def delivered(self, sender: str, view: int, numbers: list[int]) -> None:
        """Append deliveries."""
        first, self.position = self.position + 1, self.position + len(numbers)
        self._write(
            "".join(
                f'{{"member":"{self._member}","view":{view},"sender":"{sender}",'
                f'"message":{number},"position":{position}}}\n'
                for position, number in enumerate(numbers, first)
            )
        )

    def took_state(self, view: int, provider: str, after: int) -> None:
        """Record a state that was taken: what `provider` had at that position of its log."""
        self.position += 1
        self.row("state", position=self.position, view=view, sender=provider, after=after)

    def close(self) -> None:
        """Record that the log is complete."""
        self.row("end", position=self.position)
        self._file.close()

    def _write(self, text: str) -> None:
        self._file.write(text)
        self._file.flush()
