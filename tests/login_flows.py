"""Action files that log in to the demo shop."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from trailmesh.shop import ShopConfig

KNOWN: Final = ShopConfig()
MAIL = f"fill: {{role: textbox, name: E-mail address, nth: 0, value: {KNOWN.user_email}}}"
WORD = "fill: {role: textbox, name: Password, value: {secret: word}}"
SIGN_IN = "click: {role: button, name: Sign in}"


def flow_of(directory: Path, url: str, *steps: str) -> tuple[str, ...]:
    """The options of ``capsule login`` by a file; the whole login unless ``steps`` are given."""
    steps = steps or (MAIL, WORD, SIGN_IN)
    word, actions = directory / "word.txt", directory / f"login-{len(steps)}.yaml"
    word.write_text(KNOWN.password + "\n")
    lines = "".join(f"  - {step}\n" for step in steps)
    actions.write_text(f"title: Sign in\nstart: {url}/login\nsteps:\n{lines}")
    return (
        "--with",
        str(actions),
        "--secret",
        f"word@{url}=@{word}",
        "--allow",
        f"POST {url}/login",
        "--approve-class",
        "7",
    )
