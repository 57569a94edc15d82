"""The files of one run held against each other: what several layers say of the same thing."""
