"""Determines which secrets a command will use, so that nobody is asked for another secret."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from node.cli.base.common import Result, is_session_id, run_verb
from node.cli.base.text_files import read_text

_NAMED: Final = re.compile(r"\bsecret[\"']?\s*:\s*[\"']?([A-Za-z0-9_.-]{1,64})")
"""The way in which YAML names a secret. It may also match inside a text; then a secret is asked for that nobody uses."""


def of_file(home: str | None, typed: Result) -> frozenset[str] | None:
    """The secrets of the action file of ``session record`` or ``capsule login``; none without a file. Errors: ``input.*``."""
    path = typed["actions"]
    if not path or path.startswith(("http://", "https://")):
        return frozenset()
    from node.sessions.actions import read_action_file

    return frozenset(read_action_file(Path(path), lenient=bool(typed.get("lenient"))).secrets)


def of_session(home: str | None, typed: Result) -> frozenset[str] | None:
    """The secrets that a recorded session and the actions added to it need. Errors: those of ``session.show``, ``trust.*``."""
    if typed.get("trust"):
        from node.process.apart import read_trust, secrets_of

        return secrets_of(read_trust(typed["trust"]), Path(typed["session"]))
    if not is_session_id(typed["session"]):
        return frozenset()  # the command will be refused, so nobody is asked before
    shown = run_verb(home, "session.show", {"session": typed["session"]})
    return frozenset(shown["session"]["secrets"]) | _of_actions(typed.get("actions")) if "session" in shown else None


def _of_actions(path: str | None) -> frozenset[str]:
    if not path:
        return frozenset()
    return frozenset(_NAMED.findall(read_text(path)))
