"""Each rule of the trace checker, broken alone by a planted trace, is named in its own words."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from raincheck.conformance.bindings.sequencer.records import rules_of
from raincheck.conformance.trace.batches import Problem
from raincheck.conformance.trace.events import Crash, Event, Footer, Header, ViewRecord
from raincheck.conformance.trace.findings import HOLDS, INCONCLUSIVE, VIOLATED, Finding
from raincheck.conformance.trace.following.files import check_file
from raincheck.conformance.trace.judged import RunVerdict
from raincheck.conformance.trace.run import check_paths
from raincheck.conformance.trace.sequencer.cuts import GUARD
from raincheck.conformance.trace.sequencer.damage import copy
from raincheck.conformance.trace.sequencer.direct import Direct
from raincheck.conformance.trace.sequencer.direct_world import World
from raincheck.conformance.trace.sequencer.tracegen import Trace, write_trace
from raincheck.model.machine.runs import Address

A, B, C, D = (Address(n, 0) for n in "abcd")
C_AGAIN = Address("c", 1)
SPEC = Path(__file__).parents[2] / "spec" / "Sequencer.tla"
Members = tuple[Address, ...]


class Story:
    """A trace told step by step: its headers claim virtual synchrony, its machine asks for none."""

    def __init__(self, members: Members = (A, B, C), joiners: Members = ()) -> None:
        self.first = members
        self.world = World("r1", rules_of({}))
        self.world.found(members)
        for who in joiners:
            self.world.arrive(who)
        self.events: dict[Address, list[Event]] = {who: [] for who in (*members, *joiners)}

    def do(self, action: str, *members: Address, choice: Any = None) -> "Story":
        """Each of them takes that step."""
        for who in members:
            self.events[who].append(self.world.perform(who, action, choice))
        return self

    def send(self, who: Address) -> "Story":
        return self.do("Send", who, choice=1)

    def read(self, coordinator: Address, *members: Address) -> "Story":
        return self.do("ReceiveData", *members, choice=coordinator)

    def install(self, number: int, new: Members, *members: Address) -> "Story":
        """They install that view; if nobody is named, all its members that were in the last."""
        there = [who for who in new if self.world.processes[who].me.status != "joining"]
        return self.do("InstallView", *(members or there), choice=(number, new))

    def files(self, constants: dict[str, Any] | None = None) -> Trace:
        trace: Trace = {}
        for who, events in self.events.items():
            header = Header(
                version=1,
                run="r1",
                protocol="sequencer",
                node=who.node,
                incarnation=who.incarnation,
                nodes=tuple(sorted({each.node for each in self.events})),
                constants=constants or {},
                initial=ViewRecord(1, self.first) if who in self.first else None,
            )
            footer = Footer(run="r1", node=who.node, incarnation=who.incarnation, index=len(events))
            trace[who] = [header, *events, footer]
        return copy(trace)


def judged(folder: Path, trace: Trace, crashed: Members = ()) -> RunVerdict:
    """The decomposed checker's word on a trace; the direct one's must be the same."""
    write_trace(folder, trace, crashed)
    result = check_paths([folder])[0]
    assert result.verdict == Direct(trace, crashed).verdict
    return result


def reasons(result: RunVerdict) -> list[str]:
    return [finding.reason for finding in result.findings]


def shift_clocks(trace: Trace, who: Address, by: int) -> Trace:
    """All that this one did was later, by its clock."""
    for record in trace[who]:
        if isinstance(record, Event):
            record.clock += by
    return trace


# ---------------------------------------------------------------------- virtual synchrony


def unread(finding: Finding) -> list[dict[str, Any]]:
    """The values of the false guard of InstallView."""
    assert (finding.part, finding.action, finding.verdict) == ("network", "InstallView", VIOLATED)
    assert {conjunct.text for conjunct in finding.conjuncts} == {GUARD}
    return [conjunct.values for conjunct in finding.conjuncts]


def test_the_guards_are_named_in_the_words_of_the_specification() -> None:
    text = " ".join(SPEC.read_text().replace("\\*", " ").split())

    assert GUARD in text
    assert "VirtualSynchrony => d.view = view[n]" in text


def test_a_message_read_in_a_later_view_than_its_own_is_refused(tmp_path: Path) -> None:
    story = Story().send(A).read(A, A, C).install(2, (B, C, A)).read(A, B)
    result = judged(tmp_path, story.files())
    [local] = [finding for finding in result.findings if finding.part == "local"]

    assert (local.reason, local.node, local.index) == ("the guard is false", "b", 2)
    [conjunct] = local.conjuncts
    assert conjunct.text == "VirtualSynchrony => d.view = view[n]"
    assert conjunct.values == {"d.view": 1, "view": 2}

    weaker = {"VirtualSynchrony": False}
    assert judged(tmp_path, story.files(weaker)).verdict == HOLDS


def test_a_message_of_a_view_to_come_breaks_both_guards(tmp_path: Path) -> None:
    trace = Story().send(A).read(A, B).files()
    event = trace[B][1]
    assert isinstance(event, Event)
    event.args.view = 9
    found = judged(tmp_path, trace).first

    assert found is not None
    assert [conjunct.text for conjunct in found.conjuncts] == [
        "ViewTag => d.view <= view[n]",
        "VirtualSynchrony => d.view = view[n]",
    ]


def test_what_a_coordinator_that_stays_has_multicast_everybody_reads(tmp_path: Path) -> None:
    story = Story(joiners=(D,)).send(A).read(A, A, C).install(2, (A, B, C, D))
    [finding] = judged(tmp_path, story.files()).findings

    assert finding.reason == "it installed view 2 with messages of an earlier view unread"
    assert (finding.node, finding.index) == ("b", 1)
    [values] = unread(finding)
    assert values == {
        "v": 2,
        "c": ["a", 0],
        "position[n][c]": 0,
        "needed": 1,
        "known": "multicast by a.0",
    }
    assert judged(tmp_path, story.files({"VirtualSynchrony": False})).verdict == HOLDS


def test_a_coordinator_that_stays_loses_nothing_even_if_nobody_has_read_it(tmp_path: Path) -> None:
    story = Story(joiners=(D,)).send(A).install(2, (A, B, C, D))

    assert {f.node for f in judged(tmp_path, story.files()).findings} == {"a", "b", "c"}


def test_what_one_survivor_has_of_a_crashed_coordinator_the_others_read(tmp_path: Path) -> None:
    story = Story().send(A).read(A, A, C).do("Crash", A).install(2, (B, C))
    [finding] = judged(tmp_path, story.files()).findings
    [values] = unread(finding)

    assert (finding.node, values["known"], values["needed"]) == ("b", "read by c.0", 1)


def test_what_only_those_had_who_are_gone_may_be_gone_with_them(tmp_path: Path) -> None:
    story = Story().send(A).read(A, A, B).do("Crash", A, B).install(2, (C,))

    assert judged(tmp_path, story.files()).verdict == HOLDS


@pytest.mark.parametrize("end", ["Crash", ""])
def test_what_a_member_of_both_views_had_stays_even_if_it_never_installs_the_second(
    tmp_path: Path, end: str
) -> None:
    story = Story().send(A).read(A, B).do("Crash", A).install(2, (B, C), C)
    if end:
        story.do(end, B)
    [finding] = judged(tmp_path, story.files()).findings

    assert (finding.node, unread(finding)[0]["known"]) == ("c", "read by b.0")


def test_what_a_member_that_is_gone_had_of_one_that_stays_must_be_read(tmp_path: Path) -> None:
    trace = Story().send(A).read(A, B).do("Crash", B).install(2, (A, C)).files()
    del trace[A][1:]  # nobody knows what it has multicast
    result = judged(tmp_path, trace, crashed=(A,))
    [finding] = [finding for finding in result.findings if finding.verdict == VIOLATED]

    assert (finding.node, unread(finding)[0]["known"]) == ("c", "read by b.0")


def test_what_anybody_read_of_a_stream_that_is_not_cut_must_be_read(tmp_path: Path) -> None:
    story = Story(joiners=(D,)).send(A).read(A, A, B, C).install(2, (B, C, A))
    story.install(3, (B, C, A, D)).do("Join", D).do("Crash", A, B, C).install(4, (D,))
    trace = story.files()
    event = trace[D][1]
    assert isinstance(event, Event)
    event.args.digest, event.changed.position = (), UNSET
    del trace[B]  # nobody knows which digest it sent
    result = judged(tmp_path, trace, crashed=(B,))
    [finding] = [finding for finding in result.findings if finding.verdict == VIOLATED]

    assert (finding.node, unread(finding)[0]["c"]) == ("d", ["a", 0])


def demoted() -> Story:
    """b's second message is lost when a, who sequenced it, loses its role; b sequences it again."""
    story = Story()
    for _ in range(2):
        story.send(B).do("ReceiveForward", A, choice=B)
    story.read(A, A, B, C).install(2, (B, C, A))
    return story.do("Resend", B, choice=1).read(B, A, B, C)


