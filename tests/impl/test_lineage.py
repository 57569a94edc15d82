"""Views of one number: what belongs to another line of views is dropped (MRG-F15)."""

from raincheck.impl.messages import Address, Digest, Payloads, View, ViewId
from raincheck.impl.simulation.group import Simulator
from raincheck.impl.stack.lineage import Lineage
from raincheck.impl.stack.membership import Membership
from raincheck.impl.stack.nakack_layer import NakackLayer
from raincheck.impl.wire.datagrams import Codec
from raincheck.impl.wire.headers import Alive, DataHeader

CODEC = Codec("raincheck", 60_000)
A, B, Z = (Address(name, 0) for name in "abz")


def test_only_views_that_were_installed_or_are_held_belong_to_the_line() -> None:
    membership = Membership(A)
    line = Lineage(membership)
    for view in (ViewId(3, A), ViewId(4, B), ViewId(8, Z)):
        line.install(view)
    membership.held = (View(ViewId(9, B), (A, B)),)

    assert line.latest == ViewId(8, Z)
    assert all(map(line.has, (ViewId(3, A), ViewId(4, B), ViewId(8, Z), ViewId(9, B))))
    assert line.has(ViewId(2, Z))  # before it came
    other = (ViewId(8, A), ViewId(4, A), ViewId(9, A), ViewId(10, B), ViewId(6, A), ViewId(0, A))
    assert not any(map(line.has, other))


def test_a_multicast_and_a_sign_of_life_of_another_view_of_this_number_are_dropped() -> None:
    group = Simulator(1)
    group.start("a", "b", founders=True)
    group.send("a", [b"x"] * 3)
    group.run(0.2)
    layer = group["b"].stack._group.find(NakackLayer)
    place, before = group["a"].endpoint, layer.core.stream[A].arrived

    for decided_by in (Z, A):  # the second one is of b's own view
        data = DataHeader(A, before + 1, A, 4, 1, ViewId(1, decided_by), 4, 9)
        group.inject("b", CODEC.encode(data, Payloads.pack([b"evil"])), place)
        group.inject("b", CODEC.encode(Alive(A, ViewId(1, decided_by), 9, False, Digest())), place)
        taken = decided_by == A
        assert layer.core.stream[A].arrived == before + taken
        assert layer.core.stream[A].heard == (9 if taken else before)

    assert group["b"].stack.counters["of_other_view"] == 2
    assert group["b"].dropped[-1].detail == "a.0 sent DataHeader of another view 1"
