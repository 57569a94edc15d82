"""The two ways in which a verb gives up; each carries one sentence for the user."""


class UsageError(Exception):
    """The call or the set-up is wrong: exit code 3. The sentence says what, where, what to do."""


class Inconclusive(Exception):
    """Nothing can be said, for example since records are missing: exit code 2."""


def first_line(error: BaseException) -> str:
    """Return what an error of somebody else's says first, to be part of a sentence."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