def test_a_coordinator_that_loses_its_role_may_lose_what_nobody_had(tmp_path: Path) -> None:
    assert judged(tmp_path, demoted().files()).verdict == HOLDS


def test_a_coordinator_that_lost_multicasts_is_drained_without_them(tmp_path: Path) -> None:
    story = demoted().do("Leave", A).do("Stop", A).install(3, (B, C))

    assert judged(tmp_path, story.files()).verdict == HOLDS
    weaker = judged(tmp_path, story.files({"VirtualSynchrony": False}))
    assert reasons(weaker)[0] == "it stopped before every member had received all of its stream"


def test_what_a_joiners_digest_covers_counts_as_read(tmp_path: Path) -> None:
    story = Story(joiners=(D,)).send(A).read(A, A, B, C).install(2, (A, B, C, D)).do("Join", D)
    story.do("Crash", B).install(3, (A, C, D))

    assert judged(tmp_path, story.files()).verdict == HOLDS


def test_a_view_without_a_joiner_that_never_learnt_of_its_admission_lost_no_reader(
    tmp_path: Path,
) -> None:
    story = Story(joiners=(D,)).install(2, (A, B, C, D), B, C).do("Crash", A)
    story.install(3, (B, C)).do("Crash", C).install(4, (B, D), B).do("Join", D)
    story.do("Crash", B).install(5, (D,)).send(D).read(D, D).do("Leave", D).do("Stop", D)

    assert judged(tmp_path, story.files()).verdict == HOLDS


