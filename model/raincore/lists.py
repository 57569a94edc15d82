"""Operations on nodelists, histories and the token's fields, apart from any member.

Every function is pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from raincheck.model.machine.runs import Address

from .events import Mail, Nodelist, Token

History = tuple[Nodelist, ...]
"""The views of a member (globalView); the first has index 1, an empty one is NULL."""


def next_after(nodelist: Nodelist, member: Address) -> Address | None:
    """Return the member's successor on the ring: itself if alone, None if it is not on the ring."""
    if member not in nodelist:
        return None
    return nodelist[(nodelist.index(member) + 1) % len(nodelist)]


def inserted(nodelist: Nodelist, behind: Address, new: Iterable[Address]) -> Nodelist:
    """Return the list with the new members, in their order, behind that member.

    If that member is not on the list, they come first.
    """
    place = nodelist.index(behind) + 1 if behind in nodelist else 0
    fresh = tuple(dict.fromkeys(n for n in new if n not in nodelist))
    return (*nodelist[:place], *fresh, *nodelist[place:])


def restricted(nodelist: Nodelist, members: Set[Address]) -> Nodelist:
    """Return the list restricted to these members."""
    return tuple(n for n in nodelist if n in members)


def is_quorum(voters: Set[Address], nodelist: Nodelist) -> bool:
    """Tell whether the voters are more than half of the list, or half of it including its head.

    The head is never a newcomer, so a lone member can let somebody in and lose it again.
    """
    present = sum(n in voters for n in nodelist)
    half = bool(nodelist) and 2 * present == len(nodelist)
    return 2 * present > len(nodelist) or (half and nodelist[0] in voters)


def has_quorum(token: Token, voters: Set[Address]) -> bool:
    """Tell whether the voters are a quorum of every list that the next one must intersect."""
    return all(is_quorum(voters, each) for each in (*token.pending, token.settled.nodelist))


# ------------------------------------------------------------------ the history


def placed(history: History, at: int, view: Nodelist) -> History:
    """Return the history with the view at that index; gaps before it are NULL."""
    padded = history + ((),) * (at - len(history))
    return (*padded[: at - 1], view, *padded[at:])


def view_at(history: History, at: int) -> Nodelist:
    """Return the view at an index, NULL if there is none."""
    return history[at - 1] if 1 <= at <= len(history) else ()


def last_view(history: History) -> Nodelist:
    """Return the last view that is not NULL; NULL if there is none."""
    return next((view for view in reversed(history) if view), ())


# ------------------------------------------------------------------ mail


def posted(token: Token, origin: Address, first: int, count: int) -> Token:
    """Return the token with `count` multicasts of that member, its `first`-th and following."""
    mail = tuple(Mail(token.top + 1 + i, origin, first + i) for i in range(count))
    return token._replace(mail=token.mail + mail, top=token.top + count)


def acknowledged(token: Token, member: Address, ordinal: int) -> Token:
    """Return the token after the member has delivered up to that ordinal.

    Mail leaves the token when all have delivered it. A member without an entry, which is new
    or was left out, holds nothing back.
    """
    acks = token.acks
    for place, (who, at) in enumerate(acks):
        if who == member:
            if at != ordinal:
                acks = (*acks[:place], (member, ordinal), *acks[place + 1 :])
            break
    else:
        acks = tuple(sorted((*acks, (member, ordinal))))
    lowest = min([at for _, at in acks])
    mail = tuple([m for m in token.mail if m.ordinal > lowest])
    if acks is token.acks and len(mail) == len(token.mail):
        return token
    return token._replace(acks=acks, mail=mail)
