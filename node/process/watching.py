"""Records an action file while a person works in a window. It needs and opens no node: the window belongs to this process."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from protocol.errors import MeshError
from protocol.risk.pressing.unguarded import limits_of

if TYPE_CHECKING:
    from node.config import Config
    from node.sessions.actions import Notebook
    from node.verbs import Tell


class Watching(msgspec.Struct, frozen=True, kw_only=True):
    """The order for one recording."""

    url: str
    output: str
    attach: str = ""
    """Address of the debugging port of a running Chromium; empty to start one."""
    name: str = ""


async def watch(home: Path, config_file: str, asked: Watching, tell: Tell) -> dict[str, Any]:
    """Open a window at ``asked.url``, and write the acts of the person to ``asked.output`` until the window is closed.

    Cancelling the call has the effect of closing the window: all acts until then are in the file. config_file: configuration of
    browser and policy; empty for that of the node in ``home``, or the defaults. Errors: ``input.invalid``, ``browser.*``,
    ``config.invalid``.
    """
    from node.live.browsers import guard_for
    from node.process.wiring import open_watched
    from node.sessions.actions import Notebook
    from protocol.page.seen.web_address import require_plain

    require_plain(asked.url)
    config = configured(home, config_file)
    # A person's own acts need no approval by the same person. The policy still decides where pages may lead.
    guard = msgspec.structs.replace(guard_for(config.policy), read_only=False)
    book = Notebook(Path(asked.output), asked.url, asked.name, lambda words: tell({"did": words}))
    await book.write()  # before the person begins, so that an unwritable file is no surprise at the end
    sent: tuple[str, ...] = ()
    scripted = 0
    unguarded: tuple[str, ...] = ()
    async with open_watched(config.browser, asked.attach)(config.browser.profile, guard, book.heard) as page:
        unguarded = limits_of(page.info.backend)
        try:
            await page.open(asked.url)
            tell({"open": asked.url, "unguarded": list(unguarded)})
            await page.ended()
        except asyncio.CancelledError:
            pass  # a person ends the recording by Ctrl-C
        sent, scripted = page.sent, page.scripted
    await book.close()
    return _result(asked, book, sent, scripted) | {"unguarded": list(unguarded)}


def configured(home: Path, config_file: str) -> Config:
    """The configuration in ``config_file``, else that of the node in ``home``, else the defaults. Errors: ``config.invalid``."""
    from node.config import settings

    if config_file:
        return settings.read(Path(config_file))
    return settings.load(home) if (home / settings.CONFIG_FILE).exists() else settings.Config()


def _result(asked: Watching, book: Notebook, sent: tuple[str, ...], scripted: int) -> dict[str, Any]:
    return {
        "output": asked.output,
        "steps": len(book.actions),
        "secrets": [msgspec.to_builtins(use) for use in book.secrets],
        "sent": list(sent),
        "risk": book.risk,
        "scripted": scripted,
    }


def refuse_without_display(environment: Mapping[str, str]) -> None:
    """Refuse to record where no window can be shown. Errors: ``browser.launch``."""
    if sys.platform == "linux" and not (environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY")):
        raise MeshError("browser.launch", "there is no display to show a window on: set DISPLAY, or use --attach")
