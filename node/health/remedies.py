"""Remedies of the doctor: for each error of a check, a command to paste that contains the real names and addresses.

Everywhere else an error's general remedy (``protocol/errors/``) is shown. It cannot be used here, because it may tell people to
run the doctor.
"""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from node.base.files import MARK_FILE, STORE_FILE
from node.config import CONFIG_FILE, BrowserConfig
from node.rooms import Rooms
from node.signing import contents, identity
from protocol import ids
from protocol.errors import MeshError, PeerError

CLOCKS: Final = "on the machine whose clock is wrong: timedatectl set-ntp true"
SAME_VERSION: Final = "on the machine with the older `trailmesh --version`: pip install --upgrade trailmesh"
_THERE: Final = "on the machine of {name}: "
_LOOK_THERE: Final = _THERE + "trailmesh node doctor"
_PAIR_AGAIN: Final = (
    _THERE + "trailmesh node invite --grant explore; then here: trailmesh node join with what it prints"
)

# A peer tells a stranger nothing, so its owner has to find out which case it is.
_UNKNOWN_THERE: Final = (
    _THERE
    + "trailmesh node peers; if this node ({me}) is distrusted there: trailmesh node trust {me}; if it is missing there: "
    "trailmesh node invite --grant explore, then here: trailmesh node join with what it prints"
)
_REFUSED_THERE: Final = (
    _UNKNOWN_THERE
    + "; if it is there and trusted, the data directory here is older than a change of its key, then here: {recover}"
)
_NETWORK: Final = (
    _THERE
    + "trailmesh node status; if it is not serving: trailmesh node serve; if it is, look at the network here: ip -br link"
)

# Keys are error codes, or their part before the point. {name}: of the peer, quoted. {me}: this node's short id. {home}:
# quoted. {recover}: the command that recovers this node.
PEER: Final[Mapping[str, str]] = {
    "peer.unreachable": _NETWORK,
    "peer.failed": _LOOK_THERE,
    "peer.refused_us": _REFUSED_THERE,
    "peer.unknown": _UNKNOWN_THERE,
    "envelope.key_unknown": _PAIR_AGAIN,
    "invite": _PAIR_AGAIN,
    "pairing": _PAIR_AGAIN,
    "peer.identity": "trailmesh node peers --home {home}; compare with " + _THERE + "trailmesh node id",
    "peer.scope": _THERE + "trailmesh node grant {me} explore",
    "policy": _THERE + "trailmesh node grant {me} explore",
    "peer.distrusted": "if it is to be trusted again: trailmesh node trust {name} --home {home}",
    "peer.quota": _THERE + "trailmesh explore show; then `trailmesh explore rm` of what is not needed any more",
    "peer.limit": _THERE + "trailmesh node status",
    "peer.clock": CLOCKS,
    "envelope.time": CLOCKS,
    "envelope.replay_window_full": _THERE + "trailmesh node status",
    "keylog.fork": _THERE + "trailmesh node recover",
    "keylog.revoked": "trailmesh node distrust {name} --home {home}",
    "keylog": "trailmesh log audit --peer {name} --home {home}",
    "log": "trailmesh log audit --peer {name} --home {home}",
    "store.full": _THERE + "df -h",
    "store.unwritable": _THERE + "trailmesh node status",
    "store": _THERE + "trailmesh node doctor",
    "blob": _THERE + "trailmesh node doctor",
    "internal": _THERE + "trailmesh node doctor",
    "key": _THERE + "trailmesh node serve",
    "node": _THERE + "trailmesh node serve",
    "control": _THERE + "trailmesh node serve",
    "discovery": _THERE + "trailmesh node serve",
    **dict.fromkeys(
        ("config", "recovery", "browser", "action", "secret", "risk", "caller"), _THERE + "trailmesh node doctor"
    ),
    # Errors that occur only between different versions, or with a program that is not trailmesh.
    **dict.fromkeys(
        ("cbor", "envelope", "format", "id", "input", "message", "peer.protocol", "peer.signature", "peer.version"),
        SAME_VERSION,
    ),
    **dict.fromkeys(
        (
            "bundle",
            "report",
            "replay",
            "session",
            "live",
            "feed",
            "agent",
            "page",
            "approval",
            "owner",
            "mcp",
            "door",
            "call",
            "task",
            "site",
            "trust",
            "capsule",
            "work",
            "backup",
            "schedule",
            "condition",
            "search",
            "delta",
            "lease",
            "claim",
        ),
        SAME_VERSION,
    ),
}
# Keys are error codes, or their part before the point. {executable}, {port}: as configured. {config}: the file, quoted.
BROWSER: Final[Mapping[str, str]] = {
    "browser.missing": "apt-get install chromium",
    "browser.unreachable": "{executable} --headless --remote-debugging-port={port}",
    "browser.launch": "{executable} --headless --dump-dom about:blank",
    "browser": "{executable} --headless --dump-dom about:blank",
    "config": "${{EDITOR:-vi}} {config}",
    "store.full": "df -h",
}


