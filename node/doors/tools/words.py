"""Texts for models that call tools: descriptions, remedies and results name tools where those for people name commands."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Final

from node.base.skills import skill
from node.verbs import Verb
from node.verbs.catalogue import CATALOGUE
from node.verbs.live import live as verbs
from protocol.errors import MeshError

TOOLS: Final[Mapping[str, Verb]] = {verb.tool: verb for verb in CATALOGUE.values() if verb.tool}
"""The verbs that have a name of their own as tools, by that name."""
_WORDS: Final = {
    **{verb.command: verb.tool for verb in TOOLS.values()},
    verbs.OPEN.command: verbs.NAVIGATE.tool,
    verbs.TABLE.command: verbs.SNAPSHOT.tool,
}
_COMMAND: Final = re.compile(rf"`(?:trailmesh )?({'|'.join(sorted(map(re.escape, _WORDS), key=len, reverse=True))})`")
_SHELL: Final = re.compile(r"`trailmesh |`--| --[a-z]|`config")
_JSON: Final = re.compile(r"; --json prints all| \(--json has all\)")

_BEGIN: Final = """\
A browser whose every step is recorded and signed.

Begin with `browser_navigate`: it opens a session, says its id, and shows what can be done. All other tools take that id as
`session`. End with `browser_close`: it signs the recording and says its id.

An element has an id (`e17`), which stays the same as long as it is on the page: give it as `target`. An action answers with
what has changed, not with the whole page: `+` is new, `~` says something else, `-` is gone. If the element is gone or says
something else, the action is refused with `live.stale_ref`, and nothing is done.

Look with `browser_find` (one thing of a long page, or all elements of a role) and `browser_snapshot` (`interactive`: what can be
done; without it, all of the page; `part` for more). Fill a form at once with `browser_fill_form`. `browser_act` does several
actions in one call: `[{fill: {ref: e5, value: mug}}, {press: Enter}, {assert: {text: "12 results"}}]`; it also hovers, drags,
uploads, extracts and asserts.

If a call may be repeated, because its answer did not arrive, give it an `idempotency_key`: with the same key it is done once.
"""
_OWNERS: Final = "## What may not leave"


def instructions() -> str:
    """The instructions of the server: how to begin, and the part of the skill about what may not leave."""
    rest = skill("core").body.partition(_OWNERS)[2].partition("\n## ")[0].strip()
    rest = rest.replace("`trailmesh approve state ID --wait 60`", "`question_state`")
    rest = re.sub(r"\s*\([^()]*--secret[^()]*\)", "", rest)
    return f"{_BEGIN}\n{in_tools(rest)}\n"


def description(verb: Verb) -> str:
    """The help of the verb, without the parts about the command line."""
    paragraphs = inspect.cleandoc(verb.help).split("\n\n")
    told = [" ".join(each.split()) for each in paragraphs if not each.startswith("\b")]
    return in_tools("\n\n".join(told))


def in_tools(text: str) -> str:
    """``text`` with command names replaced by the names of the tools."""
    return _COMMAND.sub(lambda found: f"`{_WORDS[found[1]]}`", text)


def without_commands(text: str) -> str:
    """A result for people without what only a command line can do."""
    return _JSON.sub("", text)


REMEDIES: Final[Mapping[str, str]] = {
    "input.invalid": "Change the parameter that the message names; the schema of the tool says what it takes.",
    "input.too_large": "Send less, or close a page that is done: `browser_tabs` with the action `close`.",
    "input.not_found": "List the pages (`browser_tabs` with the action `list`), and use an index from there.",
    "browser.crashed": "Open the page again (`browser_navigate`); that starts a new browser.",
    "action.target_missing": "Look again (`browser_snapshot`), and use an id from there.",
    "action.not_possible": "Look again (`browser_snapshot`): another action may have to reveal or enable the element first.",
    "action.tab_missing": "List the pages (`browser_tabs` with the action `list`), and use an index from there.",
    "action.assertion_failed": "Look again (`browser_snapshot`): the message says what was found instead.",
    "action.text_missing": "Look again (`browser_snapshot`): the text may be written differently. If it comes late, wait longer.",
    "action.secret_literal": "Give `secret`, with the name of a secret, in place of the text.",
    "action.secret_missing": "Use the name of a secret that this client was given, or ask the person who set it up for it.",
    "action.secret_elsewhere": "Do not type it here. The person who set up this client decides for which site a secret is.",
    "action.clipboard": "Type the text (`browser_type`); text to read is in each result.",
    "action.hits_another": "Click that control itself; `browser_snapshot` shows its id.",
    "risk.refused": "Do not try it in another way. Tell the person what it is: only the owner of the node can approve it.",
    "live.not_found": "Open a page: `browser_navigate` without a session.",
    "live.stale_ref": "The message says what it is now. Look again (`browser_snapshot`, `browser_find`), and use an id from there.",
    "live.ended": "Go on with `browser_navigate` without a session, which opens another one.",
    "live.ambiguous": "Name one of them.",
    "live.busy": "Wait, then call again.",
    "call.key_reused": "Give this call a key of its own.",
    "call.unknown": "Look at the page (`browser_snapshot`) before you do it again, with another key.",
}
"""Remedies for a model, by code. They replace general ones that need a command line, which a model does not have."""


def remedy(error: MeshError) -> str:
    """The remedy for ``error``, for a model. One that needs a command line is addressed to the owner of the node."""
    told = REMEDIES.get(error.code) or in_tools(error.remedy)
    return f"For the owner of the node: {told}" if _SHELL.search(told) else told
