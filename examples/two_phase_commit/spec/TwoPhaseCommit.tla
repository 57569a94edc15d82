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

Yes(n) == [type |-> "Yes", source |-> n, to |-> Coordinator]
Outcome(n, outcome) ==
    [type |-> "Outcome", source |-> Coordinator, to |-> n, outcome |-> outcome]

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

(* The coordinator decides: to abort whenever it likes, to commit once all have voted yes. *)
Decide(n, outcome) ==
    /\ n = Coordinator
    /\ state[n] = "prepared"
    /\ outcome = "committed" /\ AllVotes => votes[n] = Nodes
    /\ state' = [state EXCEPT ![n] = outcome]
    /\ sent' = sent \cup {Outcome(m, outcome) : m \in Nodes}
    /\ UNCHANGED votes

ReceiveOutcome(n, sender, outcome) ==
    /\ sender = Coordinator /\ Outcome(n, outcome) \in sent
    /\ state[n] = "prepared"
    /\ state' = [state EXCEPT ![n] = outcome]
    /\ UNCHANGED <<votes, sent>>

Next == \E n, sender \in Nodes, outcome \in {"committed", "aborted"} :
    \/ Prepare(n) \/ Refuse(n) \/ Decide(n, outcome)
    \/ ReceiveYes(n, sender) \/ ReceiveOutcome(n, sender, outcome)

Spec == Init /\ [][Next]_<<state, votes, sent>>

(* Nobody commits what another has aborted: the whole point. *)
Agreement == \A m, n \in Nodes : ~(state[m] = "committed" /\ state[n] = "aborted")

AgreementExercise == \E n \in Nodes : state[n] = "committed"

(* While all are prepared, nobody has been told an outcome: whoever voted yes must wait. *)
NobodyGuesses == (\A n \in Nodes : state[n] = "prepared") => sent \subseteq {Yes(n) : n \in Nodes}
NobodyGuessesExercise == \A n \in Nodes : state[n] = "prepared"
=============================================================================
