"""Reading TLC's graph and comparing it with a model's: each planted difference must be found."""

import re
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from raincheck.conformance.tlc.compare import compare
from raincheck.conformance.tlc.dotgraph import plain_action, read_dot, read_lines
from raincheck.conformance.tlc.stategraph import StateGraph, of_machine
from raincheck.model.machine.explore import explore
from raincheck.model.machine.graph import NUMBER, Graph
from raincheck.model.machine.machine import Step, Value, function, record
from raincheck.model.machine.tlavalue import ModelValue

TOYS = Path(__file__).parent / "toys"
GOLDEN = TOYS / "token-2.15.dot"
PAIR = function(
    {
        3: frozenset(),
        5: frozenset({(True, 'q"\\uo'), (False, "more than eighty columns in all")}),
    }
)

State = tuple[str, int, int, tuple[tuple[str, int], ...]]
Steps = list[Step[State]]


@dataclass(frozen=True)
class Token:
    """The mirror of toys/Token.tla; `fault` changes the steps of a state."""

    fault: Callable[[State, Steps], Steps] = lambda _, steps: steps
    start: tuple[State, ...] = (("a", 0, 0, ()), ("b", 0, 0, ()))
    limit: int = 1
    name = "token"
    invariants = {}  # noqa: RUF012 - none, and nobody adds any

    def initial(self):
        return self.start

    def steps(self, state):
        return self.fault(state, list(self.right_steps(state)))

    def right_steps(self, state):
        holder, a, b, note = state
        count = a if holder == "a" else b
        if count < self.limit:
            more = (a + 1, b) if holder == "a" else (a, b + 1)
            yield Step("Count", (holder,), (holder, *more, note))
        if not note:
            yield Step("Write", (holder,), (holder, a, b, ((holder, count - 1),)))
        other = "b" if holder == "a" else "a"
        yield Step("Pass", (holder, other), (other, a, b, note))
        yield Step("Idle", (), state)

    def variables(self, state) -> dict[str, Value]:
        holder, a, b, note = state
        return {
            "holder": holder,
            "count": record(a=a, b=b),
            "note": tuple(
                record(by=by, at=at, nil=ModelValue("None"), s=frozenset({1, 2})) for by, at in note
            ),
            "pair": PAIR,
        }


def graph_of(machine: Token, name: str = "model") -> StateGraph:
    return of_machine(machine, explore(machine).graph, name)


@pytest.fixture(scope="module")
def spec() -> StateGraph:
    return read_dot(GOLDEN)


def test_the_model_mirrors_the_spec(spec):
    model = graph_of(Token())

    assert compare(spec, model) is None
    assert compare(model, spec) is None
    assert (len(spec.graph), spec.graph.edge_count, len(spec.graph.initial)) == (32, 86, 2)
    assert spec.graph.action_counts() == {"Count": 14, "Idle": 32, "Pass": 32, "Write": 8}
    assert spec.graph.action_counts() == model.graph.action_counts()


def drop_guard(state: State, steps: Steps) -> Steps:
    holder, a, b, note = state
    if (holder, a) == ("a", 1):
        steps.append(Step("Count", ("a",), (holder, 2, b, note)))
    return steps if a < 2 else []


def change_update(state: State, steps: Steps) -> Steps:
    def other(step: Step[State]) -> Step[State]:
        if step.action != "Write" or state[1:3] != (1, 1):
            return step
        return step._replace(target=(*step.target[:3], ((state[0], 1),)))

    return [other(step) for step in steps]


def miss_action(state: State, steps: Steps) -> Steps:
    return [step for step in steps if step.action != "Write" or state[1:3] != (1, 0)]


def extra_action(state: State, steps: Steps) -> Steps:
    return [*steps, Step("Reset", (), ("a", 0, 0, ()))] if state[1:3] == (1, 1) else steps


def rename_action(state: State, steps: Steps) -> Steps:
    return [
        step._replace(action="Tally") if step.action == "Count" and state[3] else step
        for step in steps
    ]


