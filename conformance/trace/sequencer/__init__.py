"""SEQUENCER's traces: what holds between members, the promises, and traces to test that with."""
