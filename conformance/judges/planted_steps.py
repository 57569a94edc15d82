"""Faults planted for the rules of `trace/following/steps.py`: what a step of the model is not."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from .pingpong_talk import Records, at, judged, plant, talk
from .planting import Complaints, Plant, Planted

_CHANGES: Final = "_changes: "
_MESSAGES: Final = "_messages: "
_SAME: Final = "_same: "
_OTHERWISE: Final = "not what the model does; "
_SAYS: Final = '["Note","a",{"number":10,"half":10}]'
_CALLS: Final = '["Hail","a",{"number":4}]'


def _unspoken(records: Records) -> None:
    """b's last event records nothing of its having said more."""
    del records["b"][5]["changed"]["said"]


def _in_parts() -> Plant:
    """Plant a trace of the real class, whose changes are recorded in parts."""

    def bad(folder: Path) -> Complaints:
        records = talk(real=True)
        records["b"][5]["changed"]["said"] = 7
        return judged(folder, records)

    return Plant(
        good=lambda folder: judged(folder, talk(real=True)),
        bad=bad,
        words=f"{_OTHERWISE}said: 7, not 2",
    )


PLANTED: Final[dict[str, Planted]] = {
    "trace.following.steps": {
        f"{_CHANGES}yield Difference(name, expected, found)": _in_parts(),
        f"{_CHANGES}name not in known": plant(
            f'{_OTHERWISE}colour: "red", not null', at("b", 5, changed__colour="red")
        ),
        f"{_CHANGES}name in binding.uncompared": plant(
            f"{_OTHERWISE}secret: 5, not null", at("b", 5, changed__secret=5)
        ),
        f"{_CHANGES}yield Difference(name, plain(new), record.changed[name])": plant(
            f'{_OTHERWISE}said: "x", not 2', at("b", 5, changed__said="x")
        ),
        f"{_CHANGES}yield Difference(name, plain(new), record.changed[name]) #2": plant(
            f"{_OTHERWISE}said: 7, not 2", at("b", 5, changed__said=7)
        ),
        f"{_CHANGES}yield Difference(name, plain(new), 'unchanged')": plant(
            f'{_OTHERWISE}said: "unchanged", not 2', _unspoken
        ),
        f"{_MESSAGES}yield Difference(name, list(expected[place][:3]), None)": plant(
            f"{_OTHERWISE}sent[1]: null, not {_CALLS}", at("b", 4, sent=[])
        ),
        f"{_MESSAGES}yield Difference(name, None, list(recorded[place]))": plant(
            f'{_OTHERWISE}sent[1]: ["Hail",["b",0],{{"number":2}}], not null',
            lambda records: at("a", 5, sent=records["a"][2]["sent"])(records),
        ),
        f"{_MESSAGES}yield Difference(name, list(expected[place][:3]), list(recorded[place]))": (
            plant(
                f'{_OTHERWISE}sent[1]: ["Hail",["a",0],{{"number":9}}], not {_CALLS}',
                at("b", 4, sent__0__content__number=9),
            )
        ),
        "_indications: yield Difference(f'told[{place}]', model, recorded)": plant(
            f'{_OTHERWISE}told[1]: ["Heard",[9]], not ["Heard",[5]]',
            at("a", 4, told=[["Heard", [9]]]),
        ),
        f"{_SAME}message != kind.__name__": plant(
            f'{_OTHERWISE}sent[1]: ["Note",["a",0],{{"number":4}}], not {_CALLS}',
            lambda records: (
                at("b", 4, sent__0__message="Note", sent__0__id=["fifo", "b", 0, "a", 0, 2])(
                    records
                ),
                at("b", 5, sent__0__id=["fifo", "b", 0, "a", 0, 3])(records),
            ),
        ),
        f"{_SAME}plain(to) not in (receiver[0], list(receiver))": plant(
            f'{_OTHERWISE}sent[1]: ["Hail",["b",0],{{"number":4}}], not {_CALLS}',
            at("b", 4, sent__0__to=["b", 0], sent__0__id=["Hail", "b", 0, "b", 0]),
        ),
        f"{_SAME}return False": plant(
            f'{_OTHERWISE}sent[1]: ["Hail",["a",0],{{"number":4,"colour":1}}], not {_CALLS}',
            at("b", 4, sent__0__content__colour=1),
            breaks=KeyError,
            why="a field that the message does not have cannot be compared",
        ),
        f"{_SAME}not all((shaped(content[n], kinds[n]) == getattr(made, n) for n in content))": (
            plant(
                f'{_OTHERWISE}sent[1]: ["Note",["a",0],{{"number":10,"half":7}}], not {_SAYS}',
                at("b", 5, sent__0__content__half=7),
            )
        ),
        f"{_SAME}return False #2": plant(
            f'{_OTHERWISE}sent[1]: ["Note",["a",0],{{"number":10,"half":"x"}}], not {_SAYS}',
            at("b", 5, sent__0__content__half="x"),
        ),
    },
}
