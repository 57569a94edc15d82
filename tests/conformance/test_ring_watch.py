"""The live picture of a ring: what is drawn, what is told, and what never gets into logs."""

import json
import os
import pty
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from raincheck.conformance.field.ring.deeds import deed
from raincheck.conformance.field.ring.status import RECENT, Status, Story, list_text, views_text
from raincheck.conformance.field.ring.watch import TELL_EVERY, Watch, picture
from raincheck.conformance.ui import Ui

RECORDED = Path(__file__).parent / "golden" / "ring-statuses.jsonl"


def recorded() -> list[dict[str, object]]:
    return [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]


def played(story: Story, entries: list[dict[str, object]]) -> list[str]:
    """Feed what was recorded to a story; return what it says has happened."""
    said = []
    for entry in entries:
        if "told" in entry:
            said.append(str(story.note(float(str(entry["at"])), str(entry["told"]))))
        else:
            said += [str(each) for each in story.update(Status.from_json(entry))]
    return said


class Clock:
    """A clock that goes only when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


# ---------------------------------------------------------------------- what is drawn


def test_the_picture_shows_the_ring_the_members_and_what_happened() -> None:
    story = Story()
    played(story, recorded())

    assert picture(story).splitlines() == [
        "1.2 s: 3 up, ring ac, token 1/a:14 at a, locks 2, messages 7",
        "",
        "      agreement         reserve",
        "(●a )────────────▶( c )",
        "  ▲                 │",
        "  ╰─────────────────╯",
        "",
        "not on the ring: b (starving)",
        "",
        "   member  token     view state  number  locks  messages  views",
        "●  a       eating    agreement   1/a:14  2      3         1 abc · 2 ac",
        "   b       starving  chaos       7       0      0         1 abc",
        "   c       hungry    reserve     1/a:13  0      0         1 abc",
        "",
        "    0.50 s  b is down",
        "    0.60 s  a is starving and sends a 911",
        "    0.60 s  a: suspects b",
        "    0.70 s  a regenerates the token, in epoch 1/a",
        "    0.70 s  the ring goes on without b: ac",
        "    0.90 s  a commits view 2: ac",
        "    1.20 s  b is back",
        "    1.20 s  b is starving and sends a 911",
    ]


def test_what_happened_is_seen_from_how_statuses_differ() -> None:
    assert played(Story(), recorded())[3:] == [
        "    0.50 s  b is killed",
        "    0.50 s  b is down",
        "    0.60 s  a is starving and sends a 911",
        "    0.60 s  a: suspects b",
        "    0.70 s  a regenerates the token, in epoch 1/a",
        "    0.70 s  the ring goes on without b: ac",
        "    0.90 s  a commits view 2: ac",
        "    1.20 s  b is back",
        "    1.20 s  b is starving and sends a 911",
    ]


def test_a_change_that_every_member_sees_is_reported_once() -> None:
    story = Story()
    entries = [
        {"node": node, "at": at, "seq": seq, "nodelist": nodelist}
        for at, seq, nodelist in ((0.1, 5, "ab"), (0.2, 9, "acb"))
        for node in "ab"
    ]

    said = played(story, entries)

    assert [each for each in said if "the ring goes on" in each] == [
        "    0.20 s  the ring goes on with c: acb"
    ]


def test_two_halves_of_a_partition_are_two_rings() -> None:
    story = Story()
    for node, ring in (("a", "ab"), ("b", "ab"), ("c", "cd"), ("d", "cd")):
        status = Status(node, 1.0, token_state="eating" if node in "ad" else "hungry")
        story.update(status._replace(nodelist=tuple(ring), seq=7 if node in "ad" else 6))

    assert story.rings() == [("c", "d"), ("a", "b")]
    assert picture(story).count("(●") == 2
    assert "ring cd and ab" in story.summary()


def test_a_holder_whose_status_is_stale_is_not_shown_as_a_second_one() -> None:
    story = Story()
    for node, seq in (("a", 4), ("b", 5)):
        story.update(Status(node, 1.0, token_state="eating", seq=seq, nodelist=("a", "b")))

    assert re.search("\\(○a \\)─+▶\\(●b \\)", picture(story))
    assert "token 5 at b" in story.summary()


def test_a_second_holder_with_the_same_number_is_shown() -> None:
    story = Story()
    for node in "ab":
        story.update(Status(node, 1.0, token_state="eating", seq=5, nodelist=("a", "b")))

    assert "at b and a" in story.summary()


def test_counts_go_on_over_the_lives_of_a_member() -> None:
    story = Story()
    for locks in (3, 5, 0, 2):
        story.update(Status("a", 1.0, locks=locks, messages=locks * 10))

    assert (story.locks, story.messages) == (7, 70)


def test_only_the_last_views_and_events_are_shown() -> None:
    views = tuple((index, ("a", "b") if index % 2 else None) for index in range(1, 6))
    story = Story()
    for number in range(2 * RECENT):
        story.note(float(number), f"event {number}")

    assert views_text(Status("a", 0.0, views=views)) == "… 3 ab · 4 – · 5 ab"
    assert len(story.recent) == RECENT
    assert list_text(("n1", "n2")) == "n1 n2"


@pytest.mark.parametrize(
    ("kind", "who", "facts", "words"),
    [
        ("crash", "d", {"moment": "", "back": "never"}, "d is killed, for good"),
        (
            "holder",
            "d",
            {"moment": "locked", "back": "kept"},
            "d is killed within the lock, and will be back with its state",
        ),
        ("forget", "d", {"back": "lost"}, "d is killed, and will be back without its state"),
        ("back, lost", "d", {}, "d is started again, without its state"),
        ("partition", "a | b c", {"seconds": 1.5}, "a | b c: cut off from each other for 1.5 s"),
        ("heal", "a | b c", {}, "all can reach each other again"),
        ("pause", "b", {"seconds": 2, "moment": "holding"},
         "b is stopped as it takes the token for 2 s"),
        ("resumed", "b", {}, "b goes on"),
        ("joinstorm", "e", {}, "e is started and wants to join"),
        ("leave", "e", {"back": "never"}, "e is to leave"),
        ("skipped", "", {"fault": "leave"}, "leave is skipped: there is nobody to do it to"),
        ("meteor", "e", {}, "meteor e"),
    ],
)  # fmt: skip
def test_what_is_done_to_the_ring_is_said_in_words(
    kind: str, who: str, facts: dict[str, object], words: str
) -> None:
    assert deed(kind, who, facts) == words


def test_in_the_end_the_counts_stay() -> None:
    story = Story()
    story.update(Status("a", 1.0, locks=3, messages=7))
    story.update(Status("a", 2.0, up="left", locks=3, messages=7))

    assert story.summary() == "2.0 s: nobody is up, locks 3, messages 7"


# ---------------------------------------------------------------------- records


def test_a_status_survives_the_way_as_json() -> None:
    status = Status(
        "a", 1.5, "up", "reserve", "eating", (2, "b"), 17, ("a", "b"),
        ((1, ("a",)), (2, None)), 3, 4, ("suspects c",),
    )  # fmt: skip

    assert Status.from_json(json.loads(json.dumps(status.as_json() | {"event": "ring"}))) == status


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"node": "a"},
        {"node": "a", "at": "soon"},
        {"node": "a", "at": 1, "epoch": 3},
        {"node": "a", "at": 1, "views": [["x"]]},
        {"node": "a", "at": 1, "nodelist": 5},
        {"node": "a", "at": 1, "seq": None},
    ],
)
def test_what_is_no_status_is_refused(record: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="no status of a member"):
        Status.from_json(record)


def test_nothing_that_a_terminal_would_obey_gets_through() -> None:
    story = Story()
    record = {"node": "a\x1b[2J", "at": 1.0, "nodelist": ["\x07"], "said": ["\x1b]0;x\x07"]}
    story.update(Status.from_json(record))
    story.note(1.0, "x\ny\x1b[31m")

    shown = picture(story) + story.summary()
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "x?y?[31m" in shown


# ---------------------------------------------------------------------- where it is shown


def test_without_a_terminal_it_is_printed_in_lines(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with Watch(Ui(), clock) as watch:
        for entry in recorded():
            if "told" in entry:
                watch.act(0.5, "b is killed")
            else:
                watch.update(Status.from_json(entry))
        clock.now = TELL_EVERY
        watch.update(Status("c", 16.0, token_state="eating", nodelist=("a", "c"), seq=15,
                            epoch=(1, "a")))  # fmt: skip

    out, err = capsys.readouterr()
    assert err == ""
    assert out.splitlines()[3:5] == ["    0.50 s  b is killed", "    0.50 s  b is down"]
    assert out.splitlines()[-2] == "16.0 s: 3 up, ring ac, token 1/a:15 at c, locks 2, messages 7"
    assert "\x1b" not in out
    assert "●" not in out


def test_with_json_stdout_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    with Watch(Ui(json=True)) as watch:
        watch.act(0.5, "b is killed")

    out, err = capsys.readouterr()
    assert out == ""
    assert "b is killed" in err


def test_quiet_is_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    with Watch(Ui(quiet=True)) as watch:
        watch.act(0.5, "b is killed")

    assert capsys.readouterr() == ("", "")


ON_A_TERMINAL = """
import json, sys
from raincheck.conformance.field.ring.watch import Status, Watch
from raincheck.conformance.ui import Ui

