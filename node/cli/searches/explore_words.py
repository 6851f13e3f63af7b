"""Shared by the commands of searches and schedules: parses conditions and formats progress events."""

from __future__ import annotations

from typing import Any

from node.base.plain import called, counted
from node.cli.base.common import Result
from node.cli.base.text_files import read_text
from protocol.errors import MeshError


def read_condition(text: str) -> Any:
    """Parse a condition given as YAML or ``@FILE`` into plain data. Errors: ``condition.invalid``."""
    from node.config import load_yaml

    try:
        return load_yaml(read_text(text[1:]) if text.startswith("@") else text).plain()
    except MeshError as error:
        raise MeshError("condition.invalid", error.message, **error.detail) from error


def progress_line(event: Result) -> str:
    """One line for a progress event of a search; empty for none."""
    names = event.get("names", {})
    if "participants" in event:
        return f"search {event['search']} with {counted(len(event['participants']), 'node')}"
    if "visits" in event:
        left = max(0, event["of_seconds"] - event["seconds"])
        shares = ", ".join(f"{called(peer, names)} {count}" for peer, count in event["visits"].items() if count)
        return (
            f"  {left:>4} s left: {counted(event['live_leases'], 'lease')}, {counted(event['nodes'], 'action')} found, "
            f"{counted(sum(event['visits'].values()), 'visit')}{f' ({shares})' if shares else ''}, "
            f"best {event['best']:.2f}, {counted(event['claims'], 'claim')}"
        )
    if "claim" in event:
        return f"  {called(event['peer'], names)} claims success after {counted(event['claim'], 'step')}: replaying …"
    if "claim_refused" in event:
        return f"  the claim of {called(event['peer'], names)} was not confirmed by the replay"
    if "lease_expired" in event:
        return f"  {called(event['peer'], names)} stopped answering: its branch can be leased again"
    if "error" in event:
        return f"  {called(event['peer'], names)} could not take a branch: {event['error']}"
    return ""
