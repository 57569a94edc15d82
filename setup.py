"""What `pyproject.toml` cannot say: README.md as a package index shows it.

There the links of the README have nothing to be relative to. They get the address of the
repository, which the owner writes in one place, `[tool.raincheck] repository`; without one they
become plain words.
"""

import re
import tomllib
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).parent
LINK = re.compile(r"\[([^\]]+)\]\((?![a-z]+:|#)([^)]+)\)")


def readme(text: str, repository: str, version: str) -> str:
    """Return the README with links that lead somewhere from anywhere."""
    if not repository:
        return LINK.sub(r"\1", text)
    return LINK.sub(rf"[\1]({repository.rstrip('/')}/blob/v{version}/\2)", text)


def main() -> None:
    """Hand setuptools what it finds in no table."""
    settings = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))
    repository = settings["tool"]["raincheck"]["repository"]
    text = (HERE / "README.md").read_text(encoding="utf-8")
    kinds = {
        "Source": "",
        "Changelog": "/blob/main/CHANGELOG.md",
        "Documentation": "/tree/main/docs",
    }
    setup(
        long_description=readme(text, repository, settings["project"]["version"]),
        long_description_content_type="text/markdown",
        project_urls={name: repository + tail for name, tail in kinds.items()}
        if repository
        else {},
    )


if __name__ == "__main__":
    main()