# ---------------------------------------------------------------------- views


VIEWS: dict[str, Callable[[], Trace]] = {
    "reordered": lambda: Story().install(2, (B, A, C)).files(),
    "a member joins that was there": lambda: Story().install(2, (A, C, B)).files(),
    "a node stands in it twice": lambda: (
        Story(joiners=(C_AGAIN,)).install(2, (A, B, C, C_AGAIN)).files()
    ),
    "nobody stays": lambda: nobody_stays(),
}


def nobody_stays() -> Trace:
    """The second view, in which d is from the start, has nobody of the first."""
    trace = Story(joiners=(D,)).files()
    header = trace[D][0]
    assert isinstance(header, Header)
    header.initial = ViewRecord(2, (D,))
    return trace


@pytest.mark.parametrize("how", VIEWS)
def test_a_view_that_the_membership_may_not_decide_is_seen(tmp_path: Path, how: str) -> None:
    result = judged(tmp_path, VIEWS[how]())

    assert result.verdict == VIOLATED
    assert reasons(result) == ["view 2 does not follow from view 1"]
    assert Direct(VIEWS[how]()).violated[0][2] == "view 2 does not follow"


@pytest.mark.parametrize("new", [(B, C, A), (A, C), (C,), (A, B, C, D), (C, D)])
def test_successors_and_rotations_follow(tmp_path: Path, new: Members) -> None:
    assert judged(tmp_path, Story(joiners=(D,)).install(2, new).files()).verdict == HOLDS


def test_who_was_never_admitted_may_join_anew(tmp_path: Path) -> None:
    story = Story(joiners=(D,)).install(2, (A, B, C, D)).install(3, (A, B, D))
    there = story.world.processes[D].me

    assert there.status == "joining"
    assert judged(tmp_path, story.files()).verdict == HOLDS


