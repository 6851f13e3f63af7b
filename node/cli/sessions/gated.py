"""Shows the findings of `session show`: personal data, and text that addresses models."""

from __future__ import annotations

from typing import Any

import click

from protocol.page.secrets.personal_kinds import KINDS

_SHOWN = 5
_STEPS_SHOWN = 20


def show_gated(r: dict[str, Any]) -> None:
    """Print how much personal data was replaced or kept, by kind and place, and then the texts that address a model."""
    for one in r["personal"]:
        done = "replaced" if one["replaced"] else "kept, since the author wrote it: give it as a secret to keep it out"
        click.echo(f"personal {one['count']} × {KINDS[one['kind']]} in {_where(one['where'])}: {done}")
    spoken = r["spoken_to"]
    if spoken:
        click.echo(f"to models {len(spoken)} texts speak to a model that reads them; nothing acts upon them")
    for one in spoken[:_SHOWN]:
        hidden = ", hidden" if one["hidden"] and not one["why"] else ""
        where = f"{one['where']} of {one['origin'] or 'no site'}, line {one['line']}"
        if one["why"]:
            where = f"on {one['origin'] or 'no site'}, hidden: {one['why']}"
        place = f"step {one['step']}, {where}"
        click.echo(f"  {place} ({', '.join(one['rules'])}{hidden}): “{one['quote']}”")
    if len(spoken) > _SHOWN:
        click.echo("  --json lists all")
    more = [str(step["index"]) for step in r["steps"] if step.get("hidden_more")]
    if more:
        listed = ", ".join(more[:_STEPS_SHOWN]) + (", …" if len(more) > _STEPS_SHOWN else "")
        click.echo(f"unread    what the page hides was not read to its end, or not all of it kept: step {listed}")


def _where(where: str) -> str:
    return {"text": "the text of pages", "action": "actions", "hidden": "hidden text of pages"}.get(
        where, f"{where} of pages"
    )
