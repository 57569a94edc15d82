"""The explorer: a step in all its faces, of a case and of a recorded run, and the page on it."""

import _thread
import base64
import hashlib
import http.client
import json
import re
import shutil
import urllib.request
import webbrowser
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raincheck.__main__ import main
from raincheck.conformance.bindings.binding import Binding
from raincheck.conformance.cases.case import Case
from raincheck.conformance.cases.tables import load_cases
from raincheck.conformance.errors import UsageError
from raincheck.conformance.explorer.cases import case_document
from raincheck.conformance.explorer.document import CODE, FACES, MODEL, SPEC, Document, State, Stop
from raincheck.conformance.explorer.faces import call_of
from raincheck.conformance.explorer.order import Event, Record, in_order
from raincheck.conformance.explorer.page import complete, page
from raincheck.conformance.explorer.places import Sources, faces_of, lack_of_code
from raincheck.conformance.explorer.recorded import BEHIND, run_document
from raincheck.conformance.explorer.server import HOST, serving
from raincheck.conformance.explorer.tlatext import acting, definitions, guard_of, values_in
from raincheck.conformance.explorer.walking import Walk, any_core
from raincheck.conformance.explorer.watching import Seen, watching
from raincheck.conformance.protocols.registry import offering, protocol
from raincheck.conformance.replay.coverage import spec_actions
from raincheck.conformance.tlc.output import TlcState
from raincheck.conformance.tlc.tlc import VIOLATED, TlcResult
from raincheck.conformance.verbs.mirror import machine_of
from raincheck.model.machine.runs import Address
from raincheck.model.machine.tlavalue import format as written
from raincheck.model.machine.values import Fcn, Value

ROOT = Path(__file__).parents[2]
TRACES = ROOT / "tests" / "traces" / "sequencer"
CATALOG = {case.name: case for case in load_cases()}
WITH_A_MODEL = sorted(record.name for record in offering("model"))


def case_of(protocol: str) -> Case:
    return next(case for case in CATALOG.values() if case.protocol == protocol)


def sources_of(name: str) -> Sources:
    case = case_of(name)
    system: Any = machine_of(name, case.constants, case.name)
    record = protocol(name)
    binding: Binding | None = record.get("binding") if record.offers("binding") else None
    core = None if binding is None else any_core(binding, system)
    return Sources(definitions(case.module), system, binding, core)


def without_place(sources: Sources, actions: tuple[str, ...]) -> list[str]:
    """The faces that have no place for an action, although they have to."""
    found = []
    for action in actions:
        faces, places = faces_of(action, sources)
        assert faces.keys() == {*FACES}
        owed = [SPEC, MODEL]
        owed += [] if lack_of_code(action, sources.binding) else [CODE]
        found += [f"{face} of {action}" for face in owed if not faces[face].places]
        assert all(place.lines and place.line > 0 for place in places.values())
    return found


@pytest.mark.parametrize("name", WITH_A_MODEL)
def test_every_action_has_a_place_in_each_face(name: str) -> None:
    actions = spec_actions([case_of(name)])

    assert actions
    assert without_place(sources_of(name), actions) == []


def test_an_action_that_a_face_has_lost_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    sources = sources_of("flush")
    known = {name: each for name, each in sources.known.items() if name != "Resume"}
    assert sources.binding is not None
    handlers = {k: v for k, v in sources.binding.handlers.items() if k != "Suspend"}
    lost = replace(sources, known=known, binding=replace(sources.binding, handlers=handlers))
    monkeypatch.setattr(type(sources.system), "handlers", handlers)
    monkeypatch.delattr("raincheck.model.flush.handlers.suspend")

    assert without_place(lost, ("BlockOk", "Resume", "Suspend")) == [
        "spec of Resume",
        "model of Suspend",
    ]
    assert without_place(replace(sources, core=None), ("BlockOk",)) == ["code of BlockOk"]


class Decide:
    """An event."""


def by_cases() -> object:
    class Core:
        def handle(self, event: object) -> list[str]:
            match event:
                case int():
                    return ["another"]
                case Decide():
                    return ["decided"]
            return []

    return Core()


def by_table() -> object:
    class Core:
        def __init__(self) -> None:
            self.table = {int: self.decide, Decide: self.done}

        def handle(self, event: object) -> list[str]:
            return self.table[type(event)]()

        def decide(self) -> list[str]:
            return ["another"]

        def done(self) -> list[str]:
            return ["decided"]

    return Core()


