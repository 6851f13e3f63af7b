"""Calls a verb for a command: through the control API if the node is running, otherwise in this process.

The caller sees no difference: ``call(verb, params, tell)`` returns plain values or raises ``MeshError``. A caller with an
agent's token calls over the socket for agents. It never opens the data directory, because that would mean acting as the owner.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import stat
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

import msgspec

from node.base.control_file import (
    AGENTS_DIRECTORY,
    AGENTS_SOCKET_FILE,
    CONTROL_FILE,
    KEY_HEADER,
    SOCKET_FILE,
    ControlInfo,
    socket_path,
)
from node.base.ownership import check_private
from node.base.plain import plain
from node.base.socket_call import NotReachedError, answered
from node.base.statuses import from_dict
from node.process.answering import AskPerson, CallVerb, answering, dispatching
from protocol import limits
from protocol.errors import MeshError
from protocol.trust.agent_token import PREFIX, token_hash

if TYPE_CHECKING:
    from node.process.passphrase import AskPassphrase
    from node.verbs import Tell

log = logging.getLogger(__name__)

_AWAY: Final = frozenset({"node.not_serving", "node.stopped"})
_PARTS: Final = ("config.", "key.", "keylog.", "log.", "store.")
"""Beginnings of the error codes for an unreadable part of the data directory."""
_RECONNECT_S: Final = 0.5


def control_info(home: Path) -> ControlInfo | None:
    """The address and token of the running node of ``home``; None if it is not running. Errors: ``node.exposed``, before the
    file is read."""
    check_private(home)
    try:
        info = msgspec.json.decode((home / CONTROL_FILE).read_bytes(), type=ControlInfo)
        os.kill(info.pid, 0)
    except (OSError, msgspec.DecodeError):
        return None
    return info


def _unheard(event: dict[str, Any]) -> None:
    """Progress that nobody reads."""


class AsAgent(NamedTuple):
    """The socket and token of an agent."""

    socket: Path
    token: str

    def __repr__(self) -> str:
        return f"AsAgent({self.socket})"


def as_agent(home: Path, token_file: str, socket: str = "") -> AsAgent:
    """The agent whose token is in ``token_file``. socket: the node's socket, if it is not the default one in ``home``. Errors:
    ``input.invalid``; the message contains no part of the file.
    """
    if token_file.startswith(PREFIX):
        raise MeshError("input.invalid", "--token-file names the file that holds the token, not the token itself")
    try:
        with open(token_file, encoding="ascii") as file:
            _warn_if_shown(file.fileno(), token_file)
            token = file.read(limits.AGENT_TOKEN_CHARS_MAX + 2).strip()
        token_hash(token)
    except OSError as error:
        raise MeshError("input.invalid", f"the token file {token_file} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, MeshError):
        raise MeshError("input.invalid", f"{token_file} does not contain a complete agent token") from None
    return AsAgent(Path(socket).absolute() if socket else home / AGENTS_DIRECTORY / AGENTS_SOCKET_FILE, token)


def _warn_if_shown(descriptor: int, token_file: str) -> None:
    """Warn about a file that others can read, but use it: in a container, its mode may not be the user's choice."""
    if os.fstat(descriptor).st_mode & stat.S_IROTH:
        log.warning("every user of this machine can read the token in %s: chmod 600 it", token_file)


async def call(
    home: Path,
    verb: str,
    params: dict[str, Any],
    tell: Tell,
    passphrase: AskPassphrase | None = None,
    *,
    agent: AsAgent | None = None,
    person: AskPerson | None = None,
) -> Any:
    """Run ``verb`` on the node of ``home``, or as ``agent`` on the node at its socket. passphrase: as for ``open_node``.

    person: answers the questions of the verb; an agent is asked none. Errors: those of the verb, ``node.stopped``; of an agent
    also ``node.not_serving``, ``control.unauthorised``, ``agent.*``.
    """
    if agent is not None:
        try:
            return await _remote(agent.socket, agent.token, verb, params, tell)
        except NotReachedError as error:
            told = f"no node answers at {agent.socket}: {error.strerror}"
            raise MeshError("node.not_serving", told) from None
    info = control_info(home)
    if info is not None:
        try:
            return await answering(_node_at(home, info), verb, params, tell, person)
        except NotReachedError:
            pass  # The node died without removing its control file. The lock decides whether this process may open the directory.
    from node.process.turns import open_in_turn

    try:
        async with open_in_turn(home, passphrase, lambda: control_info(home) is not None) as node:
            return await answering(dispatching(node), verb, params, tell, person)
    except MeshError as error:
        # A node that was still starting holds the lock by now and can be called.
        info = control_info(home) if error.code == "node.locked" else None
        if info is None:
            raise
        locked = error
    try:
        return await answering(_node_at(home, info), verb, params, tell, person)
    except NotReachedError:
        raise locked from None  # the node ended meanwhile, or the control file is a dead node's


@contextlib.asynccontextmanager
async def connected(
    home: Path, passphrase: AskPassphrase | None = None, *, agent: AsAgent | None = None
) -> AsyncIterator[CallVerb]:
    """A ``CallVerb`` for the node of ``home`` that works like ``call``; several calls may run at once.

    Errors: those of ``open_in_turn``; of a call those of the verb, ``node.not_serving``, ``node.stopped``.
    """
    info = control_info(home) if agent is None else None
    if agent is not None or info is not None:
        at = _node_at(home, info) if info is not None else None

        async def served(verb: str, params: dict[str, Any], tell: Tell) -> Any:
            try:
                if at is not None:
                    return await at(verb, params, tell)
                assert agent is not None
                return await _remote(agent.socket, agent.token, verb, params, tell)
            except NotReachedError as error:
                raise MeshError("node.not_serving", f"no node answers: {error.strerror}") from None

        yield served
        return
    from node.process.turns import open_in_turn

    async with open_in_turn(home, passphrase, lambda: control_info(home) is not None) as node:
        yield dispatching(node)


