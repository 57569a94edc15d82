"""Figures 12, 13 and 14 of the ring: drawn by the model and the code, equal to the paper's."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from raincheck.__main__ import main
from raincheck.conformance.cases.tables import spec_folder
from raincheck.conformance.figures import explain as ringexplain
from raincheck.conformance.figures.drawn import by_code, by_model
from raincheck.conformance.figures.explain import SOURCES, as_svg
from raincheck.conformance.figures.figures import (
    NUMBERS,
    Compared,
    Drawing,
    Figure,
    Label,
    as_text,
    figure_of,
    figures_in,
    shown,
)
from raincheck.conformance.report.ringsvg import Line, Spot, ring_svg
from raincheck.conformance.report.ringtext import Place, ring_lines
from raincheck.impl.raincore.core import Raincore
from raincheck.impl.raincore.events import EatingTimeout, Effect, Event, ReceiveToken, Token
from raincheck.impl.simulation.ring import Link

Plant = Callable[[Callable[[Raincore, Event], list[Effect]]], None]
HANDLE = Raincore.handle
SVG = "{http://www.w3.org/2000/svg}"


# ---------------------------------------------------------------------- the paper's figures


def test_the_papers_numbers_follow_each_other_without_a_gap() -> None:
    for number, last in zip(NUMBERS, (15, 26, 38), strict=True):
        figure = figure_of(number)
        labels = [label for label in figure.drawing.labels if str(label) != "ABCD(c)13"]

        assert sorted(label.seq for label in labels) == list(range(11, last + 1))
        assert figure.last == last
        assert set(figure.views) == set(figure.nodes) == set("ABCD")


def test_each_figure_begins_like_the_one_before() -> None:
    twelve, thirteen, fourteen = (figure_of(number).drawing.labels for number in NUMBERS)

    assert thirteen[: len(twelve)] == twelve
    assert fourteen[: len(thirteen) - 1] == thirteen[:-1]


def test_what_is_no_label_is_refused() -> None:
    text = (spec_folder() / "raincore_figures.toml").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="no label"):
        list(figures_in(text.replace("ACD(c)16", "ACD(x)16")))


# ---------------------------------------------------------------------- who draws them


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
@pytest.mark.parametrize("number", NUMBERS)
def test_model_and_code_draw_the_papers_figure(source: ringexplain.Source, number: int) -> None:
    figure = figure_of(number)

    compared = Compared(figure, source.draw(figure))

    assert [str(each) for each in compared.differences] == []


def joins_for_nothing(core: Raincore, event: Event) -> list[Effect]:
    """A join costs no number of its own."""
    before = core.last_token.nodelist
    effects = HANDLE(core, event)
    if isinstance(event, EatingTimeout) and len(core.last_token.nodelist) > len(before):
        core.last_token = core.last_token._replace(seq=core.last_token.seq - 1)
        effects = [e._replace(seq=e.seq - 1) if isinstance(e, Token) else e for e in effects]
    return effects


def skips_reserve(core: Raincore, event: Event) -> list[Effect]:
    """A node goes from chaos to agreement directly."""
    effects = HANDLE(core, event)
    if core.view_state == "reserve":
        core.view_state = "agreement"
    return effects


def takes_nothing(core: Raincore, event: Event) -> list[Effect]:
    """Nobody takes the token."""
    return [] if isinstance(event, ReceiveToken) else HANDLE(core, event)


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Plant:
    """Damage every member's core."""
    return lambda handle: monkeypatch.setattr(Raincore, "handle", handle)


@pytest.mark.parametrize("repaired", [True, False])
def test_a_join_that_takes_no_number_is_noticed(plant: Plant, repaired: bool) -> None:
    plant(joins_for_nothing)
    figure = figure_of(14)

    first = str(Compared(figure, by_code(figure, repaired)).differences[0])

    assert first == "round 1, chaos, C (number): ACBD(c)26, in the paper ACBD(c)27"


def test_a_view_state_that_is_skipped_is_noticed(plant: Plant) -> None:
    plant(skips_reserve)
    figure = figure_of(13)

    compared = Compared(figure, by_code(figure, True))

    assert any("letter" in each.where for each in compared.differences)


def test_a_ring_that_does_not_go_round_is_noticed(plant: Plant) -> None:
    plant(takes_nothing)
    figure = figure_of(12)

    compared = Compared(figure, by_code(figure, True))

    assert compared.counts["labels_equal"] == compared.counts["vectors_equal"] == 0
    assert "globalView of D: empty, in the paper ABCD" in map(str, compared.differences)


