"""The questions of `properties_local.py` in SQL; each answers with its smallest witness or no row.

The views build on each other: `states` are the states that members took and `parts` what is in them
(`deliveries/states.py`), `c` the messages in them; `d` is every delivery, `f` each member's first
delivery of a message; `firm_d` and `firm_f` are without what a crashed member delivered in its last
view. A view is made when a question first needs it (`tables.py`).
"""

from typing import NamedTuple

VIEWS = {
    "d": """
        select member, position, view, sender, message from log where event = 'deliver'""",
    "c": """
        select p.member, p.at, d.sender, d.message, min(d.view) as view
        from parts p
        join d on d.member = p.source and d.position > p.behind and d.position <= p.upto
        group by p.member, p.at, d.sender, d.message""",
    "f": """
        select member, sender, message, min(position) as position
        from d group by member, sender, message""",
    "s": """
        select sender, message, min(struct(position, view)) as place, min(after) as after
        from log where event = 'send' group by sender, message""",
    "visited": """
        select distinct member, view from log
        where event in ('deliver', 'view') or event = 'state' and view <> 0""",
    "crashed": """
        select c.member, max(v.view) as last
        from (select distinct member from log where event = 'crash') c
        left join visited v on v.member = c.member group by c.member""",
    "firm_d": """
        select d.* from d left join crashed c on c.member = d.member
        where c.member is null or d.view < c.last""",
    "firm_f": """
        select member, sender, message, min(position) as position
        from firm_d group by member, sender, message""",
    "senders": """
        select m.sender,
               bool_and(m.message rlike '^[0-9]{1,18}$') as counted,
               bool_or(s.message is null) as unsent,
               count(*) as messages
        from (select distinct sender, message from f) m
        left join s on s.sender = m.sender and s.message = m.message
        group by m.sender""",
    "reference": """
        select member from f group by member order by count(*) desc, member limit 1""",
    "firm_reference": """
        select member from firm_f group by member order by count(*) desc, member limit 1""",
    "stays": """
        select v.member, v.view, v.following
        from (select member, view,
                     coalesce(lead(view) over (partition by member order by view), -1) as following
              from visited) v
        left anti join (select member, -1 as following from crashed) c
        on c.member = v.member and c.following = v.following""",
    "groups": """
        select view, following, count(*) as size from stays group by view, following""",
    "heard": """
        select distinct t.view, t.following, t.member, d.sender, d.message
        from stays t
        join (select member, view, sender, message from d
              union all select member, view, sender, message from c) d
        on d.member = t.member and d.view = t.view""",
    "uneven": """
        select h.view, h.following, h.sender, h.message, min(h.member) as has
        from heard h join groups g on g.view = h.view and g.following = h.following
        group by h.view, h.following, h.sender, h.message, g.size
        having count(*) < g.size""",
}

AT_FIRST = """
    select coalesce(bool_or(members is not null or not view rlike '^[0-9]{1,18}$'), false)
               as strange,
           count_if(event = 'state') as states
    from labelled"""
"""Whether the views have to be numbered, and whether anybody took a state."""

VISITS = """
    select member, view as label,
           min(case when event = 'view' then members end) as members,
           min(case when event = 'view' then after end) as after,
           min(case when event = 'deliver' then position end) as first
    from labelled where event in ('deliver', 'view') or event = 'state' and view <> '0'
    group by member, view"""

STATES = """
    select distinct position, member, sender as provider, after, view
    from log where event = 'state'"""

LAST_POSITIONS = """
    select member, max(position) as last
    from log where event in ('deliver', 'state') group by member"""

MEMBERS = """
    select coalesce(sum(rows), 0) as rows,
           count_if(here) as members,
           count_if(here and not closed) as open_ends,
           coalesce(bool_or(sent), false) as sends,
           coalesce(bool_or(viewed), false) as views,
           coalesce(bool_or(safe), false) as safe,
           array_sort(collect_list(case when here and (
               number <> places or number <> last or ended <> number) then member end)) as holes
    from (select member,
                 count(*) as rows,
                 bool_or(event in ('deliver', 'view', 'state')) as here,
                 bool_or(event in ('end', 'crash')) as closed,
                 bool_or(event = 'send') as sent,
                 bool_or(event in ('deliver', 'view', 'state') and view > 0) as viewed,
                 bool_or(event = 'safe') as safe,
                 count_if(event in ('deliver', 'state')) as number,
                 count(distinct case when event in ('deliver', 'state') then position end)
                     as places,
                 coalesce(max(case when event in ('deliver', 'state') then position end), 0)
                     as last,
                 max(case when event = 'end' then position end) as ended
          from log group by member)"""

