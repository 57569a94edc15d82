"""From the words of `raincheck explain --serve` or `--page` to the page, and the verb's outcome."""

from __future__ import annotations

import argparse
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from raincheck.conformance.cases.case import Case
from raincheck.conformance.errors import UsageError
from raincheck.conformance.evidence.folder import Evidence, Outcome, Result, Ui
from raincheck.conformance.outcome import HOLDS, INCONCLUSIVE
from raincheck.conformance.tlc.tlc import ERROR, TlcResult
from raincheck.conformance.trace.explaintrace import describe
from raincheck.conformance.trace.tracefile import SUFFIXES

from .cases import Ask, case_document, nothing_to_ask
from .document import Document
from .page import complete, page
from .recorded import run_document
from .server import serving

AskTlc = Callable[[Case], TlcResult]
NOT_ASKED = (
    "TLC was not asked: the page shows the model's states, and says nothing about all of them. "
    "`raincheck check` does."
)


def are_traces(names: list[str]) -> bool:
    """Tell whether the words name folders or files of traces."""
    return all(Path(name).is_dir() or Path(name).suffix in SUFFIXES for name in names)


def explore_traces(args: argparse.Namespace, ui: Ui, again: str) -> Outcome:
    """Open the page on a recorded run; `again` is the command that does it once more."""
    if args.dry_run:
        ui.announce(f"would follow the traces in {', '.join(args.names)} and open the page")
        return Outcome("explain", (), again)
    document, verdict, ask = run_document(map(Path, args.names), args.only)
    figures: dict[str, object] = {"events": verdict.events, "findings": len(verdict.findings)}
    detail = describe(verdict.first) if verdict.first is not None else ""
    name = document.subject
    result = Result(name, verdict.protocol, verdict.verdict, HOLDS, figures, detail)
    return _opened(args, ui, document, ask, result, again)


def explore_case(
    args: argparse.Namespace, ui: Ui, case: Case, answer: AskTlc, again: str
) -> Outcome:
    """Open the page on a case; TLC is asked by `answer` if a counterexample is to be expected.

    `again` is the command that does it once more.
    """
    if args.dry_run:
        asks = (
            "walk through its model" if nothing_to_ask(case) else "ask TLC, as raincheck check -n"
        )
        ui.announce(f"would open the page on {case.name}: {asks}")
        return Outcome("explain", (), again)
    if args.only:
        raise UsageError(f"--only is for recorded runs, and {case.name} is a case: leave it out.")
    found = None if nothing_to_ask(case) else answer(case)
    if found is not None and found.verdict == ERROR:
        raise UsageError(found.error)
    document, ask = case_document(case, found)
    if not document.states:
        raise UsageError(
            f"{case.name} holds and has no model: there is no state to show. raincheck check it."
        )
    figures: dict[str, object] = {"trace_length": len(found.trace) if found is not None else 0}
    verdict, detail = INCONCLUSIVE, NOT_ASKED
    if found is not None:
        verdict, detail = (found.violated or INCONCLUSIVE) if found.trace else HOLDS, ""
    result = Result(case.name, case.protocol, verdict, case.expected, figures, detail)
    return _opened(args, ui, document, ask, result, again)


def _opened(
    args: argparse.Namespace, ui: Ui, document: Document, ask: Ask, result: Result, again: str
) -> Outcome:
    evidence = Evidence("explain", args.out)
    if args.page:
        _write(args.page, page(complete(document, ask)))
        ui.say(f"Page: {args.page}")
    if args.serve:
        with serving(document, ask, args.port or 0) as address:
            ui.announce(f"{document.title}\n{address} (Ctrl-C ends it)")
            with suppress(KeyboardInterrupt):
                if not args.no_browser:
                    webbrowser.open(address)
                threading.Event().wait()
    outcome = Outcome("explain", (result,), again)
    evidence.finish(outcome)
    return outcome


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"Cannot write {path} ({error.strerror}): choose another place with --page."
        ) from error
