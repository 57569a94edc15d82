"""The protocols that the verbs know: one record each, ours and anybody else's alike."""
