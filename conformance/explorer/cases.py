"""A case as a document: the counterexample of TLC, taken by the model if the case has one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec.structs import replace

from raincheck.conformance.bindings.binding import binding_of
from raincheck.conformance.cases.bare import BareCase
from raincheck.conformance.cases.case import HOLDS, NOT_FOUND, Case
from raincheck.conformance.cases.tables import load_cases
from raincheck.conformance.protocols.registry import protocols
from raincheck.conformance.replay.coverage import spec_actions
from raincheck.conformance.report.sequence import Diagram
from raincheck.conformance.tlc.dotgraph import plain_action
from raincheck.conformance.tlc.output import TlcState
from raincheck.conformance.tlc.story import actor, diagram_of
from raincheck.conformance.tlc.tlc import TlcResult
from raincheck.conformance.verbs.mirror import has_model, machine_of
from raincheck.model.machine.values import Value

from .document import CODE, FACES, MODEL, SPEC, Document, Face, Move, Place, State, Stop, number_of
from .faces import Faces, changed, variables_of
from .places import Sources, code_places, model_places
from .tlatext import definitions
from .walking import Walk, any_core

Ask = Callable[[str], State | None]
"""Returns a state that the document does not have; None if there is no such state."""


def nothing_to_ask(case: Case) -> bool:
    """Tell whether the case is expected to have no counterexample, and can be walked through."""
    return case.expected in (HOLDS, NOT_FOUND) and walkable(case)


def walkable(case: Case) -> bool:
    """Tell whether there is a model whose states are the case's."""
    return not isinstance(case, BareCase) and not case.made_of and has_model(case.protocol)


def case_document(case: Case, found: TlcResult | None) -> tuple[Document, Ask]:
    """Return a case's document with TLC's answer, if it was asked, and whom to ask for more."""
    diagram = diagram_of(case, found) if found is not None and found.trace else None
    trace = found.trace if found is not None else ()
    if walkable(case):
        walk = Walk(case)
        trail = _taken(walk, trace)
        if trail is not None:
            return _walked(walk, trail, diagram), _asked(walk)
    return _told(case, found, diagram), lambda _name: None


def _asked(walk: Walk) -> Ask:
    def ask(name: str) -> State | None:
        number = number_of(name)
        return walk.state(number) if number is not None and number < len(walk.states) else None

    return ask


def _taken(walk: Walk, trace: Sequence[TlcState]) -> list[tuple[int, int]] | None:
    """Return TLC's behaviour as states and steps of the model; None if the model has none like it.

    Without one it is the initial state.
    """
    if not trace:
        return [(walk.initial[0], -1)]
    number = walk.begin(dict(trace[0].variables))
    if number is None:
        return None
    trail: list[tuple[int, int]] = []
    for each in trace[1:]:
        move = walk.follow(number, plain_action(each.action), dict(each.variables))
        if move is None:
            return None
        trail.append((number, move))
        number = walk.went(number, move)
    return [*trail, (number, -1)]


def _walked(walk: Walk, trail: list[tuple[int, int]], diagram: Diagram | None) -> Document:
    case, actions = walk.case, spec_actions([walk.case])
    for action in actions:
        walk.faces.of(action)
    states = {str(number): walk.state(number) for number, _ in trail}
    words = [] if diagram is None else [event.text for event in diagram.events]
    for (number, move), text in zip(trail, words, strict=False):
        states[str(number)] = _with_words(states[str(number)], move, text)
    return Document(
        title=_title(case, diagram),
        subject=case.name,
        kind="case",
        facts=_facts(case, diagram),
        ending=() if diagram is None else diagram.ending,
        members=walk.nodes,
        faces=walk.faces.found,
        places=walk.faces.places,
        states=states,
        trail=_stops([(str(number), move) for number, move in trail], states, diagram),
        size=walk.size,
        live=True,
    )


