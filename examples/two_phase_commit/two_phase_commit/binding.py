"""The names that the model and the core have for the same things."""

from raincheck.conformance.bindings.binding import DATAGRAM, Binding

from . import core, messages, model


def make_core(_rules: model.Rules, local: model.Local) -> core.Participant:
    made = core.Participant(local.node, local.nodes, local.coordinator)
    made.state, made.votes = local.state, set(local.votes)
    return made


BINDING = Binding(
    protocol="two_phase_commit",
    rules=model.Rules,
    local=model.Local,
    inputs=messages.INPUTS,
    handlers=model.System.handlers,
    outputs=(messages.Yes, messages.Outcome),
    make_core=make_core,
    events=messages.INPUTS,
    refusal=core.NotNow,
    channels={"Yes": DATAGRAM, "Outcome": DATAGRAM},
)