@pytest.mark.parametrize("core", [by_cases(), by_table()])
def test_the_place_in_a_core_is_where_the_core_takes_the_event(core: Any) -> None:
    binding: Any = SimpleNamespace(
        unhandled=(), events={"Decide": Decide}, inputs={}, field_inputs={}, handlers={},
        field_handlers={},
    )  # fmt: skip
    faces, places = faces_of("Decide", Sources({}, None, binding, core))

    (place,) = faces[CODE].places
    assert [line.strip() for line in places[place].lines][1:] == ['return ["decided"]']


# ---------------------------------------------------------------------- guards

SPECIFICATION = r"""---- MODULE Guarded ----
VARIABLES status, table
Running(n) == status[n] = "up"
Put(n, v) == table' = [table EXCEPT ![n] = v]

\* The comment of it.
Take(n, s) ==
    /\ Running(n) /\ Running(s)
    /\ s # n \* another
    /\ \E v \in table[s] :
         LET w == v + 1
         IN  /\ w > table[n]
             /\ Put(n, w)
             /\ IF w = 2
                THEN /\ Running(s)
                     /\ status' = status
                ELSE UNCHANGED status

MCTake(n, s) == n \in {x \in Node : x /\ s} /\ table[n] < 2 /\ Take(n, s)
====
"""


def test_a_guard_is_what_speaks_of_the_state_before(tmp_path: Path) -> None:
    module = tmp_path / "Guarded.tla"
    module.write_text(SPECIFICATION)
    known = definitions(module)
    (take,) = known["Take"]

    assert (take.first, take.head, take.parameters) == (6, 7, ("n", "s"))
    assert acting(known) == {"Put", "Take", "MCTake"}
    assert [each.text for each in guard_of(known["MCTake"][0], acting(known))] == [
        r"n \in {x \in Node : x /\ s}",
        "table[n] < 2",
    ]
    assert [tuple(each) for each in guard_of(take, acting(known))] == [
        ("Running(n)", 8),
        ("Running(s)", 8),
        ("s # n", 9),
        (r"\E v \in table[s]", 10),
        ("w > table[n]", 12),
    ]


def test_the_values_of_a_conjunct_are_those_of_the_members_it_is_of(tmp_path: Path) -> None:
    module = tmp_path / "Guarded.tla"
    module.write_text(SPECIFICATION)
    known = definitions(module)
    state = Fcn({"a": "up", "s": "down"})

    def values(text: str) -> dict[str, str]:
        return dict(values_in(text, {"status": state}, {"n": "a"}, known))

    assert values("Running(n)") == {"status[a]": '"up"'}
    # s is a parameter that nobody knows here, and not the member of that name.
    assert values("status[s]") == {"status": '[a |-> "up", s |-> "down"]'}


# ---------------------------------------------------------------------- a case


def told(number: int, action: str, variables: Mapping[str, Value]) -> TlcState:
    text = "\n".join(f"/\\ {name} = {written(value)}" for name, value in variables.items())
    return TlcState(number, action, "", text)


def counterexample(case: Case, steps: int = 3) -> tuple[TlcResult, list[str]]:
    """A behaviour as TLC would tell it, and its actions."""
    machine = machine_of(case.protocol, case.constants, case.name)
    state = next(iter(machine.initial()))
    trace, actions = [told(1, "", machine.variables(state))], []
    for number in range(steps):
        step = next(each for each in machine.steps(state) if each.target != state)
        state = step.target
        actions.append(step.action)
        trace.append(told(number + 2, step.action, machine.variables(state)))
    return TlcResult(VIOLATED, case.properties[0], trace=tuple(trace)), actions


def moves_on(document: Document, ask: Callable[[str], State | None]) -> list[Any]:
    found = []
    for stop in document.trail[:-1]:
        state = document.states.get(stop.state) or ask(stop.state)
        assert state is not None
        found.append(state.moves[stop.move])
    return found


def test_a_counterexample_is_taken_by_the_model_and_by_real_cores() -> None:
    found, actions = counterexample(CATALOG["gms-crash"])
    document, ask = case_document(CATALOG["gms-crash"], found)
    moves = moves_on(document, ask)

    assert document.kind == "case"
    assert [move.action for move in moves] == actions
    assert [stop.call for stop in document.trail] == [*(move.call for move in moves), ""]
    for move in moves:
        assert {variable.partition("[")[0] for variable, *_ in map(_row, move.changes)}
        assert all(each.holds for each in move.guard)
        faces = document.faces[move.action]
        if move.code.startswith("The real core took this step too"):
            for face in (MODEL, CODE):
                assert any(place in move.ran for place in faces[face].places), (move.call, face)
    assert any(move.code.startswith("The real core took this step too") for move in moves)
    assert any(each.values and each.line for move in moves for each in move.guard)


