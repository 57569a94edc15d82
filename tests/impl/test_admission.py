"""The leader's door: who is refused and why, who is let in, and who gets in line for the state."""

import pytest

from raincheck.impl.gms.core import Gms
from raincheck.impl.gms.events import ReceiveJoin, ReceiveLeave
from raincheck.impl.messages import Address, Endpoint, View, ViewId
from raincheck.impl.stack import admission
from raincheck.impl.stack.admission import Admission
from raincheck.impl.stack.config import StackConfig

A, B, Y, Z = (Address(name, 0) for name in "abyz")
AT_A, AT_B, AT_Z, ELSEWHERE = (("10.0.0.1", port) for port in (1, 2, 3, 4))
FIRST = View(ViewId(1, A), (A, B))


class Door:
    """An admission at a, who leads a and b."""

    def __init__(self) -> None:
        self.core = Gms(A)
        self.core.begin(FIRST)
        self.endpoints: dict[Address, Endpoint] = {A: AT_A, B: AT_B}
        self.line: list[Address] = []
        self.admission = Admission(self.core, self.endpoints, StackConfig())

    def request(self, who: Address, at: Endpoint, *, state: bool) -> None:
        """A joiner asks that is not refused."""
        if self.admission.takes(who, at, state):
            self.core.handle(ReceiveJoin(who))

    def admit(self, view: View) -> None:
        """GMS has installed a view, which has those in it that wanted to join."""
        self.core.joining -= set(view.members)
        self.line += self.admission.admitted(view)


def test_a_stranger_is_let_in_and_asks_again_from_where_it_is() -> None:
    door = Door()
    assert door.admission.refuses(Z, AT_Z) == ""
    door.request(Z, AT_Z, state=False)

    assert door.core.joining == {Z}
    assert door.endpoints[Z] == AT_Z
    assert door.admission.refuses(Z, AT_Z) == ""


def test_a_name_that_somebody_has_is_refused_and_its_own_place_is_not() -> None:
    door = Door()
    door.request(Z, AT_Z, state=False)

    said = "z.0 is joining already, from 10.0.0.1:3; choose another name"
    assert door.admission.refuses(Z, ELSEWHERE) == said
    said = "b.0 is a member already, at 10.0.0.1:2; choose another name"
    assert door.admission.refuses(B, ELSEWHERE) == said
    assert door.admission.refuses(B, AT_B) == ""


def test_the_name_of_who_has_left_is_free_and_that_of_a_later_life_is_not() -> None:
    door = Door()
    earlier, later = B, Address("b", 3)
    door.core.begin(FIRST._replace(members=(A, later)))
    said = "b.3 is a member, a later incarnation of b"
    assert door.admission.refuses(earlier, AT_B) == said
    assert door.admission.refuses(Address("b", 4), ELSEWHERE) == ""

    door.core.begin(FIRST)
    door.core.handle(ReceiveLeave(B))
    assert door.core.gone == {B}
    assert door.admission.refuses(B, ELSEWHERE) == ""


def test_who_was_known_once_and_asks_from_elsewhere_is_let_in() -> None:
    door = Door()
    door.endpoints[Z] = AT_Z
    assert door.admission.refuses(Z, ELSEWHERE) == ""


def test_more_than_can_join_at_once_have_to_ask_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert admission._MAX_JOINING == 256
    monkeypatch.setattr(admission, "_MAX_JOINING", 2)
    door = Door()
    for number, who in enumerate((Y, Z, Address("x", 0))):
        door.request(who, ("10.0.0.9", number), state=True)

    assert door.core.joining == {Y, Z}
    assert door.admission.wants_state == {Y, Z}
    assert Address("x", 0) not in door.endpoints


def test_joiners_that_asked_for_the_state_get_in_line_in_the_order_of_the_view() -> None:
    door = Door()
    door.request(Z, AT_Z, state=True)
    door.request(Y, ELSEWHERE, state=False)
    assert door.admission.wants_state == {Z}
    assert door.line == []

    door.admit(View(ViewId(2, A), (A, B, Y, Z), (Y, Z)))
    assert door.line == [Z]
    assert door.admission.wants_state == set()


def test_who_is_not_admitted_yet_keeps_its_wish() -> None:
    door = Door()
    for who, place in ((Y, ELSEWHERE), (Z, AT_Z)):
        door.request(who, place, state=True)

    door.admit(View(ViewId(2, A), (A, B, Y), (Y,)))
    assert door.line == [Y]
    assert door.admission.wants_state == {Z}
    door.admit(View(ViewId(3, A), (A, B, Y, Z), (Z,)))
    assert door.line == [Y, Z]


def test_only_who_coordinates_the_view_puts_its_joiners_in_line() -> None:
    door = Door()
    door.request(Z, AT_Z, state=True)

    door.admit(View(ViewId(2, B), (B, A, Z), (Z,)))

    assert door.line == []
    assert door.admission.wants_state == set()