async def ask(
    home: Path, verb: str, params: dict[str, Any], tell: Tell = _unheard, key: str = "", *, agent: AsAgent | None = None
) -> Any:
    """Run ``verb`` on the node that serves ``home``, or as ``agent`` on the node at its socket; never in this process.

    key: makes the verb run once for all calls with it. Errors: those of the verb, ``node.not_serving``, ``node.stopped``; of an
    agent also ``control.unauthorised``, ``agent.*``.
    """
    if agent is None:
        info = control_info(home)
        if info is not None:
            try:
                return await _remote(home / SOCKET_FILE, info.token, verb, params, tell, key)
            except NotReachedError:
                pass  # the node died without removing its control file
        raise MeshError("node.not_serving", f"no node is running on {home}")
    try:
        return await _remote(agent.socket, agent.token, verb, params, tell, key)
    except NotReachedError as error:
        raise MeshError("node.not_serving", f"no node answers at {agent.socket}: {error.strerror}") from None


async def recover(home: Path, params: dict[str, Any], tell: Tell) -> Any:
    """``node.recover`` on the node of ``home``, even if its witness key is lost. Errors: those of ``call``."""
    try:
        return await call(home, "node.recover", params, tell)
    except MeshError as error:
        from node.process.wiring import open_node
        from node.signing import KEY_FILE, LOG_FILE

        if error.code != "node.incomplete" or error.detail.get("file") != KEY_FILE or not (home / LOG_FILE).exists():
            raise
    async with open_node(home, key_lost=True) as node:
        return plain(await node.dispatch("node.recover", msgspec.json.encode(params), tell))


async def examine(home: Path, passphrase: AskPassphrase, *, browser: bool) -> Any:
    """Run the doctor. If the node cannot be opened because of its configuration, key or store, check each part separately.

    Errors: those of ``call``.
    """
    from node.process.passphrase import asked_once

    ask = asked_once(passphrase)
    try:
        return await call(home, "node.doctor", {"browser": browser}, lambda event: None, ask)
    except MeshError as error:
        from node.health import doctor
        from node.process.wiring import examine_apart

        if error.code == "node.exposed":
            return plain(doctor.exposed(error))
        does_not_open = error.code == "node.incomplete" or error.code.startswith(_PARTS)
        if not does_not_open or control_info(home) is not None:
            raise
        return plain(await examine_apart(home, error, ask, browser=browser))


async def follow(
    home: Path,
    params: dict[str, Any],
    show: Callable[[Any], None],
    away: Callable[[], None],
    *,
    agent: AsAgent | None = None,
) -> NoReturn:
    """Pass the results of ``events.list`` to ``show`` in order, until cancelled.

    params: its parameters; ``since`` in them is updated to the last number shown. away: called repeatedly while no node is
    running; the data directory is not opened then, because that would keep a node from starting. agent: the agent to call
    as; each page counts as one of its calls. Errors: ``feed.gap``, ``node.not_initialised``, ``input.invalid``,
    ``store.*``, ``control.unauthorised``, ``agent.*``.
    """
    from node.signing import LOG_FILE

    if agent is None and not (home / LOG_FILE).exists():
        raise MeshError("node.not_initialised", home=str(home))
    while True:
        info = control_info(home) if agent is None else None
        try:
            if agent is not None:
                socket, token = agent
            elif info is not None:
                socket, token = home / SOCKET_FILE, info.token
            else:
                raise MeshError("node.not_serving", home=str(home))
            asked = {**params, "wait_s": limits.FEED_WAIT_S_MAX}
            page = await _remote(socket, token, "events.list", asked, lambda event: None)
        except (NotReachedError, MeshError) as error:
            restarted = agent is None and control_info(home) != info  # the node restarted with another token
            if isinstance(error, MeshError) and error.code not in _AWAY and not restarted:
                raise
            away()
            await asyncio.sleep(_RECONNECT_S)
            continue
        show(page)
        params["since"] = page["last"]


def _node_at(home: Path, info: ControlInfo) -> CallVerb:
    """A ``CallVerb`` for the running node of ``home``, as its owner."""
    return lambda verb, params, tell: _remote(home / SOCKET_FILE, info.token, verb, params, tell)


async def _remote(socket: Path, token: str, verb: str, params: dict[str, Any], tell: Tell, key: str = "") -> Any:
    try:
        directory = os.open(socket.parent, os.O_PATH)
    except OSError as error:
        raise MeshError("node.not_serving", f"no node answers at {socket}: {error.strerror}") from error
    try:
        headers = {"Authorization": f"Bearer {token}", **({KEY_HEADER: key} if key else {})}
        lines = answered(socket_path(socket, directory), f"/v1/{verb}", headers, msgspec.json.encode(params))
        async with contextlib.aclosing(lines):
            async for line in lines:
                message = msgspec.json.decode(line)
                if "event" in message:
                    tell(message["event"])
                elif "error" in message:
                    raise from_dict(message["error"])
                else:
                    return message["result"]
    except msgspec.DecodeError as error:
        raise MeshError("node.stopped", "the node ended during the command") from error
    finally:
        os.close(directory)
    raise MeshError("node.stopped", "the node ended during the command")
