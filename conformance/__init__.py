"""What joins specification, model and implementation: checkers, replay, traces, audit."""
