--------------------------- MODULE TwoPhaseCommit ---------------------------
(* Two-phase commit [1]: participants vote, and one of them, the coordinator, decides.
   [1] J. Gray: Notes on Data Base Operating Systems, 1978. *)
CONSTANTS
    Nodes,       \* the participants
    Coordinator, \* the one of them that decides
    AllVotes     \* rule: to commit takes the yes of every participant

VARIABLES
    state, \* state[n]: "working", "prepared", "committed" or "aborted"
    votes, \* votes[n]: whose yes has reached n, if n is the coordinator
    sent   \* all datagrams ever sent: each may arrive often, late, or never

vars == <<state, votes, sent>>

Yes(n) == [type |-> "Yes", source |-> n, to |-> Coordinator]
Outcomes(type) == {[type |-> type, source |-> Coordinator, to |-> n] : n \in Nodes}

Init ==
    /\ state = [n \in Nodes |-> "working"]
    /\ votes = [n \in Nodes |-> {}]
    /\ sent = {}

(* n can do its part of the work, and promises to follow the coordinator. *)
Prepare(n) ==
    /\ state[n] = "working"
    /\ state' = [state EXCEPT ![n] = "prepared"]
    /\ sent' = sent \cup {Yes(n)}
    /\ UNCHANGED votes

(* n cannot do its part. It has promised nothing, so it need not ask. *)
Refuse(n) ==
    /\ state[n] = "working"
    /\ state' = [state EXCEPT ![n] = "aborted"]
    /\ UNCHANGED <<votes, sent>>

ReceiveYes(n, sender) ==
    /\ Yes(sender) \in sent
    /\ n = Coordinator
    /\ votes' = [votes EXCEPT ![n] = @ \cup {sender}]
    /\ UNCHANGED <<state, sent>>

(* The coordinator decides to commit; it is prepared itself, and has heard the others. *)
Commit(n) ==
    /\ n = Coordinator
    /\ state[n] = "prepared"
    /\ AllVotes => votes[n] = Nodes
    /\ state' = [state EXCEPT ![n] = "committed"]
    /\ sent' = sent \cup Outcomes("Committed")
    /\ UNCHANGED votes

(* The coordinator decides to abort: it may at any time before it has decided. *)
Abort(n) ==
    /\ n = Coordinator
    /\ state[n] = "prepared"
    /\ state' = [state EXCEPT ![n] = "aborted"]
    /\ sent' = sent \cup Outcomes("Aborted")
    /\ UNCHANGED votes

ReceiveCommitted(n, sender) ==
    /\ [type |-> "Committed", source |-> sender, to |-> n] \in sent
    /\ state[n] = "prepared"
    /\ state' = [state EXCEPT ![n] = "committed"]
    /\ UNCHANGED <<votes, sent>>

ReceiveAborted(n, sender) ==
    /\ [type |-> "Aborted", source |-> sender, to |-> n] \in sent
    /\ state[n] = "prepared"
    /\ state' = [state EXCEPT ![n] = "aborted"]
    /\ UNCHANGED <<votes, sent>>

Next ==
    \/ \E n \in Nodes : Prepare(n) \/ Refuse(n) \/ Commit(n) \/ Abort(n)
    \/ \E n, sender \in Nodes :
        ReceiveYes(n, sender) \/ ReceiveCommitted(n, sender) \/ ReceiveAborted(n, sender)

Spec == Init /\ [][Next]_vars

(* Nobody commits what another has aborted: the whole point. *)
Agreement == \A m, n \in Nodes : ~(state[m] = "committed" /\ state[n] = "aborted")

(* Who has voted yes and heard nothing must wait, whatever happens to the coordinator. *)
NobodyGuesses == (\A n \in Nodes : state[n] = "prepared") => sent \subseteq {Yes(n) : n \in Nodes}
=============================================================================