@pytest.mark.parametrize(
    ("fault", "kind", "has_it", "path", "action", "variables"),
    [
        (drop_guard, "missing step", "model", ["Count"], "Count", []),
        (change_update, "other effect", "spec", ["Count", "Pass", "Count"], "Write", ["note"]),
        (miss_action, "missing step", "spec", ["Count"], "Write", []),
        (extra_action, "missing step", "model", ["Count", "Pass", "Count"], "Reset", []),
        (rename_action, "other name", "spec", ["Write"], "Count", []),
    ],
)
def test_a_planted_fault_is_found_on_the_shortest_path(
    spec, fault, kind, has_it, path, action, variables
):
    found = compare(spec, graph_of(Token(fault)))

    assert found is not None
    assert (found.kind, found.has_it) == (kind, has_it)
    assert [name for name, _ in found.path] == path
    assert found.action == action
    assert list(found.variables) == variables
    text = found.text()
    for name in ["The shortest path there", "initial state", *path, action, has_it]:
        assert name in text


def part_of(whole: StateGraph, last: int, steps: int) -> StateGraph:
    """The graph when the states before `last` have taken all steps, and `last` only some."""
    kept, taken = [], 0
    for source, label, target in whole.graph.edges():
        taken += source == last
        if source < last or (source == last and taken <= steps):
            kept.append((source, whole.graph.labels.index(label), target))
    known = {*whole.graph.initial, *(target for _, _, target in kept)}
    assert known == set(range(len(known)))
    columns = tuple(array(NUMBER, column) for column in zip(*kept, strict=True))
    states = whole.graph.states[: len(known)]
    graph = Graph(states, whole.graph.initial, whole.graph.labels, columns)
    return StateGraph(whole.name, whole.variables, graph)


def test_a_part_is_compared_as_far_as_it_goes(spec):
    """Which state shows a fault first is where the part has to reach to."""
    reaches = [part_of(spec, last, 1) for last in range(1, len(spec.graph))]

    def found(fault=None) -> list[bool]:
        model = graph_of(Token(fault) if fault else Token())
        return [compare(part, model, last) is not None for last, part in enumerate(reaches, 1)]

    assert not any(found())
    for fault in (drop_guard, change_update, miss_action, extra_action, rename_action):
        noticed = found(fault)
        assert not noticed[0]
        assert noticed[-1]
        assert noticed == sorted(noticed)


def test_the_last_state_of_a_part_may_lack_steps_and_has_no_other(spec):
    def without_idling(_: State, steps: Steps) -> Steps:
        return [each for each in steps if each.action != "Idle"]

    parts = [part_of(spec, 0, steps) for steps in range(1, len(spec.graph.targets(0)) + 1)]
    idles = [any(label.action == "Idle" for _, label, _ in part.graph.edges()) for part in parts]

    assert [compare(part, graph_of(Token()), 0) for part in parts] == [None] * len(parts)
    assert sorted(set(idles)) == [False, True]
    found = [compare(part, graph_of(Token(without_idling)), 0) is not None for part in parts]
    assert found == idles


def test_a_part_that_has_a_state_of_no_path_is_refused(spec):
    part = part_of(spec, 2, 9)
    lost = StateGraph(part.name, part.variables, part.graph.with_states(part.graph.states))
    lost.graph.initial = part.graph.initial[:1]

    found = compare(lost, graph_of(Token(start=(("a", 0, 0, ()),))), 0)

    assert found is not None
    assert found.kind == "unreachable"


def test_the_same_fault_is_found_from_the_other_side(spec):
    found = compare(graph_of(Token(drop_guard)), spec)

    assert found is not None
    assert (found.kind, found.has_it, found.lacks_it) == ("missing step", "model", "spec")


def test_another_initial_state_is_found(spec):
    more = compare(spec, graph_of(Token(start=(*Token.start, ("a", 0, 1, ())))))
    fewer = compare(spec, graph_of(Token(start=Token.start[:1])))

    assert more is not None
    assert (more.kind, more.has_it, more.path) == ("initial", "model", ())
    assert list(more.variables) == ["count"]
    assert fewer is not None
    assert (fewer.kind, fewer.has_it, fewer.state["holder"]) == ("initial", "spec", "b")
    assert '"b"' in fewer.text()


def test_a_missing_variable_is_found(spec):
    @dataclass(frozen=True)
    class Fewer(Token):
        def variables(self, state):
            return {k: v for k, v in super().variables(state).items() if k != "pair"}

    found = compare(spec, graph_of(Fewer()))

    assert found is not None
    assert found.text() == "Only spec has the variables pair."
    assert compare(graph_of(Fewer()), spec) == found