def _row(change: Any) -> tuple[str, str, str]:
    assert change.before != change.after
    return change.variable, change.before, change.after


def test_a_behaviour_that_the_model_does_not_have_is_shown_as_tlc_tells_it() -> None:
    case = CATALOG["gms-crash"]
    found, actions = counterexample(case)
    last = found.trace[-1]
    wrong = told(last.number, last.action, {**last.variables, "phase": "nowhere"})
    document, ask = case_document(case, replace(found, trace=(*found.trace[:-1], wrong)))

    assert document.kind == "trace"
    assert [move.action for move in moves_on(document, ask)] == actions
    assert ask("0") is None


def test_of_several_steps_to_one_state_the_one_of_the_action_is_taken() -> None:
    walk = Walk(CATALOG["merge2-two"])
    first = walk.moves(0)[0]
    variables = walk.system.variables(first.target)
    walk._moves[0] = [first, first._replace(action="Other")]

    assert walk.follow(0, "Other", variables) == 1
    assert walk.follow(0, first.action, variables) == 0
    assert walk.follow(0, "Other", {**variables, "status": "none"}) is None


def test_from_any_state_one_can_go_on_and_what_is_left_out_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("raincheck.conformance.explorer.around.MOST", 2)
    walk = Walk(CATALOG["nakack-lossy"])
    number, drawn, uncounted = walk.initial[0], 0, 0
    for _ in range(6):
        state = walk.state(number)
        around = state.around
        assert around is not None
        assert {move.target for move in state.moves} >= {
            near.id for near in around.states if near.column == 1
        }
        left, after = dict(around.left), {move.target for move in state.moves} - {state.id}
        shown = {near.id for near in around.states}
        assert len(after - shown) == left.get(1, 0)
        assert sum(near.column == 1 for near in around.states) <= 2
        uncounted += left.get(1, 0)
        drawn += len(around.states)
        number = int(state.moves[len(state.moves) // 2].target)
    assert not walk.whole
    assert drawn > 6
    assert uncounted


def test_arguments_are_written_as_in_the_specification() -> None:
    said = call_of("Suspect", ["b", Address("a", 0), frozenset({"c"})])
    assert said == 'Suspect(b, <<"a", 0>>, {"c"})'


def test_a_state_that_there_is_not_is_none() -> None:
    _, state = case_document(CATALOG["flush-join"], None)
    _, _, stop = run_document([TRACES / "holds-join"])
    assert state("0") is not None
    assert stop("e0") is not None
    for name in ("", "x", "-1", "1e9", "²", "9" * 18, "9" * 5000):
        assert state(name) is None
        assert stop(f"e{name}") is None


def test_what_is_not_enabled_says_which_conjunct_is_false() -> None:
    state = Walk(CATALOG["flush-join"]).state(0)

    refused = {each.action: each for each in state.refused}
    assert refused
    assert all(not each.holds and each.text for no in refused.values() for each in no.guard)
    assert not {(no.action, no.node) for no in refused.values()} & {
        (move.action, move.node) for move in state.moves
    }


def test_a_core_that_differs_is_told_at_its_step(monkeypatch: pytest.MonkeyPatch) -> None:
    walk = Walk(CATALOG["flush-join"])
    assert walk.binding is not None

    class Damaged:
        def __init__(self, core: Any) -> None:
            self.__dict__.update(core.__dict__)
            self.core = core

        def handle(self, event: Any) -> Any:
            return [*self.core.handle(event), *self.core.handle(event)]

    right = walk.binding.make_core
    damaged = replace(walk.binding, make_core=lambda *given: Damaged(right(*given)))
    monkeypatch.setattr(walk, "binding", damaged)

    assert any(m.code.startswith("The core differs") for m in walk.state(0).moves)


def test_watching_sees_the_lines_that_ran_and_leaves_no_trace() -> None:
    import sys

    before = sys.gettrace()
    with watching([ROOT / "model" / "machine"]) as seen:
        machine_of("flush", CATALOG["flush-join"].constants, "flush-join")

    assert sys.gettrace() is before
    assert "constants_of" in {code.co_name for code in seen.ran}
    assert all(seen.ran.values())


# ---------------------------------------------------------------------- a recorded run


def test_a_recorded_run_is_stepped_through_up_to_what_is_wrong() -> None:
    document, verdict, ask = run_document([TRACES / "violated-seqno"])
    moves = moves_on(document, ask)

    assert (document.kind, verdict.verdict) == ("run", VIOLATED)
    assert len(moves) == verdict.events
    wrong = [at for at, stop in enumerate(document.trail) if stop.wrong]
    assert any("seqno: expected 2" in text for at in wrong for text in moves[at].findings)
    recorded = [each for at in wrong for each in moves[at].changes if "seqno" in each.variable]
    assert [(each.before, each.after) for each in recorded] == [("0", "9")]
    behind = [move for move in moves if move.code == BEHIND]
    assert behind
    assert all(each.holds is None for move in behind for each in move.guard)


def test_what_is_received_was_sent_before_and_every_event_has_its_faces() -> None:
    document, _, ask = run_document([TRACES / "holds-join"])
    moves = moves_on(document, ask)

    received = [(at, stop.source) for at, stop in enumerate(document.trail) if stop.source >= 0]
    assert len(received) > 10
    assert all(source < at for at, source in received)
    for move in moves:
        faces = document.faces[move.action]
        assert all(faces[face].places for face in FACES), move.action
        assert move.ran
        assert all(each.holds for each in move.guard)
    assert ask("e9999") is None
    assert ask("nothing") is None


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 5)), max_size=30), st.randoms())
def test_the_order_is_one_that_may_have_been(script: list[tuple[str, int]], random: Random) -> None:
    """A run, in which processes send, receive and come back, is cut into files and put together."""
    files: dict[str, list[Event]] = {}
    lives, under_way = dict.fromkeys("abc", 0), list[str]()
    for node, draw in script:
        who = f"{node}.{lives[node]}"
        if draw == 0 and files.get(who):
            lives[node] += 1
            continue
        received = random.choice(under_way) if draw > 2 and under_way else None
        mine = files.setdefault(who, [])
        name = f"{who} {len(mine)}"
        under_way += [name] if draw < 3 else []
        record = Record(
            node=node,
            incarnation=lives[node],
            index=len(mine) + 1,
            action="Step",
            received=None if received is None else [received],
            sent=[{"id": [name]}] if draw < 3 else [],
        )
        mine.append(Event(who, record, "", 0, None, None, Seen()))

    ordered, sources = in_order(files)

    assert {who: [e for e in ordered if e.who == who] for who in files} == files
    for at, event in enumerate(ordered):
        assert (event.record.received is not None) == (at in sources)
        if at in sources:
            assert sources[at] < at
            assert {"id": event.record.received} in ordered[sources[at]].record.sent
        earlier = [e for e in ordered[at:] if e.record.node == event.record.node]
        assert all(e.record.incarnation >= event.record.incarnation for e in earlier)