def test_a_view_is_the_same_for_everybody(tmp_path: Path) -> None:
    trace = Story().install(2, (A, B)).files()
    trace[B] = Story().install(2, (B, C)).files()[B]

    assert "view 2 has other members here than elsewhere" in reasons(judged(tmp_path, trace))


# ---------------------------------------------------------------------- messages


def test_a_message_that_was_never_sent_is_seen(tmp_path: Path) -> None:
    trace = Story().files()
    trace[B] = Story().send(A).read(A, B).files()[B]
    [finding] = judged(tmp_path, trace).findings

    assert finding.reason == '["DATA","a",0,"b",0,1] was never sent'
    assert (finding.verdict, finding.node, finding.action) == (VIOLATED, "b", "ReceiveData")


def test_a_message_that_came_before_it_was_sent_is_seen(tmp_path: Path) -> None:
    trace = shift_clocks(Story().send(A).read(A, B).files(), A, 50)
    [finding] = judged(tmp_path, trace).findings

    assert finding.reason == '["DATA","a",0,"b",0,1] was received before it was sent'
    assert (finding.verdict, finding.node) == (VIOLATED, "b")


def test_a_message_of_one_without_a_file_is_inconclusive(tmp_path: Path) -> None:
    trace = Story().send(A).read(A, B).files()
    del trace[A]
    result = judged(tmp_path, trace, crashed=(A,))

    assert result.verdict == INCONCLUSIVE
    assert reasons(result) == ['["DATA","a",0,"b",0,1]: the records of a.0 do not show its sending']


def test_a_message_from_beyond_the_end_of_a_file_is_inconclusive(tmp_path: Path) -> None:
    trace = Story().send(A).read(A, B).files()
    del trace[A][1:]
    result = judged(tmp_path, trace, crashed=(A,))

    assert result.verdict == INCONCLUSIVE
    assert reasons(result) == ['["DATA","a",0,"b",0,1]: the records of a.0 do not show its sending']


# ---------------------------------------------------------------------- joining and leaving


def admitted() -> Story:
    story = Story(joiners=(D,)).send(A).read(A, A, B, C)
    return story.install(2, (A, B, C, D)).do("Join", D)


def test_a_join_rsp_that_was_never_sent_is_seen(tmp_path: Path) -> None:
    trace = Story(joiners=(D,)).send(A).read(A, A, B, C).files()
    trace[D] = admitted().files()[D]
    [finding] = judged(tmp_path, trace).findings

    assert finding.reason == '["JOIN_RSP","a",0,"d",0,2] was never sent'
    assert (finding.verdict, finding.node, finding.action) == (VIOLATED, "d", "Join")


def test_a_join_rsp_of_one_without_a_file_is_inconclusive(tmp_path: Path) -> None:
    trace = Story(joiners=(D,)).install(2, (A, B, C, D)).do("Join", D).files()
    del trace[A]
    result = judged(tmp_path, trace, crashed=(A,))

    assert result.verdict == INCONCLUSIVE
    assert reasons(result) == [
        '["JOIN_RSP","a",0,"d",0,2]: the records of a.0 do not show its sending'
    ]


def test_a_joiner_with_another_digest_than_it_was_sent_is_seen(tmp_path: Path) -> None:
    trace = admitted().files()
    event = trace[D][1]
    assert isinstance(event, Event)
    event.args.digest = event.changed.position = (("a", 0, 2),)
    [finding] = judged(tmp_path, trace).findings

    assert finding.reason == '["JOIN_RSP","a",0,"d",0,2] was sent with other contents'
    assert (finding.verdict, finding.node, finding.action) == (VIOLATED, "d", "Join")


def test_a_join_rsp_that_came_before_it_was_sent_is_seen(tmp_path: Path) -> None:
    story = Story(joiners=(D,)).install(2, (A, B, C, D)).do("Join", D)
    [finding] = judged(tmp_path, shift_clocks(story.files(), A, 50)).findings

    assert finding.reason == '["JOIN_RSP","a",0,"d",0,2] was received before it was sent'
    assert (finding.verdict, finding.node, finding.action) == (VIOLATED, "d", "Join")


