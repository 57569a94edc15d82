"""One member of a group: the protocols on top of each other, without I/O.

How a shell drives it. Time is an argument, `now`, in seconds of any monotonic clock.

    stack = Stack(Address("a", 0), StackConfig(cluster="orders", initial_hosts=(...)), seed=1)
    stack.start(now)                       # ask to join, or found the group
    stack.receive(batch, now)              # [(datagram, endpoint of its sender), ...]
    stack.send(payload)                    # append only; WouldBlock unless stack.writable,
    taken = stack.send_many(payloads)      #   takes as many of the first ones as there is room
    stack.flush(now)                       # what was sent leaves as one bundle
    stack.leave(now)                       # graceful; done when the report Left comes
    stack.handle_timer(now)                # at or after stack.deadline()
    stack.hold()                           # slow application: NAKACK keeps DATA, acks no more of it,
    stack.release(now)                     #   ... and delivers again; signs of life go on meanwhile

After *any* of these but `send` and `send_many` (which `flush` completes), in this order:

    for out in stack.poll_datagrams(): ... # Outgoing: data, to (endpoints), multicast
        out.to == ()  -> transport.broadcast(data)
        out.multicast -> transport.multicast(data, out.to)
        otherwise     -> transport.send(data, out.to[0])
    for report in stack.poll_reports(): ...# Batch | ViewInstalled | Left | Dropped | Suspected
    re-arm the one timer to stack.deadline()  (None: no timer)
    wake who waits for stack.writable

`send` raises MessageTooLarge for a payload above `stack.max_message`, NotMember once the member is
leaving or out. Before the member has joined, and while windows are closed, what is sent waits in
the send buffer. Nothing that comes in from the network raises: bad datagrams are counted by reason
in `stack.counters` and reported, at most once per second and reason, as Dropped.

To look at: `stack.view` (None before joining), `stack.status` ("joining", "member", "leaving",
"left"), `stack.address`, `stack.counters`, `stack.writable`, `stack.missing(now)` (the members whom
something waits for, with what it is), `stack.pending` (messages sent and not yet delivered).
For harnesses: `stack.found(view, endpoints, now)` instead of `start` makes a founder of a given
first view. `max_bundle` must not exceed the transport's `max_datagram`.
"""