def _stops(
    trail: list[tuple[str, int]], states: dict[str, State], diagram: Diagram | None
) -> tuple[Stop, ...]:
    """Return the way, each step with who acts and which step sent what it receives."""
    events = () if diagram is None else diagram.events
    sent = {message.id: at for at, event in enumerate(events) for message in event.sent}
    stops = []
    for at, (name, place) in enumerate(trail):
        if place < 0:
            stops.append(Stop(name))
            continue
        move, event = states[name].moves[place], events[at] if at < len(events) else None
        received = None if event is None else event.received
        source = -1 if received is None else sent.get(received.id, -1)
        node = move.node if event is None or not event.node else event.node
        stops.append(Stop(name, place, move.call, node, source))
    return tuple(stops)


def _with_words(state: State, move: int, words: str) -> State:
    moves = list(state.moves)
    if 0 <= move < len(moves):
        moves[move] = replace(moves[move], words=words)
    return replace(state, moves=tuple(moves))


def _title(case: Case, diagram: Diagram | None) -> str:
    return f"{case.name}: a walk through its states" if diagram is None else diagram.title


def _facts(case: Case, diagram: Diagram | None) -> tuple[str, ...]:
    if diagram is not None:
        return diagram.facts
    return (f"The case: {case.words}.",) if case.words else ()


# ---------------------------------------------------------------------- without a model


def _told(case: Case, found: TlcResult | None, diagram: Diagram | None) -> Document:
    """Return the document of a behaviour that TLC alone knows."""
    trace = found.trace if found is not None else ()
    faces = Faces(Sources(definitions(case.module)), case.constants)
    states: dict[str, State] = {}
    events = () if diagram is None else diagram.events
    for at, each in enumerate(trace):
        before = dict(each.variables)
        moves: tuple[Move, ...] = ()
        if at + 1 < len(trace):
            text = events[at].text if at < len(events) else ""
            moves = (_told_move(faces, before, trace[at + 1], f"t{at + 1}", text),)
        states[f"t{at}"] = State(id=f"t{at}", variables=variables_of(before), moves=moves)
    for action in [*faces.found]:
        faces.found[action] = faces.found[action] | _of_parts(case, action, faces.places)
    trail = [(name, 0 if state.moves else -1) for name, state in states.items()]
    return Document(
        title=_title(case, diagram),
        subject=case.name,
        kind="trace",
        facts=_facts(case, diagram),
        ending=() if diagram is None else diagram.ending,
        members=() if diagram is None else diagram.members,
        faces=faces.found,
        places=faces.places,
        states=states,
        trail=_stops(trail, states, diagram),
        size="This specification has no model of its own: the page shows TLC's behaviour alone.",
    )


def _told_move(
    faces: Faces, before: dict[str, Value], after: TlcState, target: str, text: str
) -> Move:
    then = dict(after.variables)
    action, node = plain_action(after.action), actor(before, then)
    arguments = [part.strip(' ()"') for part in after.arguments.split(",") if part.strip(' ()"')]
    arguments = arguments or ([node] if node else [])
    return Move(
        action=action,
        call=f"{action}({', '.join(arguments)})" if arguments else action,
        target=target,
        node=node,
        words=text,
        guard=faces.guard(action, before, arguments),
        changes=changed(before, then),
    )


def _of_parts(case: Case, action: str, places: dict[str, Place]) -> dict[str, Face]:
    """Return the model's and the code's face of a composition: those of the protocols in it."""
    found: dict[str, list[Place]] = {MODEL: [], CODE: []}
    for model, code in _places_in(case.made_of, action):
        found[MODEL] += model
        found[CODE] += code
    for face in found.values():
        places.update({each.id: each for each in face})
    lacks = "No model or code is of this specification by itself."
    return {
        face: Face(tuple(each.id for each in found[face]), "" if found[face] else lacks)
        for face in FACES
        if face != SPEC
    }


def _places_in(parts: Iterable[str], action: str) -> Iterator[tuple[list[Place], list[Place]]]:
    for part in parts:
        record = protocols().get(part)
        case = next((each for each in load_cases() if each.protocol == part), None)
        if record is None or case is None or not (record.offers("binding") and has_model(part)):
            continue
        system, binding = machine_of(part, case.constants, case.name), binding_of(part)
        if action in binding.handlers:
            core = any_core(binding, system)
            yield model_places(action, system, binding), code_places(action, binding, core)