def test_who_stops_before_the_others_have_its_stream_is_seen(tmp_path: Path) -> None:
    story = Story().send(A).read(A, A).do("Leave", A).do("Stop", A).install(2, (B, C))
    result = judged(tmp_path, story.files())

    assert result.verdict == VIOLATED
    assert [(f.node, f.action, f.part) for f in result.findings] == [("a", "Stop", "network")] * 2
    assert set(reasons(result)) == {"it stopped before every member had received all of its stream"}


# ---------------------------------------------------------------------- records


def test_a_member_without_a_file_is_missed(tmp_path: Path) -> None:
    trace = Story().files()
    trace[A] = Story().send(A).files()[A]
    del trace[C]
    result = judged(tmp_path, trace)

    assert result.verdict == INCONCLUSIVE
    assert reasons(result) == ["a member of a view has no file", "there is no file of node c"]


def test_a_file_that_just_stops_is_missed(tmp_path: Path) -> None:
    trace = Story().send(A).files()
    trace[B].pop()
    result = judged(tmp_path, trace)

    assert result.verdict == INCONCLUSIVE
    assert reasons(result) == ["no footer: events may be missing at the end"]


def test_several_missing_events_are_counted(tmp_path: Path) -> None:
    trace = Story().send(A).send(A).send(A).send(A).files()
    del trace[A][2:4]
    result = judged(tmp_path, trace)

    assert result.verdict == INCONCLUSIVE
    assert reasons(result) == ["events 2 to 3 are missing: what follows cannot be checked"]


def test_a_footer_that_counts_more_events_is_inconclusive(tmp_path: Path) -> None:
    trace = Story().send(A).send(A).files()
    del trace[A][2]
    result = judged(tmp_path, trace)

    assert result.verdict == INCONCLUSIVE
    assert reasons(result) == [
        "the footer says that event 2 is the last one, "
        "the file ends with event 1: records are missing"
    ]


OTHERS: dict[str, Any] = {
    "a record after the footer": Event("r1", "sequencer", "a", 0, 2, 9, "Leave", None),  # type: ignore[arg-type]
    "a second header": Header(
        version=1, run="r1", protocol="sequencer", node="a", incarnation=0, nodes=tuple("abcd")
    ),
    "a crash record belongs into a file of its own": Crash(run="r1", node="a", incarnation=0),
    "a record of another run, node or incarnation than the header's": Footer(
        run="r1", node="b", incarnation=0, index=1
    ),
}


@pytest.mark.parametrize("reason", OTHERS)
def test_a_record_that_does_not_belong_there_is_put_aside(tmp_path: Path, reason: str) -> None:
    trace = Story().send(A).files()
    after = reason == "a record after the footer"
    record = OTHERS[reason] if not after else trace[A][1]
    trace[A].insert(len(trace[A]) if after else 2, record)
    write_trace(tmp_path, trace)
    result = check_paths([tmp_path])[0]

    assert result.verdict == INCONCLUSIVE
    [problem] = result.problems
    assert (problem.reason, problem.line) == (reason, 4 if after else 3)


def test_a_file_whose_first_line_is_no_record_is_not_read_on(tmp_path: Path) -> None:
    [path, *_] = write_trace(tmp_path, Story().send(A).files())
    path.write_bytes(b"nonsense\n" + path.read_bytes())
    problems: list[Problem] = []

    assert check_file(path, problems.append) is None
    assert problems[-1].reason == (
        "the first record is not a header: nothing in this file can be checked"
    )


@pytest.mark.parametrize(
    ("constants", "words"),
    [
        ({"HoldSends": "maybe"}, "constants: HoldSends: 'maybe' is no bool"),
        ({"VirtualSynchrony": 0}, "constants: VirtualSynchrony: 0 is no bool"),
        ({"JoinPolicy": True}, "constants: JoinPolicy: True is no str"),
    ],
)
def test_a_constant_of_another_type_is_refused(
    tmp_path: Path, constants: dict[str, Any], words: str
) -> None:
    trace = Story().send(A).files()
    for head, *_ in trace.values():
        assert isinstance(head, Header)
        head.constants = head.constants | constants
    write_trace(tmp_path, trace)

    result = check_paths([tmp_path])[0]

    assert result.verdict == INCONCLUSIVE
    assert {problem.reason for problem in result.problems} == {words}