class Clock:
    now = 0.0
    def __call__(self):
        self.now += 1.0
        return self.now

ui = Ui()
with Watch(ui, Clock()) as watch:
    for line in open(sys.argv[1], encoding="utf-8"):
        entry = json.loads(line)
        if "told" in entry:
            watch.act(entry["at"], entry["told"])
            ui.say("a line of somebody else")
        else:
            watch.update(Status.from_json(entry))
print("done")
"""


def seen_on_a_terminal(kind: str) -> tuple[str, str]:
    """What a process that watches writes to its terminal, and to its stdout."""
    ours, theirs = pty.openpty()
    taken: list[bytes] = []

    def read() -> None:
        try:
            while chunk := os.read(ours, 1 << 16):
                taken.append(chunk)
        except OSError:  # the other end is closed
            return

    reader = threading.Thread(target=read)
    reader.start()
    try:
        done = subprocess.run(
            [sys.executable, "-c", ON_A_TERMINAL, str(RECORDED)],
            stdout=subprocess.PIPE,
            stderr=theirs,
            env=os.environ | {"TERM": kind, "COLUMNS": "90", "LINES": "40"},
            check=True,
            timeout=60,
        )
    finally:
        os.close(theirs)
        reader.join(timeout=60)
        os.close(ours)
    return b"".join(taken).decode(), done.stdout.decode()


def test_on_a_terminal_it_is_drawn_again_in_one_place_and_stays_at_the_end() -> None:
    drawn, out = seen_on_a_terminal("xterm")

    assert drawn.count("token 1/a:14 at a") >= 2
    assert "\x1b[2K" in drawn  # the lines of the picture before are wiped
    last = drawn[drawn.rindex("1.2 s: 3 up") :]
    assert "b is starving and sends a 911" in last.replace("\x1b[31m", "").replace("\x1b[0m", "")
    assert "\x1b[?25h" in last  # the cursor is shown again
    assert "a line of somebody else" in drawn + out
    assert out.endswith("done\n")


def test_a_terminal_that_cannot_move_its_cursor_gets_lines() -> None:
    drawn, out = seen_on_a_terminal("dumb")

    assert "\x1b" not in drawn + out
    assert "a regenerates the token, in epoch 1/a" in drawn + out
