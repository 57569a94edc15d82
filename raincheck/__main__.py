"""The command line: `raincheck VERB`."""

import sys


def main() -> int:
    """Run the verb named on the command line and return its exit code."""
    return 3


if __name__ == "__main__":
    sys.exit(main())