def test_of_several_runs_the_first_that_does_not_conform_is_shown(tmp_path: Path) -> None:
    for name in ("holds-join", "violated-seqno"):
        for path in (TRACES / name).iterdir():
            text = path.read_text().replace('"run":"r1"', f'"run":"{name}"')
            (tmp_path / f"{name}.{path.name}").write_text(text)

    document, *_ = run_document([tmp_path])
    other, *_ = run_document([tmp_path], "holds-*")

    assert document.subject == "violated-seqno: sequencer"
    assert other.subject == "holds-join: sequencer"
    assert "violated-seqno: sequencer" in " ".join(other.facts)


def test_of_a_long_run_a_part_is_shown_and_too_long_a_one_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = "raincheck.conformance.explorer.recorded"
    monkeypatch.setattr(f"{module}.MOST", 10)
    document, *_ = run_document([TRACES / "holds-join"])
    monkeypatch.setattr(f"{module}.READ", 20)

    assert len(document.trail) == 11
    assert document.size == "Events 1 to 10 of 39 are shown."
    with pytest.raises(UsageError, match=r"has 39 events, and a page follows 20 at most"):
        run_document([TRACES / "holds-join"])


def test_records_in_quarantine_are_left_out(tmp_path: Path) -> None:
    shutil.copytree(TRACES / "holds-join", tmp_path, dirs_exist_ok=True)
    path = tmp_path / "r1.b.0.jsonl"
    path.write_text(path.read_text() + '{"kind":"event","index":"x"}\nnot json\n')

    document, verdict, _ = run_document([tmp_path])

    assert len(verdict.problems) == 2
    assert len(document.trail) == verdict.events + 1


# ---------------------------------------------------------------------- the page

