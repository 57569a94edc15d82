"""The checks that join specification, model and implementation: replay, traces, audit."""
