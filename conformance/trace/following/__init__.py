"""One file of a trace, followed by the model's handlers: part (a) of its check."""