def test_the_network_may_double_delay_and_lose_datagrams() -> None:
    figure = figure_of(14)
    link = Link(loss=0.05, duplicate=0.2, delay=(0.0, 0.01))

    assert Compared(figure, by_code(figure, True, link)).differences == ()


# ---------------------------------------------------------------------- how they are compared


def damaged(figure: Figure) -> Iterator[tuple[str, Drawing]]:
    """The figure with each of its letters, numbers, lists and views wrong, one at a time."""
    drawing = figure.drawing
    for at, label in enumerate(drawing.labels):
        for changed in (
            label._replace(seq=label.seq + 1),
            label._replace(letter="r" if label.letter != "r" else "a"),
            label._replace(nodelist=label.nodelist[1:]),
        ):
            labels = (*drawing.labels[:at], changed, *drawing.labels[at + 1 :])
            yield f"{label} as {changed}", Drawing(labels, drawing.views)
        yield (
            f"no {label}",
            Drawing((*drawing.labels[:at], *drawing.labels[at + 1 :]), figure.views),
        )
    for node, views in figure.views.items():
        for at in range(len(views)):
            wrong = {**figure.views, node: (*views[:at], "AB", *views[at + 1 :])}
            yield f"a view of {node}", Drawing(drawing.labels, wrong)
        yield f"no views of {node}", Drawing(drawing.labels, {**figure.views, node: ()})


@pytest.mark.parametrize("number", NUMBERS)
def test_every_single_mistake_is_noticed(number: int) -> None:
    figure = figure_of(number)
    assert Compared(figure, figure.drawing).differences == ()

    missed = [
        what
        for what, drawing in damaged(figure)
        if not (compared := Compared(figure, drawing)).differences or "✗" not in as_text(compared)
    ]

    assert missed == []


def test_more_than_the_paper_has_is_noticed() -> None:
    figure = figure_of(12)
    more = Drawing((*figure.drawing.labels, Label("B", "ABCD", "a", 16)), figure.views)
    other = Drawing(figure.drawing.labels, {**figure.views, "E": ("ABCD",)})

    assert [str(each) for each in Compared(figure, more).differences] == [
        "second round, B: ABCD(a)16, in the paper nothing"
    ]
    assert [each.where for each in Compared(figure, other).differences] == ["globalView of E"]


def test_a_difference_says_what_of_the_label_differs() -> None:
    figure = figure_of(12)
    first, *rest = figure.drawing.labels
    wrong = first._replace(letter="c", seq=12)

    (difference,) = Compared(figure, Drawing((wrong, *rest), figure.views)).differences

    assert str(difference) == ("first round, A (letter, number): ABCD(c)12, in the paper ABCD(a)11")
    counts = Compared(figure, Drawing((wrong, *rest), figure.views)).counts
    assert counts["labels_equal"] == counts["letters_equal"] == counts["numbers_equal"] == 4


def test_only_what_the_figure_shows_is_shown() -> None:
    figure = figure_of(12)
    run = [Label("D", "ABCD", "r", 10), *figure.drawing.labels, Label("B", "ABCD", "a", 16)]

    assert shown(run, figure) == figure.drawing.labels


# ---------------------------------------------------------------------- how they are drawn


def test_the_ring_is_drawn_with_views_on_top_and_history_at_the_side() -> None:
    figure = figure_of(13)

    assert as_text(Compared(figure, figure.drawing)).splitlines() == [
        "      ABCD · ACD         ABCD · ACD",
        "( A )─────────────▶( C )",
        "  ▲   ABCD(a)11      │   ABCD(a)13",
        "  │   ABCD(a)15      │   ACD(c)17",
        "  │   ACD(c)16       │   ACD(r)20",
        "  │   ACD(r)19       │   ACD(a)23",
        "  │   ACD(a)22       │   ACD(a)26",
        "  │   ACD(a)25       │",
        "  │   ABCD · ACD     │",
        "( D )◀───────────────╯",
        "      ABCD(a)14",
        "      ACD(c)18",
        "      ACD(r)21",
        "      ACD(a)24",
        "",
        "( B ) not on the ring: ABCD",
        "      ABCD(a)12",
        "",
        "                    A             B            C             D",
        "before              ABCD(a)11 ✓   ABCD(a)12 ✓  ABCD(a)13 ✓   ABCD(a)14 ✓",
        "B has crashed       ABCD(a)15 ✓",
        "round 1, chaos      ACD(c)16 ✓                 ACD(c)17 ✓    ACD(c)18 ✓",
        "round 2, reserve    ACD(r)19 ✓                 ACD(r)20 ✓    ACD(r)21 ✓",
        "round 3, agreement  ACD(a)22 ✓                 ACD(a)23 ✓    ACD(a)24 ✓",
        "after               ACD(a)25 ✓                 ACD(a)26 ✓",
        "globalView          ABCD · ACD ✓  ABCD ✓       ABCD · ACD ✓  ABCD · ACD ✓",
        "",
        "16 of 16 labels and 4 of 4 globalViews are the paper's: every letter and every number.",
    ]


