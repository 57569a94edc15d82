"""Delivery logs judged by one call in the process that makes them, such as a test of any system.

    rows = [{"member": "p", "view": 1, "sender": "a", "message": 1, "position": 1}, …]
    raincheck.judge(rows).assert_holds("total_order")

`DeliveryLog` makes the rows, and counts their positions. `judge_logs` reads files, of our format or
of another system's. None needs more than the base installation.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Final

from raincheck.conformance.errors import UsageError
from raincheck.conformance.importers.table import DELIVERIES
from raincheck.conformance.trace.batches import Problem
from raincheck.impl.arguments import FLAG, MOST, NAMES, TEXT, Kind, check, is_whole

from .logs import Row, row_of
from .properties import Verdicts, judged
from .properties_local import answer, check_deliveries

_VIEW: Final = Kind(
    "give a view's number or its name",
    lambda value: isinstance(value, str) or (is_whole(value) and 0 <= value <= MOST),
)
_KINDS: Final = {
    "member": TEXT,
    "sender": TEXT,
    "provider": TEXT,
    "message": Kind(
        "give an id, a text or a whole number",
        lambda value: TEXT.fits(value) or (is_whole(value) and abs(value) <= MOST),
    ),
    "view": _VIEW,
    "members": NAMES,
}
_ROWS: Final = Kind(
    "give a list of rows, each a mapping of columns",
    lambda value: isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping),
)
_PATHS: Final = Kind(
    "name files with logs, or folders of them",
    lambda value: bool(value) and all(isinstance(each, str | PathLike) for each in value),
)
ROWS: Final = "rows"
"""The place of a problem with a row that came from no file; its line is the row's number."""


def judge(
    rows: Iterable[Mapping[str, Any]], *, properties: Iterable[str] = (), complete: bool = False
) -> Verdicts:
    """Judge the rows of delivery logs as `raincheck conform --log-format deliveries` does.

    A row has the columns of docs/trace-format.md, "Delivery logs of any system"; a row that is none
    is put into quarantine. `properties` are those to judge by, without any all that the rows are
    able to break; `complete` says that each log goes on to its member's end. Raises UsageError if
    there is no such property, and for arguments of another kind.
    """
    names = [properties] if isinstance(properties, str) else _listed(properties)
    check("rows", rows, _ROWS, UsageError)
    check("properties", names, NAMES, UsageError)
    check("complete", complete, FLAG, UsageError)
    problems: list[Problem] = []

    def read() -> Iterable[Row]:
        for number, given in enumerate(rows, start=1):
            try:
                yield row_of(given)
            except (ValueError, AttributeError) as error:
                reason = str(error) if isinstance(given, Mapping) else "not a mapping of columns"
                problems.append(Problem(ROWS, number, reason, _excerpt(given)))

    # The rows are read first: only then it is known whether there are problems.
    answers = answer(read())
    return judged(answers, problems, names, complete)


def judge_logs(
    *paths: str | PathLike[str],
    log_format: str = DELIVERIES,
    properties: Iterable[str] = (),
    complete: bool = False,
) -> Verdicts:
    """Judge log files, or folders of them, as `raincheck conform --log-format` does.

    `log_format` is one of those that `raincheck conform --list` shows, or the place of an importer
    of your own, "module:NAME". Raises UsageError for files, formats or properties that there are
    not, and for arguments of another kind.
    """
    names = [properties] if isinstance(properties, str) else _listed(properties)
    check("paths", paths, _PATHS, UsageError)
    check("log_format", log_format, TEXT, UsageError)
    check("properties", names, NAMES, UsageError)
    check("complete", complete, FLAG, UsageError)
    return check_deliveries(map(Path, paths), names, complete, log_format)


def _check(**arguments: object) -> None:
    for name, value in arguments.items():
        check(name, value, _KINDS[name], UsageError)


def _listed(given: Iterable[str]) -> list[str]:
    """Return what is iterable as a list; texts and anything else as they are, and then refused."""
    several = isinstance(given, Iterable) and not isinstance(given, str | bytes | bytearray)
    return [*given] if several else given  # type: ignore[return-value]


def _excerpt(given: object) -> str:
    try:
        return f"{given!r:.200}"
    except Exception as error:  # noqa: BLE001 (a number with more digits than Python writes ...)
        return f"({error})"


class DeliveryLog:
    """The delivery logs of all members of a system under test, row by row as things happen.

    Arguments of another kind are a UsageError where they are given, and nothing is noted.
    """

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self._delivered: Counter[str] = Counter()
        self._sent: Counter[str] = Counter()
        self._over: set[str] = set()

    def sent(self, sender: str, message: str | int, view: int | str = 0) -> None:
        """Note that a member sends; `message` is an id, a number if the sender counts them."""
        _check(sender=sender, message=message, view=view)
        self._sent[sender] += 1
        self._note(sender, "send", message=message, position=self._sent[sender], view=view)

    def delivered(self, member: str, sender: str, message: str | int, view: int | str = 0) -> None:
        """Note that a member delivers a sender's message, in this view if the system has views."""
        _check(member=member, sender=sender, message=message, view=view)
        self._delivered[member] += 1
        position = self._delivered[member]
        self._note(member, "deliver", sender=sender, message=message, position=position, view=view)

    def installed(self, member: str, view: int | str, members: Iterable[str] = ()) -> None:
        """Note that a member installs a view, with its members if the log is to say so."""
        listed = _listed(members)
        _check(member=member, view=view, members=listed)
        self._delivered[member] += 0
        self._note(member, "view", view=view, members=listed or None)

    def took_state(self, member: str, provider: str, view: int | str = 0) -> None:
        """Note that a member takes the state that another one has now."""
        _check(member=member, provider=provider, view=view)
        after = self._delivered[provider]
        self._delivered[member] += 1
        position = self._delivered[member]
        self._note(member, "state", sender=provider, position=position, view=view, after=after)

    def crashed(self, member: str) -> None:
        """Note that a member was killed."""
        _check(member=member)
        self._over.add(member)
        self._note(member, "crash")

    def ended(self, *members: str) -> None:
        """Note that nothing is missing in the logs of these members; of all who run, if none."""
        for member in members:
            _check(member=member)
        for member in members or sorted(self._delivered.keys() - self._over):
            self._over.add(member)
            self._note(member, "end", position=self._delivered[member])

    def judge(self, *, properties: Iterable[str] = (), complete: bool = False) -> Verdicts:
        """Judge what was noted until now."""
        return judge(self.rows, properties=properties, complete=complete)

    def _note(self, member: str, event: str, **columns: Any) -> None:
        row = {"member": member, "event": event, **columns}
        if event in ("send", "view"):
            row["after"] = self._delivered[member]
        self.rows.append({name: value for name, value in row.items() if value is not None})
