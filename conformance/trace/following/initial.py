"""The local state in which a file begins, as its header says."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec

from raincheck.conformance.bindings.binding import Binding
from raincheck.conformance.bindings.conversion import ShapeError, fields_of, shaped

from .forms import forms_of
from .reports import Unusable, within

_ADDRESSES = ("me", "address", "node")
"""The names that models give the variable with the process's address, where they have one."""


def initial_local(binding: Binding, initial: Any) -> Any:
    """Return the header's state as the model's Local; what is never compared has its default."""
    if not isinstance(initial, dict):
        raise ShapeError("initial: the header must say in which state the node begins")
    defaults = getattr(binding.local, "_field_defaults", {})
    forms = forms_of(binding)
    if forms is not None and forms.initial is not None:
        with suppress(msgspec.ValidationError):
            typed = msgspec.convert(initial, forms.initial)
            names = fields_of(binding.local)
            return binding.local(*(getattr(typed, n, defaults.get(n)) for n in names))
    values = {}
    for name, wanted in fields_of(binding.local).items():
        if name in binding.uncompared:
            values[name] = defaults.get(name)
        elif name in initial:
            values[name] = within(f"initial.{name}", shaped, initial[name], wanted)
        else:
            raise ShapeError(f"initial: {name} is missing")
    if unknown := sorted(initial.keys() - values.keys()):
        raise ShapeError(f"initial: there is no {unknown[0]}")
    return binding.local(**values)


def check_owner(local: Any, me: tuple[str, int]) -> None:
    """Raise Unusable if the state is not of the process whose file it is."""
    node, life = me
    owner = next((getattr(local, name) for name in _ADDRESSES if hasattr(local, name)), None)
    if isinstance(owner, tuple) and tuple(owner) != me:
        raise Unusable(f"initial: the state is that of {owner[0]}.{owner[1]}")
    if getattr(local, "node", node) not in (node, me):
        raise Unusable(f"initial: the state is that of node {local.node}")
    if getattr(local, "incarnation", life) != life:
        raise Unusable(f"initial: the state is that of incarnation {local.incarnation}")
