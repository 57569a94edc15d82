"""The protocols that the verbs know: one record each, ours and anybody's alike."""
