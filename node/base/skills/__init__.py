"""Skills: instructions for agents, as files of the package. ``core`` says how to work in a browser."""

from __future__ import annotations

from importlib import resources
from typing import NamedTuple

from protocol.errors import MeshError


class Skill(NamedTuple):
    """One skill, in the format of agentskills.io."""

    description: str
    """When an agent should use it."""
    text: str
    """The whole file, with its head."""

    @property
    def body(self) -> str:
        """The text without its head."""
        return self.text.split("---\n", 2)[2].lstrip("\n")


def names() -> list[str]:
    """The names of all skills."""
    found = (each.name for each in resources.files(__package__).iterdir())
    return sorted(name.removesuffix(".md") for name in found if name.endswith(".md"))


def skill(name: str) -> Skill:
    """The skill with this name. Errors: ``input.not_found``."""
    if name not in names():
        raise MeshError("input.not_found", f"no skill {name[:40]}; there are: {', '.join(names())}")
    text = resources.files(__package__).joinpath(f"{name}.md").read_text("utf-8")
    head = text.split("---\n", 2)[1]
    return Skill(next(line for line in head.splitlines() if line.startswith("description: ")).partition(": ")[2], text)