SMALL = Document(
    title="a </script> title",
    subject="small",
    kind="case",
    states={"0": State(id="0")},
    trail=(Stop("0"),),
)


def test_the_page_runs_its_own_script_and_nothing_else() -> None:
    text = page(SMALL)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    *_, script = re.findall(r"<script[^>]*>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()

    assert f"script-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert text.count("</script>") == 2
    assert not re.search(r"(?:src|href)\s*=|url\(|@import|https?://(?!www\.w3\.org)", text)


def test_a_file_has_states_beside_the_way_up_to_a_bound() -> None:
    found, _ = counterexample(CATALOG["gms-crash"])
    document, ask = case_document(CATALOG["gms-crash"], found)
    whole = complete(document, ask, most=5)

    assert not whole.live
    assert len(whole.states) == len(document.states) + 5
    assert {stop.state for stop in whole.trail} <= whole.states.keys()


@pytest.mark.sockets
def test_the_server_answers_here_and_refuses_anything_else() -> None:
    asked: list[str] = []

    def ask(name: str) -> State | None:
        asked.append(name)
        return State(id=name) if name == "7" else None

    def answer(
        method: str, path: str, host: str = ""
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        connection = http.client.HTTPConnection(HOST, port, timeout=10)
        connection.request(method, path, headers={"Host": host} if host else {})
        response = connection.getresponse()
        found = response.status, response.headers, response.read()
        connection.close()
        return found

    with serving(SMALL, ask) as address:
        port = int(address.rstrip("/").rpartition(":")[2])
        status, headers, body = answer("GET", "/")
        assert (status, body.startswith(b"<!doctype html>")) == (200, True)
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert json.loads(answer("GET", "/state/7")[2])["id"] == "7"
        assert answer("GET", "/state/8")[0] == 404
        assert answer("GET", "/state/..%2F..%2Fetc")[0] == 404
        assert answer("GET", "/index.html")[0] == 404
        assert answer("GET", "/", host="rebound.example")[0] == 403
        assert answer("GET", "/state/7", host="rebound.example:80")[0] == 403
        assert answer("POST", "/")[0] == 501
    assert asked == ["7", "8", "../../etc"]


# ---------------------------------------------------------------------- the verb


def test_the_page_of_a_run_is_written_as_one_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    to = tmp_path / "page.html"
    words = ["explain", str(TRACES / "violated-seqno"), "--page", str(to)]

    assert main([*words, "--out", str(tmp_path / "out")]) == 1
    assert "seqno: expected 2" in capsys.readouterr().out
    assert "r1: sequencer violates" in to.read_text()


def test_a_case_that_holds_is_walked_through_and_nothing_is_said_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    to = tmp_path / "page.html"
    words = ["explain", "merge2-two", "--page", str(to), "--out", str(tmp_path / "out")]

    assert main(words) == 2
    assert "TLC was not asked" in capsys.readouterr().out
    assert "The whole state graph: 26 states" in to.read_text()


@pytest.mark.sockets
def test_the_page_is_served_until_it_is_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    titles = []

    def opened(address: str) -> None:
        with urllib.request.urlopen(address, timeout=10) as answer:
            titles.append(re.search(r"<title>(.*)</title>", answer.read().decode()))
        _thread.interrupt_main()

    monkeypatch.setattr(webbrowser, "open", opened)

    assert main(["explain", str(TRACES / "holds-join"), "--serve", "--out", str(tmp_path)]) == 0
    assert [found and found[1] for found in titles] == ["raincheck: r1: sequencer conforms"]
    assert "(Ctrl-C ends it)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["merge2-two", "--port", "1"], "--port is for --serve"),
        (["merge2-two", "--no-browser"], "--no-browser is for --serve"),
        (["merge2-two", "--only", "x"], "--only is for --serve and --page"),
        (["merge2-two", "--only", "x", "--page", "p"], "--only is for recorded runs"),
        (["merge2", "--page", "p"], "A page is of one case"),
        (["merge2-two", "--page", "no/where/p"], "Cannot write no/where/p"),
        (["merge2-two", "--serve", "--port", "70000"], "Port 70000 of 127.0.0.1 cannot be used"),
        ([str(TRACES), "--only", "nobody", "--page", "p"], "No run is nobody"),
        (["holds", "--serve"], "holds"),
        (["no/traces", "--serve"], "no/traces holds no traces: name a folder"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_a_sentence(
    words: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(["explain", *words, "--out", "out"]) == 3
    assert sentence in capsys.readouterr().err
