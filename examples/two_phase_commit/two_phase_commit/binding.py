"""How the model and the core name the same things."""

from raincheck.conformance.bindings.binding import DATAGRAM, Binding

from . import core, model


def make_core(_rules: model.Rules, local: model.Local) -> core.Participant:
    made = core.Participant(local.node, local.nodes, local.coordinator)
    made.state, made.votes = local.state, set(local.votes)
    return made


BINDING = Binding(
    protocol="two_phase_commit",
    rules=model.Rules,
    local=model.Local,
    inputs=model.INPUTS,
    handlers=model.HANDLERS,
    outputs=(model.Yes, model.Committed, model.Aborted),
    make_core=make_core,
    events=vars(core),
    refusal=core.NotNow,
    channels={"Yes": DATAGRAM, "Committed": DATAGRAM, "Aborted": DATAGRAM},
)
