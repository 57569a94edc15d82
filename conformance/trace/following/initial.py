"""The local state in which a file begins, as its header says."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec

from raincheck.conformance.bindings.binding import Binding
from raincheck.conformance.bindings.conversion import ShapeError, fields_of, shaped

from .forms import forms_of
from .reports import within


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
