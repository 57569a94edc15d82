"""Over how many members, views and messages each question of `queries.py` was asked.

The twin of `deliveries/overwhom.py` in SQL.
"""

from collections.abc import Iterable

from raincheck.conformance.deliveries.properties import LAST

from .queries import ENDING

_OVER = """
    select '{name}' as name, size(collect_set(member)) as members,
           size(collect_set(view)) as views, count(distinct sender, message) as messages
    from ({rows})"""

_ORDERED = """
    with r as (select f.* from {f} f join {reference} r0 on r0.member = f.member),
         beyond as (select distinct f.member from {f} f
                    left anti join r on r.sender = f.sender and r.message = f.message),
         b as (select f.* from {f} f join beyond on beyond.member = f.member),
         pairs as (select f.member as p, r.member as q, f.sender, f.message
                   from {f} f join r on r.sender = f.sender and r.message = f.message
                   where r.member <> f.member
                   union all
                   select p.member as p, q.member as q, p.sender, p.message
                   from b p join b q
                   on q.sender = p.sender and q.message = p.message and p.member < q.member),
         asked as (select p, q from pairs group by p, q having count(*) > 1),
         keys as (select distinct pairs.sender, pairs.message
                  from pairs join asked on asked.p = pairs.p and asked.q = pairs.q),
         judges as (select p as member from asked union select q from asked)
    select d.member, d.view, d.sender, d.message
    from {d} d join judges on judges.member = d.member
    join keys on keys.sender = d.sender and keys.message = d.message"""

_GROUPED = """
    with asked as (select distinct h.view, h.following
                   from heard h join groups g on g.view = h.view and g.following = h.following
                   where g.size > 1 and h.following >= {least})
    select t.member, t.view, h.sender, h.message
    from asked a
    join stays t on t.view = a.view and t.following = a.following
    join (select distinct view, following, sender, message from heard) h
    on h.view = a.view and h.following = a.following"""

_SEVERAL = """
    select d.member, d.view, d.sender, d.message
    from d join (select f.member, f.sender
                 from f join senders n on n.sender = f.sender and {ranked}
                 group by f.member, f.sender having count(*) > 1) n
    on n.member = d.member and n.sender = d.sender"""

_CHANGED = """
    select d.member, d.view, d.sender, d.message
    from firm_d d
    join (select k.sender, k.message
          from firm_d k
          join (select member, count(*) as visited from visited group by member) v
          on v.member = k.member
          group by k.sender, k.message
          having count(distinct k.member) > 1 and max(v.visited) > 1) k
    on k.sender = d.sender and k.message = d.message"""

_KNOWN_ELSEWHERE = """n.counted and n.sender in (
        select sender from f group by sender having count(distinct member) > 1
        union select sender from s)"""

ALONE = "no_duplication, no_creation"
"""Each delivery by itself."""
JUDGED = {
    "total_order": _ORDERED.format(f="firm_f", d="firm_d", reference="firm_reference"),
    "uniform_total_order": _ORDERED.format(f="f", d="d", reference="reference"),
    "agreement": _GROUPED.format(least=0),
    LAST: _GROUPED.format(least=-1),
    ALONE: "select * from d",
    "sender_fifo": _SEVERAL.format(ranked="(n.counted or not n.unsent)"),
    "gap_freeness": _SEVERAL.format(ranked="n.counted"),
    "virtual_synchrony": _CHANGED,
    "sending_view": """
        select d.* from d join s on s.sender = d.sender and s.message = d.message
        where s.place.view <> 0""",
    "uniform_agreement": f"""
        {ENDING}
        select t.* from told t left semi join gone_on g on g.view = t.view
        union all
        select g.member, t.view, t.sender, t.message
        from told t join gone_on g on g.view = t.view""",
    "state_cut": "select d.* from d left semi join c on c.member = d.member",
}
"""Per question the deliveries that it is asked of."""
_QUESTIONS = {"agreement": ("agreement", LAST)} | dict.fromkeys(ALONE.split(", "), (ALONE,))
"""The questions of each property, where it is not the one of its name."""

SPARSE = {"gap_freeness": _SEVERAL.format(ranked=_KNOWN_ELSEWHERE)}
"""The same where the numbers of messages may have holes."""


def over_all(names: Iterable[str], sparse: bool = False) -> str:
    """One question for the counts of these properties, of which there is one."""
    rows = JUDGED | SPARSE if sparse else JUDGED
    asked = {question for name in names for question in _QUESTIONS.get(name, (name,))}
    return " union all ".join(
        _OVER.format(name=name, rows=text) for name, text in rows.items() if name in asked
    )
