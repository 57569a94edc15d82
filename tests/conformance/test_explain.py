"""A counterexample becomes a story: who did what, which message it was, what is broken."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from raincheck.__main__ import main
from raincheck.conformance.bindings.sequencer import story as sequencer_story
from raincheck.conformance.cases.tables import Case, load_cases
from raincheck.conformance.report.sequence import Change, Diagram, Event, Message, as_steps, as_text
from raincheck.conformance.report.sequencesvg import as_page, as_svg
from raincheck.conformance.tlc.output import TlcState, read_output
from raincheck.conformance.tlc.spec import comment_above
from raincheck.conformance.tlc.story import actor, changes, diagram_of
from raincheck.conformance.tlc.tlc import TlcResult
from raincheck.model.machine.tlavalue import parse

HERE = Path(__file__).parent

DIAGRAM = Diagram(
    title="lost <at> a survivor",
    members=("a", "b", "c"),
    events=(
        Event(1, "b", "Send(b)", "b forwards b1", (Message(1, "FORWARD b1", "a"),)),
        Event(
            2,
            "a",
            "ReceiveForward(a, b)",
            "a multicasts b1",
            (Message(2, "DATA b1"),),
            Message(1, "FORWARD b1", "a"),
            changes=(Change("stream[a]", "<<>>", "<<1>>"),),
        ),
        Event(3, "a", "Crash(a)", mark="crash"),
        Event(4, "c", "ReceiveData(c, a)", "c delivers b1", (), Message(2, "DATA b1")),
        Event(5, "", "ViewChange", "view 2 is decided: b, c", (Message(9, "lost & gone", "b"),)),
    ),
)


def test_the_text_has_a_line_per_member_and_an_arrow_per_message_received() -> None:
    assert as_text(DIAGRAM).splitlines() == [
        "lost <at> a survivor",
        "",
        "        a       b       c",
        " 1      │       ●       │    Send(b): b forwards b1",
        " 2      ●◀──────┤       │    ReceiveForward(a, b): a multicasts b1",
        " 3      ✖       │       │    Crash(a)",
        " 4      ├───────┼──────▶●    ReceiveData(c, a): c delivers b1",
        " 5  ╌╌╌╌┊╌╌╌╌╌╌╌│╌╌╌╌╌╌╌│╌╌╌ ViewChange: view 2 is decided: b, c",
    ]


def test_the_steps_list_what_changes() -> None:
    assert (
        "  2. ReceiveForward(a, b): a multicasts b1\n       stream[a]: <<>> → <<1>>\n"
        in as_steps(DIAGRAM)
    )


def test_a_counterexample_without_a_step_says_in_which_state_it_is() -> None:
    (case,) = (each for each in load_cases() if each.name == "flush-join")
    beginning = TlcState(1, "", "", "/\\ hour = 13\n/\\ on = TRUE")
    found = TlcResult("violated", violated="Right", trace=(beginning,))

    said = as_text(diagram_of(case, found))

    assert "It is so in an initial state, without any step: hour = 13, on = TRUE." in said


def test_the_picture_is_well_formed_and_has_every_arrow() -> None:
    svg = ElementTree.fromstring(as_svg(DIAGRAM))

    lines = [each.get("class") for each in svg.iter("{http://www.w3.org/2000/svg}line")]
    assert lines.count("arrow") == 2
    assert lines.count("crash") == 2
    assert lines.count("gone") == 1  # a, after its crash
    labels = [each.text for each in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert {"FORWARD b1", "DATA b1", "a", "b", "c"} <= set(labels)


def test_a_message_that_nobody_receives_is_drawn_as_a_stub() -> None:
    events = (Event(1, "a", "Send(a)", "", (Message(1, "FORWARD a1", "b"),)),)
    svg = ElementTree.fromstring(as_svg(Diagram("t", ("a", "b"), events)))

    lines = [each.get("class") for each in svg.iter("{http://www.w3.org/2000/svg}line")]
    assert lines.count("lost") == 1
    assert lines.count("arrow") == 0


def test_the_page_needs_no_network_and_escapes_what_it_shows() -> None:
    page = as_page(DIAGRAM)

    assert "lost &lt;at&gt; a survivor" in page
    assert "<at>" not in page
    assert "src=" not in page
    assert "href=" not in page


def test_a_protocol_without_a_story_is_explained_by_what_changes() -> None:
    before = {"count": parse("[a |-> 0, b |-> 0]"), "log": parse("<<>>")}
    one = {"count": parse("[a |-> 0, b |-> 1]"), "log": parse("<<>>")}
    both = {"count": parse("[a |-> 1, b |-> 1]"), "log": parse("<<5>>")}

    assert actor(before, one) == "b"
    assert actor(before, both) == ""
    assert [str(each) for each in changes(before, both)] == [
        "count[a]: 0 → 1",
        "count[b]: 0 → 1",
        "log: <<>> → <<5>>",
    ]


def state(**changed: str) -> dict:
    """A state of Sequencer.tla with the nodes a, b and c."""
    each = {
        "status": '"member"',
        "incarnation": "0",
        "view": "1",
        "seqno": "0",
        "said": "0",
        "forwardTable": "{}",
        "resend": "<<>>",
        "receivedTable": "<<>>",
        "early": "<<>>",
        "delivered": "<<>>",
        "held": "<<>>",
        "stream": "<<>>",
        "joinRsp": "<<>>",
        "forwards": "[a |-> <<>>, b |-> <<>>, c |-> <<>>]",
        "position": "[a |-> 0, b |-> 0, c |-> 0]",
    }
    values = {name: parse(f"[a |-> {v}, b |-> {v}, c |-> {v}]") for name, v in each.items()}
    view = '[members |-> <<<<"a", 0>>, <<"b", 0>>, <<"c", 0>>>>, joiners |-> {}]'
    values["views"] = parse(f"<<{view}>>")
    return values | {name: parse(text) for name, text in changed.items()}


B1 = '[from |-> <<"b", 0>>, payload |-> 1, seqno |-> 1]'
C1 = '[from |-> <<"c", 0>>, payload |-> 1, seqno |-> 1]'


def tagged(*messages: str, view: int = 1) -> str:
    return f"<<{', '.join(f'[message |-> {m}, view |-> {view}]' for m in messages)}>>"


def test_a_forward_and_its_multicast_are_followed_from_hand_to_hand() -> None:
    start = state()
    sent = start | {
        "said": parse("[a |-> 0, b |-> 1, c |-> 0]"),
        "seqno": parse("[a |-> 0, b |-> 1, c |-> 0]"),
        "forwards": parse(
            f"[a |-> [a |-> <<>>, b |-> <<>>, c |-> <<>>], b |-> [a |-> {tagged(B1)}, b |-> <<>>, "
            "c |-> <<>>], c |-> [a |-> <<>>, b |-> <<>>, c |-> <<>>]]"
        ),
    }
    sequenced = sent | {
        "forwards": start["forwards"],
        "stream": parse(f"[a |-> {tagged(B1)}, b |-> <<>>, c |-> <<>>]"),
    }
    delivered = sequenced | {
        "position": parse(
            "[a |-> [a |-> 0, b |-> 0, c |-> 0], b |-> [a |-> 0, b |-> 0, c |-> 0], "
            "c |-> [a |-> 1, b |-> 0, c |-> 0]]"
        ),
        "delivered": parse(f"[a |-> <<>>, b |-> <<>>, c |-> {tagged(B1)}]"),
    }

    send, sequence, deliver = sequencer_story.tell(
        [
            ("Send", start, sent),
            ("ReceiveForward", sent, sequenced),
            ("ReceiveData", sequenced, delivered),
        ]
    )

    assert (send.node, send.action, send.text) == (
        "b",
        "Send(b)",
        "b forwards its b1 (seqno 1) to a",
    )
    assert (sequence.node, sequence.action) == ("a", "ReceiveForward(a, b)")
    assert sequence.received == send.sent[0]
    assert (deliver.node, deliver.action, deliver.text) == (
        "c",
        "ReceiveData(c, a)",
        "c delivers b1",
    )
    assert deliver.received == sequence.sent[0]


@pytest.mark.parametrize(
    ("name", "b", "c", "sentence"),
    [
        ("TotalOrder", (B1, C1), (C1, B1), "b delivered b1 before c1, c delivered c1 before b1."),
        ("Integrity", (B1, B1), (), "b delivered b1 2 times."),
        ("TotalOrder", (B1, C1), (B1, C1), ""),
        ("Integrity", (B1, C1), (B1,), ""),
        ("Fifo", (B1, C1), (), ""),
        ("GapFree", (B1.replace("seqno |-> 1", "seqno |-> 2"),), (), "The first that b delivered"),
    ],
)
def test_the_witness_is_what_breaks_the_promise(
    name: str, b: tuple[str, ...], c: tuple[str, ...], sentence: str
) -> None:
    last = state(delivered=f"[a |-> <<>>, b |-> {tagged(*b)}, c |-> {tagged(*c)}]")

    said = sequencer_story.witness(name, [state(), last])

    assert said.startswith(sentence)
    assert bool(said) == bool(sentence)


def test_the_story_says_how_an_endless_behaviour_goes_on(tmp_path: Path) -> None:
    report = read_output((HERE / "golden" / "temporal-back-2.15.txt").read_text("utf-8"))
    cfg = tmp_path / "C.cfg"
    cfg.write_text("SPECIFICATION Fair\n")
    case = Case(
        "c", "counter", HERE / "toys" / "Counter.tla", cfg, "w", ("Rests",), "Rests", "quick", "R1"
    )
    result = TlcResult("violated", "Rests", "temporal", trace=report.trace, back_to=report.back_to)

    diagram = diagram_of(case, result)

    assert [event.action for event in diagram.events] == ["Count(a)"] * 3
    assert "back to where step 1 began" in diagram.ending[0]
    assert diagram.members == ("a", "b")


@pytest.mark.java
def test_explain_runs_tlc_where_nobody_did_and_names_the_promise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    case = next(case for case in load_cases() if case.flaw and case.expected != "holds")

    code = main(["explain", case.name])

    said = capsys.readouterr().out
    assert code == 0
    assert f"{case.name}: {case.expected} is violated" in said
    assert comment_above(case.module, case.expected) in said
    assert f"flaw {case.flaw}" in said

    kept = tmp_path / "runs" / "latest" / "counterexamples" / f"{case.name}.json"
    assert json.loads(kept.read_text())["violated"] == case.expected
    code = main(["explain", str(kept), "--steps", "--json"])

    out, err = capsys.readouterr()
    assert code == 0
    assert json.loads(out)["results"][0]["verdict"] == case.expected
    assert "→" in err


def test_a_file_that_is_no_counterexample_is_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.json").write_text("[]")

    assert main(["explain", "x.json"]) == 3
    assert "x.json is no counterexample" in capsys.readouterr().err
    assert main(["explain", "sequencer-f1"]) == 3
    assert "did you mean" in capsys.readouterr().err
