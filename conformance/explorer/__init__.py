"""A page on one case or one recorded run: states and steps, and all faces of a step at once."""