@pytest.mark.parametrize(
    ("names", "drawing"),
    [
        ("", []),
        ("a", ["( a )"]),
        ("ab", ["( a )───▶( b )", "  ▲        │", "  ╰────────╯"]),
        ("abc", ["( a )───▶( b )", "  ▲        │", "  │        │", "( c )◀─────╯"]),
        ("abcd", ["( a )───▶( b )", "  ▲        │", "  │        ▼", "( d )◀───( c )"]),
        (
            "abcde",
            [
                "( a )───▶( b )───▶( c )",
                "  ▲                 │",
                "  │                 │",
                "( e )◀───( d )◀─────╯",
            ],
        ),
    ],
)
def test_rings_of_any_size_close(names: str, drawing: list[str]) -> None:
    assert ring_lines([Place(name) for name in names]) == drawing


def test_the_picture_has_every_label_and_an_arrow_for_each_pass() -> None:
    figure = figure_of(14)
    wrong = figure.drawing.labels[-1]
    labels = (*figure.drawing.labels[:-1], wrong._replace(seq=40))

    svg = ElementTree.fromstring(as_svg(Compared(figure, Drawing(labels, figure.views))))

    texts = list(svg.iter(f"{SVG}text"))
    said = ["".join(each.itertext()) for each in texts]
    for label in figure.drawing.labels[:-1]:
        assert str(label) in said
    assert "ABCD · NULL · ACBD" in said
    assert [each.get("class") for each in svg.iter(f"{SVG}path")].count("way") == 4
    (marked,) = [each for each in texts if "wrong" in str(each.get("class"))]
    assert "in the paper ACBD(a)38" in "".join(marked.itertext())


def test_the_picture_crosses_out_who_is_not_on_the_ring_and_escapes() -> None:
    spots = [Spot(name, Line("<v>"), (Line("x & y"),)) for name in "ABC"]

    svg = ring_svg(spots, ["A", "C"], "a <ring>")

    root = ElementTree.fromstring(svg)
    assert [each.get("class") for each in root.iter(f"{SVG}line")] == ["cross", "cross"]
    assert [each.get("class") for each in root.iter(f"{SVG}circle")] == ["node", "node off", "node"]
    assert "<v>" not in svg


# ---------------------------------------------------------------------- the command


def test_explain_draws_the_figure_says_that_it_is_equal_and_writes_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(["explain", "raincore", "--figure", "14", "--json", "--out", "e"]) == 0

    out, err = capsys.readouterr()
    results = json.loads(out)["results"]
    assert [each["name"] for each in results] == [f"figure-14-{each.name}" for each in SOURCES]
    assert {each["verdict"] for each in results} == {"holds"}
    assert {each["labels_equal"] for each in results} == {29}
    assert "ABCD · NULL · ACBD" in err
    assert "every letter and every number" in err
    page = Path("e/figures/figure-14.html").read_text()
    assert "<svg" in page
    assert "src=" not in page
    kept = json.loads(Path("e/figures/figure-14.json").read_text())
    assert kept["code"]["differences"] == []
    assert Path("e/figures/figure-14.svg").read_text() in page


def test_explain_says_where_the_code_differs_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Raincore, "handle", joins_for_nothing)

    assert main(["explain", "raincore", "--figure", "14", "--out", "e"]) == 1

    out = capsys.readouterr().out
    assert "ACBD(c)26 ✗ ACBD(c)27" in out
    assert "✓ figure-14-model-seed: holds" in out
    assert "✗ figure-14-code: violated" in out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["raincore", "--figure", "11"], "invalid choice: 11"),
        (["sequencer-f1-seed", "--figure", "12"], "--figure is for raincore"),
    ],
)
def test_a_figure_that_there_is_not(
    words: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)

    assert main(["explain", *words]) == 3
    assert sentence in capsys.readouterr().err


def test_a_dry_run_draws_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(["explain", "raincore", "--figure", "12", "-n"]) == 0
    assert "would draw Figure 12" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_the_two_drivers_agree_on_the_story() -> None:
    figure = figure_of(14)

    assert by_model(figure, True).rows == by_code(figure, True).rows
