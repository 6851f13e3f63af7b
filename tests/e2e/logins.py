"""Nodes in the process of the test that keep the login of a site, with real Chromium."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from adapters.ports.browser import Browser
from node.api.node import Node
from node.process.setup import init_home
from node.process.wiring import open_node
from node.verbs.caller import OWNER, Caller
from protocol.errors import MeshError
from tests.browsers import borrowing
from tests.canaries import found_in
from tests.login_site import SESSION, TOKEN, LoginSite

CANARIES = {"session": SESSION.encode(), "token": TOKEN.encode()}
SHOWN = "click: {role: link, name: Shown}"


async def ask(node: Node, verb: str, caller: Caller = OWNER, **params: Any) -> Any:
    return await node.dispatch(verb, msgspec.json.encode(params), lambda event: None, caller)


async def refusal(node: Node, verb: str, caller: Caller = OWNER, **params: Any) -> MeshError:
    with pytest.raises(MeshError) as caught:
        await ask(node, verb, caller, **params)
    return caught.value


class KeptLogin:
    """The home of a node with the capsule “shop”, captured once, and the address at which the site of a test runs.

    A capture opens the page with the login and without it, which takes longer than most work with it.
    """

    def __init__(self, browser: Browser, home: Path, listening: socket.socket) -> None:
        self._browser, self._home, self._listening = browser, home, listening

    @classmethod
    @contextlib.asynccontextmanager
    async def captured(cls, browser: Browser, directory: Path) -> AsyncIterator[KeptLogin]:
        """Capture it."""
        with socket.create_server(("127.0.0.1", 0)) as listening:
            kept = cls(browser, directory / "home", listening)
            async with kept._node(LoginSite(), directory, captures={"whole": True}):
                pass
            yield kept

    @contextlib.asynccontextmanager
    async def node(self, site: LoginSite, directory: Path, **policy: Any) -> AsyncIterator[Node]:
        """A node with the login of ``site``, which runs as long. policy: it is captured anew, so."""
        if not policy:
            await asyncio.to_thread(shutil.copytree, self._home, directory / "home")
        async with self._node(site, directory, captures={"whole": True, **policy} if policy else {}) as node:
            yield node

    @contextlib.asynccontextmanager
    async def _node(self, site: LoginSite, directory: Path, captures: dict[str, Any]) -> AsyncIterator[Node]:
        home, file = directory / "home", directory / "state.json"
        if captures:
            init_home(home, name="anna", listen="127.0.0.1:0", config_file=None, recovery_out=str(directory / "r.txt"))
        await site.start(self._listening)
        try:
            async with open_node(home, open_browser=borrowing(self._browser)) as node:
                node.rooms.serving.address = "https://127.0.0.1:1"
                if captures:
                    file.write_text(json.dumps(site.storage_state()))
                    given = {"file": str(file), "name": "shop", "origins": [site.origin], **captures}
                    await ask(node, "capsule.capture", **given)
                    file.unlink()
                yield node
        finally:
            await site.stop()


def leaks(directory: Path, canaries: dict[str, bytes] = CANARIES) -> list[str]:
    """The files that hold something of the login in some form."""
    every = [path for path in directory.rglob("*") if path.is_file()]
    assert "store.db" in {path.name for path in every}
    return [path.name for path in every if found_in(path.read_bytes(), canaries)]


def actions(site: LoginSite, *steps: str) -> str:
    return "\n".join((f"start: {site.origin}/", "steps:", *(f"  - {step}" for step in steps)))