SENDERS = """
    select coalesce(sum(messages), 0) as messages,
           min(case when unsent and not counted then sender end) as unordered,
           count_if(counted) as counted
    from senders"""

NOTHING_GIVEN = """
    select cast(null as string) as member, cast(null as bigint) as at,
           cast(null as string) as sender, cast(null as string) as message,
           cast(null as bigint) as view where false"""
"""`c` where nobody took a state."""

_REFERENCE = """
    select p, q, sender1, message1, sender as sender2, message as message2
    from (select f.member as p, r.member as q, f.position, f.sender, f.message, r.position as there,
                 lag(r.position) over w as there_before,
                 lag(f.sender) over w as sender1, lag(f.message) over w as message1
          from {f} f
          join (select f.* from {f} f join {reference} r0 on r0.member = f.member) r
          on r.sender = f.sender and r.message = f.message and r.member <> f.member
          window w as (partition by f.member order by f.position, f.sender, f.message))
    where there < there_before
    order by position, p limit 1"""

_UNLIKE = """
    with inside as (select f.sender, f.message
                    from {f} f join {reference} r0 on r0.member = f.member),
         beyond as (select distinct f.member from {f} f
                    left anti join inside i on i.sender = f.sender and i.message = f.message),
         chosen as (select member from beyond
                    union select member from {reference} where (select count(*) from beyond) > 1),
         b as (select f.*, count(*) over (partition by f.sender, f.message) as holders
               from {f} f join chosen on chosen.member = f.member)
    select 1 as everybody, member, position, sender, message from b where holders > 1"""


class Order(NamedTuple):
    """The questions about total order; the second is asked if the first has found nothing."""

    reference: str
    """Whether somebody contradicts the fullest log."""
    unlike: str
    """The messages of several members whose logs the fullest one lacks parts of, and of that one,
    for the search of cycles.
    """


def _order(first: str, reference: str) -> Order:
    return Order(*(text.format(f=first, reference=reference) for text in (_REFERENCE, _UNLIKE)))


ORDER = _order("firm_f", "firm_reference")
UNIFORM_ORDER = _order("f", "reference")

_UNEVEN = """
    select u.view, u.sender, u.message, u.has, min(t.member) as lacks
    from (select * from uneven where following {last} 0
          order by view, sender, message, following limit 1) u
    join stays t on t.view = u.view and t.following = u.following
    left anti join heard h
    on h.member = t.member and h.view = t.view and h.sender = u.sender and h.message = u.message
    group by u.view, u.sender, u.message, u.has"""

AGREEMENT = _UNEVEN.format(last=">=")
AGREEMENT_LAST = _UNEVEN.format(last="<")

ENDING = """
    with place as (select member, view,
                          lead(view) over (partition by member order by view) as following
                   from visited),
         gone_on as (select member, view from place where following is not null),
         told as (select d.member, d.view, d.sender, d.message
                  from d join place p on p.member = d.member and p.view = d.view
                  where p.following is null)"""

LACKING = f"""
    {ENDING}
    select t.view, t.sender, t.message, min(t.member) as has, min(g.member) as lacks
    from told t
    join gone_on g on g.view = t.view
    left anti join heard h on h.member = g.member and h.view = g.view
                          and h.sender = t.sender and h.message = t.message
    group by t.view, t.sender, t.message
    order by t.view, t.sender, t.message limit 1"""

DUPLICATE = """
    select member, sender, message, before, position
    from (select member, sender, message, position,
                 min(position) over w as before,
                 dense_rank() over w as time
          from d window w as (partition by member, sender, message order by position))
    where time = 2
    order by position, member, sender, message limit 1"""