def test_true_in_place_of_one_is_found(spec):
    @dataclass(frozen=True)
    class Truth(Token):
        def variables(self, state):
            _, a, b, _ = state
            return super().variables(state) | {"count": record(a=a if a < 1 else True, b=b)}

    found = compare(spec, graph_of(Truth()))

    assert found is not None
    assert (found.kind, found.path, found.action) == ("other effect", (), "Count")
    assert list(found.variables) == ["count"]
    assert "a |-> TRUE" in found.text()


def test_hidden_state_of_the_model_is_found(spec):
    """A model that remembers more than the spec says is no mirror, even if it behaves well."""

    @dataclass(frozen=True)
    class Secretive(Token):
        start: tuple = tuple((state, 0) for state in Token.start)

        def steps(self, state):
            yield from (s._replace(target=(s.target, 1)) for s in super().steps(state[0]))

        def variables(self, state):
            return super().variables(state[0])

    found = compare(spec, graph_of(Secretive()))

    assert found is not None
    assert (found.kind, found.has_it) == ("duplicate", "model")


def lines() -> list[str]:
    return GOLDEN.read_text().splitlines(keepends=True)


def newer(line: str) -> str:
    """A line as TLC 1.8 writes it: a tooltip repeats each state that is not initial."""
    if re.match(r"-?\d+ \[", line) is None or "filled" in line:
        return line
    return re.sub(r'\[label=(".*")\]', r"[label=\1,tooltip=\1]", line)


def test_the_dumps_of_newer_tlc_are_read(spec):
    text = [newer(line) for line in lines()]
    assert sum("tooltip" in line for line in text) == 30
    named = [re.sub(r'label="MCCount"', r'label="MCCount(\\"a\\")"', line) for line in text]

    assert compare(spec, read_lines(text, "newer")) is None
    assert compare(spec, read_lines(named, "with arguments")) is None


def test_a_state_outside_the_constraints_is_not_initial():
    text = [
        line.replace('"];', '",style = filled, fillcolor=lightyellow];') if i == 7 else line
        for i, line in enumerate(lines())
    ]
    assert text != lines()

    assert len(read_lines(text, "constrained").graph.initial) == 2


def test_a_step_found_in_two_ways_is_one_step(spec):
    twice = [line for line in lines() for _ in range(2 if "MCCount" in line else 1)]

    graph = read_lines(twice, "twice")

    assert (graph.graph.edge_count, graph.step_count()) == (100, 86)
    assert compare(spec, graph) is None


def test_a_spec_with_one_variable_and_line_breaks_is_read():
    text = ['1 [label="x = <<1,\\n   2>>",style = filled]\n', '1 -> 1 [label="A"];\n', "}\n"]

    graph = read_lines(text, "one")

    assert graph.state(0) == {"x": (1, 2)}
    assert [label.action for _, label, _ in graph.graph.edges()] == ["A"]


def test_what_tlc_adds_for_temporal_properties_is_no_step(spec):
    text = lines()
    nodes = [found[1] for line in text if (found := re.match(r"(-?\d+) \[", line))]

    added = read_lines([*(f'{n} -> {n} [style="dashed"];\n' for n in nodes), *text], "temporal")

    assert len(nodes) == len(spec.graph)
    assert (added.graph.edge_count, added.step_count()) == (spec.graph.edge_count, 86)
    assert compare(spec, added) is None


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda text: text[:-3], "cut off"),
        (lambda text: [line.replace("style = filled", "") for line in text], "initial"),
        (lambda text: [line for i, line in enumerate(text) if i != 7], "not in the dump"),
        (lambda text: [*text[:6], "12 ~> 13\n", *text[6:]], "line 7: neither"),
        (lambda text: [*text[:6], "12 -> 13;\n", *text[6:]], "line 7: a step without"),
        (lambda text: [*text[:6], '1 -> 13 [style="dashed"];\n', *text[6:]], "7: a step without"),
        (lambda text: [line.replace("note = <<>>", "note = <<") for line in text], "not a TLA"),
        (lambda text: [*text[:6], '12 [label="/\\\\ x = 1"]\n', *text[6:]], "has the variables"),
        (lambda _: [], "cut off"),
    ],
)
def test_a_damaged_dump_is_refused(damage, reason):
    with pytest.raises(ValueError, match=reason):
        read_lines(damage(lines()), "damaged.dot")


def test_an_instances_action_is_the_protocols():
    names = ["MCSend", "Send", 'MCSend("a")', "MCrash", "McSend", "MC"]

    assert [plain_action(name) for name in names] == [
        "Send",
        "Send",
        "Send",
        "MCrash",
        "McSend",
        "MC",
    ]
