"""Creates the data directory of a node, and a recovery key that is stored elsewhere."""

from __future__ import annotations

import errno
import random
import socket
from pathlib import Path
from typing import Any

import msgspec

from node.base.files import write_atomic, write_private
from node.base.ownership import check_file, check_private
from node.config import settings as configuration
from node.process.machine import system_clock
from node.process.passphrase import AskPassphrase
from node.process.wiring import advertised_host, new_key_store, recovery_words
from node.signing import check_recovery_file, contents, default_recovery_file, identity
from protocol import ids
from protocol.errors import MeshError
from protocol.keys import recovery
from protocol.store_faults import store_code


def init_home(
    home: Path,
    *,
    name: str | None,
    listen: str | None,
    config_file: str | None,
    recovery_out: str | None = None,
    passphrase: AskPassphrase | None = None,
    keyring: bool = False,
) -> dict[str, Any]:
    """Create a node in ``home``: configuration, recovery file, key log, and the witness key last, so that a crash cannot leave
    a key without the rest.

    recovery_out: the file for the recovery key, outside of ``home``; by default beside it. passphrase: seals the witness key;
    keyring: stores it in the keyring of this user. The result holds the recovery words: for people, once. Errors:
    ``node.exposed``, ``node.already_initialised``, ``config.invalid`` (also if there is no address for peers),
    ``input.invalid``, ``key.*``, ``store.full``.
    """
    check_private(home, fresh=True)
    if config_file and not configuration.is_example(configuration.starting(config_file)):
        check_file(Path(config_file))  # programs that it names run from now on, not only in this command
    identity.check_vacant(home)
    contents.check_vacant(home)
    clock = system_clock()
    keys = new_key_store(home, passphrase=passphrase, keyring=keyring)
    seed = clock.random(recovery.SEED_BYTES)
    created = identity.create(clock, recovery.commitment(seed))
    recovery_file = check_recovery_file(home, recovery_out or default_recovery_file(home, created.node))
    config = configuration.read(configuration.starting(config_file)) if config_file else configuration.Config()
    host, port = _listen(listen, config.listen)
    chosen = name or (config.name if config_file else _host_name())
    config = msgspec.structs.replace(
        config,
        name=chosen,
        listen=msgspec.structs.replace(config.listen, host=host, port=port or free_port(host)),
        doors=_doors(config.doors),
    )
    # Parse the text that will be written, so that a node is never created with a file it cannot read.
    config = configuration.parse(configuration.render(config), source="options")
    advertised_host(config.listen)  # fail now: otherwise only `serve` would report that peers cannot find the node
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        # mkdir changes nothing about an existing directory, and its mode depends on the umask.
        home.chmod(0o700)
        write_atomic(home / configuration.CONFIG_FILE, configuration.render(config).encode())
        write_private(recovery_file, recovery.render(created.node, seed).encode())
        try:
            identity.keep(home, created, keys)
        except BaseException:
            recovery_file.unlink()  # the node was not created, so its recovery key is useless
            raise
        contents.mark(home, created.node, store=False, recovery=str(recovery_file))
    except OSError as error:
        # The file that failed can be the recovery file, which is stored elsewhere.
        where = error.filename if isinstance(error.filename, str) else str(home)
        code = store_code(error.errno)
        # Nothing exists yet that could be damaged.
        raise MeshError(
            "input.invalid" if code == "store.corrupt" else code, f"{where}: {error.strerror}", home=str(home)
        ) from error
    return {
        "node": created.node,
        "short": ids.short(created.node),
        "name": config.name,
        "home": str(home),
        "listen": f"[{host}]:{config.listen.port}" if ":" in host else f"{host}:{config.listen.port}",
        "key_form": keys.form,
        "recovery_file": str(recovery_file),
        "recovery_words": recovery_words(seed),
    }


def _doors(doors: configuration.DoorsConfig) -> configuration.DoorsConfig:
    """``doors`` with a port for the HTTP door, if it is served. Errors: ``input.invalid``."""
    http = doors.http
    port = http.port or (free_port(http.host) if http.serve else 0)
    return msgspec.structs.replace(doors, http=msgspec.structs.replace(http, port=port))


def _host_name() -> str:
    name = "".join(char if char.isalnum() or char in " .-_" else "-" for char in socket.gethostname()).strip(" .-")
    return name[:64] or "node"


def _listen(given: str | None, default: configuration.Listen) -> tuple[str, int]:
    if not given:
        return default.host, default.port
    host, _, port = given.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    host = host[1:-1] if bracketed else host
    if ":" in host and not bracketed:
        raise MeshError("input.invalid", f"--listen needs brackets around an IPv6 address: [{host}]:{port}")
    if not host or not port.isdigit() or int(port) > 65_535:
        raise MeshError("input.invalid", f"--listen needs HOST:PORT, not {given!r}")
    return host, int(port)


# Below the ports that systems assign to outgoing connections (from 32,768 on Linux, 49,152 elsewhere): such a port may be in use
# when the node starts again.
_LISTENING = range(20_000, 32_768)


def free_port(host: str) -> int:
    """A port that is free now and that no outgoing connection takes later.

    Errors: ``input.invalid`` if ``host`` is no address of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for port in random.sample(_LISTENING, k=len(_LISTENING)):
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            try:
                probe.bind((host, port))
                return port
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise MeshError("input.invalid", f"cannot listen on {host}: {error.strerror}", host=host) from error
    raise MeshError("input.invalid", f"every port of {host} is taken", host=host)