CREATED = """
    select d.member, d.sender, d.message, d.position, cast(null as bigint) as after
    from d left anti join s on s.sender = d.sender and s.message = d.message
    order by d.position, d.member, d.sender, d.message limit 1"""

EARLY = """
    select d.member, d.sender, d.message, d.position, s.after
    from d join s on s.sender = d.sender and s.message = d.message
    where d.member = d.sender and d.position <= s.after
    order by d.position, d.member, d.sender, d.message limit 1"""

FIFO = """
    select member, sender, message, before
    from (select r.*,
                 lag(rank) over w as rank_before, lag(message) over w as before
          from (select f.member, f.sender, f.message, f.position,
                       case when n.unsent then try_cast(f.message as bigint)
                            else s.place.position end as rank
                from f
                join senders n on n.sender = f.sender and (n.counted or not n.unsent)
                left join s on s.sender = f.sender and s.message = f.message) r
          window w as (partition by member, sender order by position, message))
    where rank < rank_before
    order by position, member limit 1"""

VIEWS_DIFFER = """
    select sender, message, low.view as low, high.view as high,
           low.member as low_member, high.member as high_member
    from (select sender, message, min(struct(view, member)) as low,
                 max(view) as top
          from firm_d group by sender, message having count(distinct view) > 1
          order by sender, message limit 1) k
    join lateral (select min(struct(d.view, d.member)) as high from firm_d d
                  where d.sender = k.sender and d.message = k.message and d.view = k.top)"""

SENT_ELSEWHERE = """
    select sender, message, sent_view, first.view, first.member
    from (select d.sender, d.message, s.place.view as sent_view,
                 min(struct(d.view, d.member)) as first
          from d join s on s.sender = d.sender and s.message = d.message
          where s.place.view <> 0 and s.place.view <> d.view
          group by d.sender, d.message, s.place.view)
    order by sender, message limit 1"""

GAP = """
    select member, sender, before + 1 as missing
    from (select member, sender, number,
                 lag(number) over (partition by member, sender order by number) as before
          from (select distinct f.member, f.sender, try_cast(f.message as bigint) as number
                from (select member, sender, message from f
                      union all select member, sender, message from c) f
                join senders n on n.sender = f.sender and n.counted))
    where number > before + 1
    order by member, sender, number limit 1"""

MISSING_KNOWN = """
    with known as (select distinct n.sender, try_cast(k.message as bigint) as number
                   from (select sender, message from f union select sender, message from s) k
                   join senders n on n.sender = k.sender and n.counted
                   where k.message rlike '^[0-9]{1,18}$'),
         spans as (select f.member, f.sender, min(try_cast(f.message as bigint)) as low,
                          max(try_cast(f.message as bigint)) as high
                   from f join senders n on n.sender = f.sender and n.counted
                   group by f.member, f.sender)
    select a.member, a.sender, k.number as missing
    from spans a
    join known k on k.sender = a.sender and k.number > a.low and k.number < a.high
    left anti join (select member, sender, try_cast(message as bigint) as number from f) f
    on f.member = a.member and f.sender = a.sender and f.number = k.number
    order by a.member, a.sender, k.number limit 1"""
"""`GAP` of a log whose numbers may have holes."""

CUT = """
    with wrong as (
            select case when c.at is null then 1 else 0 end as found,
                   d.position, d.member, d.sender, d.message, t.position as at
            from d join states t on t.member = d.member
            left join c on c.member = d.member and c.at = t.position
                       and c.sender = d.sender and c.message = d.message
            where (c.at is not null) = (d.position > t.position)
            union all
            select 2 as found, d.position, t.member, d.sender, d.message, t.position as at
            from states t
            join d on d.member = t.provider and d.position > t.after and d.view < t.view
            left anti join d m on m.member = t.member and m.position > t.position
                              and m.sender = d.sender and m.message = d.message
            where exists (select 1 from log e where e.event = 'end' and e.member = t.member)
               or exists (select 1 from d b where b.member = t.member
                          and b.position > t.position and b.view >= t.view))
    select * from wrong order by found, position, member, sender, message, at limit 1"""
