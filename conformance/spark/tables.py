"""The tables of questions, made when one first needs them, and kept until all are asked."""

import re
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from . import queries

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import Row as SparkRow

_NAMED: Final = re.compile(r"\b(?:from|join)\s+(\w+)")


class Tables:
    """Asks questions of the tables `log` or `labelled`, and of the views of `queries.py`.

    Each view is made once, so that the questions, which build on it, stay small.
    """

    def __init__(self, session: "SparkSession") -> None:
        self.session = session
        self._there: set[str] = set()
        self._kept: list[DataFrame] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for view in self._kept:
            view.unpersist()

    def table(self, name: str, rows: "DataFrame") -> None:
        """Let questions name these rows, also in place of a view of `queries.py`."""
        self._there.add(name)
        rows.createOrReplaceTempView(name)

    def made(self, name: str, rows: list[Any], schema: str) -> None:
        """Let questions name these few rows."""
        self.table(name, self.session.createDataFrame(rows, schema))

    def frame(self, query: str) -> "DataFrame":
        """Return what the question asks for, and make the views that it names."""
        for name in _NAMED.findall(query):
            if name in queries.VIEWS and name not in self._there:
                view = self.frame(queries.VIEWS[name]).persist()
                self._kept.append(view)
                self.table(name, view)
        return self.session.sql(query)

    def all(self, query: str) -> "list[SparkRow]":
        """Return the rows of the answer."""
        return self.frame(query).collect()

    def one(self, query: str) -> "SparkRow | None":
        """Return the first row of the answer, if it has any."""
        rows = self.all(query)
        return rows[0] if rows else None

    def only(self, query: str) -> "SparkRow":
        """Return the row of an answer that has one whatever the rows are."""
        (row,) = self.all(query)
        return row