def for_peer(rooms: Rooms, name: str, error: MeshError) -> str:
    """The remedy after a call to ``name`` ended with ``error``. If the peer answered the error, the remedy is for the
    peer's machine."""
    told = _known(PEER, error.code) or SAME_VERSION
    if isinstance(error, PeerError) and told not in (CLOCKS, SAME_VERSION) and not told.startswith(_THERE):
        told = _LOOK_THERE
    return told.format(
        name=shlex.quote(name),
        me=ids.short(rooms.identity.node),
        home=shlex.quote(str(rooms.home)),
        recover=_recover(rooms.home, rooms.identity.node) if "{recover}" in told else "",
    )


def for_port(home: Path, port: int, free: int) -> str:
    """The remedy if another program listens on ``port``. free: a free port."""
    config = shlex.quote(str(home / CONFIG_FILE))
    return (
        f"ss -ltnp 'sport = :{port}' shows the other program: end it, or take another port: sed -i 's/port: {port}$/port: {free}/'"
        f" {config}; then trailmesh node serve --home {shlex.quote(str(home))}"
    )


def for_browser(home: Path, browser: BrowserConfig, error: MeshError) -> str:
    """The remedy for an error at the start of the browser."""
    config = shlex.quote(str(home / CONFIG_FILE))
    if error.code == "browser.missing" and browser.executable:
        return f"sed -i \"s|executable: .*|executable: ''|\" {config}; apt-get install chromium"
    if error.code == "browser.launch" and error.detail.get("reason") == "directory":
        return f"TMPDIR=/tmp trailmesh node serve --home {shlex.quote(str(home))}"
    if error.code == "browser.launch" and browser.sandbox and os.geteuid() == 0:
        return "run it as another user, or without the sandbox: trailmesh node stop; trailmesh node start --no-sandbox"
    told = _known(BROWSER, error.code) or BROWSER["browser"]
    port = urlsplit(browser.cdp_url).port or 9222
    return told.format(executable=shlex.quote(browser.executable or "chromium"), port=port, config=config)


def for_opening(home: Path, error: MeshError) -> str:
    """The remedy for an error on opening the witness key, the key log or the store."""
    quoted = shlex.quote(str(home))
    if error.code in ("key.locked", "key.passphrase"):
        return f"in a terminal, where the passphrase can be typed: trailmesh node serve --home {quoted}"
    if error.code == "key.keyring":
        return f"unlock the keyring of this user, then: trailmesh node id --home {quoted}"
    if error.code == "store.full":
        return "df -h"
    if error.code == "config.invalid":
        return BROWSER["config"].format(config=shlex.quote(str(home / CONFIG_FILE)))
    if error.code == "node.incomplete" and (told := _without(home, str(error.detail.get("file", "")))):
        return told
    if error.code == "store.unwritable":
        return f"ls -ld {quoted} {quoted}/*"
    if error.code == "store.newer":
        return "pip install --upgrade trailmesh"
    if error.detail.get("file") == identity.KEY_FILE or not (home / identity.KEY_FILE).exists():
        with contextlib.suppress(MeshError):  # an unreadable key log is useless too
            return _recover(home, identity.read_log(home).node)
    return f"mv {quoted} {shlex.quote(f'{home}.damaged')}, and put a backup in its place"


def _without(home: Path, file: str) -> str:
    """How to continue a node whose ``file`` is missing and in no backup; empty if that is impossible."""
    quoted, path = shlex.quote(str(home)), shlex.quote(str(home / file))
    if file == CONFIG_FILE:
        return f"put {path} back from a backup; without one, for the defaults, which allow every site: echo '{{}}' > {path}"
    if file == STORE_FILE:
        removed = " ".join(
            shlex.quote(str(home / name)) for name in (MARK_FILE, STORE_FILE, f"{STORE_FILE}-wal", f"{STORE_FILE}-shm")
        )
        return (
            f"put a backup in the place of {quoted}; without one, to go on with no peers and no sessions: rm -f {removed};"
            f" then `trailmesh node serve --home {quoted}`"
        )
    return ""


def _recover(home: Path, node: str) -> str:
    path = contents.recovery_file(home, node)
    told = f"trailmesh node recover --key-file {shlex.quote(path)} --home {shlex.quote(str(home))}"
    return told if Path(path).exists() else f"put the recovery file of this node back where it was; then {told}"


def after_end(rooms: Rooms) -> str:
    """The remedy for a node that revoked itself; empty if it has not."""
    own, home = rooms.identity, rooms.home
    if not own.end:
        return ""
    if own.log.revoked_by_recovery:
        return f"trailmesh node init --home {shlex.quote(f'{home}.new')}"
    return _recover(home, own.node)


def _known(remedies: Mapping[str, str], code: str) -> str:
    return remedies.get(code) or remedies.get(code.partition(".")[0], "")
