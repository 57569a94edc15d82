"""Pure functions of Raincore over nodelists, histories of views, and the mail on a token."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from raincheck.impl.messages import Address

from .events import LIMIT, NOTHING, ZERO, Call911, Epoch, Mail, Nodelist, Settled, Token

# ------------------------------------------------------------------ the ring


def after(nodelist: Sequence[Address], who: Address, otherwise: Address) -> Address:
    """Return who follows on the ring; `otherwise` if `who` is not on it."""
    if who not in nodelist:
        return otherwise
    return nodelist[(nodelist.index(who) + 1) % len(nodelist)]


def inserted(nodelist: Nodelist, who: Address, new: Iterable[Address]) -> Nodelist:
    """Return the list with these right behind `who`, in their order."""
    place = nodelist.index(who) + 1 if who in nodelist else 0
    return (*nodelist[:place], *new, *nodelist[place:])


def without(nodelist: Nodelist, gone: Address) -> Nodelist:
    """Return the list without that member."""
    return tuple(member for member in nodelist if member != gone)


def merged(*nodelists: Nodelist) -> Nodelist:
    """Return all that are on these lists, each at its first place."""
    return tuple(dict.fromkeys(member for nodelist in nodelists for member in nodelist))


def quorum(members: Collection[Address], token: Token) -> bool:
    """Whether these are a majority of each list that a later one may descend from.

    Exactly half of a list will do if its head, which is never the newcomer, is among them.
    """
    return all(
        _majority(members, nodelist) for nodelist in (token.settled.nodelist, *token.pending)
    )


def _majority(members: Collection[Address], nodelist: Nodelist) -> bool:
    inside = sum(member in members for member in nodelist)
    if 2 * inside == len(nodelist):
        return bool(nodelist) and nodelist[0] in members
    return 2 * inside > len(nodelist)


def first_token(founders: Nodelist, *, bound: bool) -> Token:
    """Return the founders' token before anybody has held it.

    Their list is settled as a matter of configuration. `bound`: it is proposed as the first view.
    """
    acks = tuple((member, 0) for member in sorted(founders))
    first = founders[0]
    settled = Settled(0, founders)
    pending = (founders,) if bound else ()
    return Token(
        first,
        first,
        ZERO,
        0,
        founders,
        int(bound),
        settled,
        NOTHING,
        pending,
        frozenset(),
        (),
        acks,
    )


# ------------------------------------------------------------------ the history of views


def entry(views: Sequence[Nodelist], at: int) -> Nodelist | None:
    """Return what is at that index, from 1: a view, NULL, or None where nothing is set."""
    return views[at - 1] if at <= len(views) else None


def last_view(views: Sequence[Nodelist]) -> Nodelist:
    """Return the last view that is not NULL, or NULL."""
    return next((view for view in reversed(views) if view), ())


def with_entry(views: tuple[Nodelist, ...], at: int, view: Nodelist) -> tuple[Nodelist, ...]:
    """Return the history with that view at that index, and NULL at indices left out before it."""
    padded = views + ((),) * (at - len(views))
    return (*padded[: at - 1], view, *padded[at:])


# ------------------------------------------------------------------ mail


def posted(token: Token, who: Address, said: int, count: int) -> Token:
    """Return the token with so many more multicasts of that member, who has said so many before."""
    new = tuple(Mail(token.top + i, who, said + i) for i in range(1, count + 1))
    return token._replace(mail=token.mail + new, top=token.top + count)


def acked(token: Token, who: Address, ordinal: int) -> Token:
    """Return the token on which that member has had all mail up to `ordinal`.

    What everybody has had leaves the token. A member without an entry holds nothing back: it is new
    or was off all lists that may be settled, and begins at the top when it next holds the token.
    """
    acks = {**dict(token.acks), who: ordinal}
    least = min(acks.values())
    mail = tuple(each for each in token.mail if each.ordinal > least)
    return token._replace(acks=tuple(sorted(acks.items())), mail=mail)


# ------------------------------------------------------------------ what a member does not look at


def sound(message: Token | Call911) -> bool:
    """Return whether nobody is on the list twice, and mail and numbers are within bounds."""
    if len(set(message.nodelist)) != len(message.nodelist):
        return False
    epochs: tuple[Epoch, ...] = (message.epoch,)
    numbers: tuple[int, ...] = (message.seq,)
    if isinstance(message, Token):
        numbers += (message.global_view_number, message.settled.at, message.before.at, message.top)
        if any(each.ordinal > message.top for each in message.mail):
            return False
    else:
        epochs += (message.claim, message.promised)
        numbers += (message.attempt,)
    return max(*numbers, *(epoch.n for epoch in epochs)) <= LIMIT
