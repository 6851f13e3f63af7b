"""A node for one command, on a machine that has none: a temporary data directory, a temporary key, and the keys that it must trust.

It reads nothing of the machine's own node: neither its peers nor its configuration. The directory is removed at the end, even
if the command is interrupted. Nobody can verify the temporary key's signatures later, because the key is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import tempfile
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from node.base.plain import plain
from node.process.answering import answering, dispatching
from protocol.errors import MeshError
from protocol.pairing.by_invite import Paired
from protocol.recording.records.bundle import Bundle, open_bundle
from protocol.trust import trust_key

if TYPE_CHECKING:
    from nacl.signing import VerifyKey

    from adapters.ports.browser import Browser, OpenBrowser
    from node.api import Node
    from node.process.answering import AskPerson
    from node.verbs import Tell
    from protocol.keys.keylog import KeyLog

_NAME: Final = "temporary"
_SIGNER: Final = "trusted key"


class _Early:
    """Opens the browser that began to start when this object was made; later calls start another one."""

    def __init__(self, opener: OpenBrowser) -> None:
        self._opener = opener
        self._first: asyncio.Task[Browser] | None = asyncio.create_task(_awaited(opener()), name="starting a browser")

    async def open(self) -> Browser:
        """An ``OpenBrowser``."""
        first, self._first = self._first, None
        return await (first if first is not None else self._opener())

    async def close(self) -> None:
        """End the browser if nobody has asked for it."""
        if self._first is None:
            return
        self._first.cancel()
        # If it did not start, nobody missed it.
        with contextlib.suppress(MeshError, asyncio.CancelledError):
            await (await self._first).close()


async def _awaited(opened: Awaitable[Browser]) -> Browser:
    return await opened


@contextlib.asynccontextmanager
async def _browser(config_file: str) -> AsyncIterator[OpenBrowser]:
    """A browser that starts now, while the rest of the product is loaded. Errors: ``config.invalid``."""
    from node.config import settings
    from node.process.machine import browser_of, load_driver

    config = settings.read(settings.starting(config_file)) if config_file else settings.Config()
    await asyncio.to_thread(
        load_driver, config.browser
    )  # before the rest, so that Chromium starts in parallel with that
    early = _Early(browser_of(config.browser))
    try:
        yield early.open
    finally:
        await early.close()


@contextlib.asynccontextmanager
async def temporary_node(
    logs: tuple[KeyLog, ...], config_file: str, open_browser: OpenBrowser | None = None
) -> AsyncIterator[Node]:
    """A node that accepts only signatures of the nodes of ``logs``. These nodes get no permissions here.

    config_file: its configuration; empty for the defaults. open_browser: replaces the configured one. Errors:
    ``config.invalid``, ``input.invalid``, ``store.*``.
    """
    # In a thread, so that half a second of loading does not delay the start of the browser.
    for name in ("setup", "wiring"):
        await asyncio.to_thread(importlib.import_module, f"node.process.{name}")
    from node.process.setup import init_home
    from node.process.wiring import open_node

    with tempfile.TemporaryDirectory(prefix="trailmesh-") as directory:  # mode 0700
        home = Path(directory) / "home"
        recovery = str(Path(directory) / "recovery")
        await asyncio.to_thread(
            init_home, home, name=_NAME, listen=None, config_file=config_file or None, recovery_out=recovery
        )
        async with open_node(home, open_browser=open_browser) as node:
            for log in logs:
                paired = Paired(
                    node=log.node,
                    public_key=log.key,
                    log=log,
                    name=_SIGNER,
                    addresses=(),
                    grants={},
                    granted_us={},
                    asks={},
                )
                await node.rooms.trust.changes.add(paired)
            yield node


def read_trust(given: tuple[str, ...]) -> tuple[KeyLog, ...]:
    """The keys given by ``--trust``: each is a key itself or a file of keys. Errors: ``trust.invalid``, ``input.no_file``."""
    from node.process.machine import system_clock
    from protocol import limits

    texts = []
    for name in given:
        if name.startswith(trust_key.PREFIX):
            texts.append(name)
            continue
        if not name:  # an unset variable of a CI system
            raise MeshError("trust.invalid", "the key is empty")
        try:
            with Path(name).open(encoding="utf-8") as file:
                texts.append(file.read(limits.TRUST_TEXT_CHARS_MAX + 1))
        except OSError as error:
            raise MeshError("input.no_file", f"{name} cannot be read: {error.strerror}", path=name) from error
        except UnicodeDecodeError as error:
            raise MeshError("trust.invalid", f"{name} is no text") from error
    return trust_key.read_trust_keys("\n".join(texts), now_s=system_clock().now_ms() // 1000)


async def verify_apart(logs: tuple[KeyLog, ...], config_file: str, path: Path) -> Any:
    """``session.verify`` of the bundle ``path``. Errors: those of the verb, ``trust.not_signed``."""
    async with temporary_node(logs, config_file) as node:
        return plain(await _judged(node, "session.verify", {"target": str(path)}, logs))


async def replay_apart(
    logs: tuple[KeyLog, ...],
    config_file: str,
    path: Path,
    params: dict[str, Any],
    tell: Tell,
    person: AskPerson | None = None,
    *,
    plan: bool = False,
) -> Any:
    """``session.replay`` of the bundle ``path`` with ``params``. person: answers its questions. plan: only list what it needs.

    Errors: those of import and replay, ``trust.not_signed``.
    """
    # No browser for a file that will be refused: the import gives the reason.
    soon = _browser(config_file) if _opened(logs, path) and not plan else contextlib.nullcontext()
    async with soon as open_browser, temporary_node(logs, config_file, open_browser) as node:
        imported = plain(await _judged(node, "session.import", {"path": str(path)}, logs))
        if plan:
            return await dispatching(node)("session.plan", {"session": imported["session"]}, tell)
        asked = {**params, "session": imported["session"]}
        return await answering(dispatching(node), "session.replay", asked, tell, person)


async def call_apart(config_file: str, verb: str, params: dict[str, Any], tell: Tell) -> Any:
    """Call ``verb`` of a temporary node that trusts nobody. Errors: those of the verb, ``config.invalid``."""
    async with temporary_node((), config_file) as node:
        return plain(await node.dispatch(verb, msgspec.json.encode(params), tell))


def secrets_of(logs: tuple[KeyLog, ...], path: Path) -> frozenset[str]:
    """Names of the secrets that the session in the bundle needs; none if no node of ``logs`` signed it."""
    opened = _opened(logs, path)
    return frozenset(opened.session.secrets) if opened else frozenset()


def _opened(logs: tuple[KeyLog, ...], path: Path) -> Bundle | None:
    """The bundle, if a node of ``logs`` signed it. The import checks the rest of it."""
    known = {log.node: log for log in logs}

    def find_key(issuer: str, key_id: bytes, issued_s: int) -> VerifyKey | None:
        return known[issuer].find_key(key_id, issued_s) if issuer in known else None

    try:
        with path.open("rb") as file:
            return open_bundle(file, find_key)
    except (MeshError, OSError):
        return None


async def _judged(node: Node, verb: str, params: dict[str, Any], logs: tuple[KeyLog, ...]) -> Any:
    """The result of ``verb``. If it refuses an unknown signer, the error names the given keys instead of pairing."""
    try:
        return await node.dispatch(verb, msgspec.json.encode(params), lambda event: None)
    except MeshError as error:
        if error.code != "envelope.key_unknown":
            raise
        by = str(error.detail["issuer"])
        told = f"it is signed as {by[:7]}, and --trust names {trust_key.names(logs)}"
        raise MeshError("trust.not_signed", told, issuer=by) from error
