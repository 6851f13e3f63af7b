"""Creates the data directory of a node."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import msgspec

from node import config as configuration
from node import identity
from node.files import write_atomic
from node.wiring import system_clock
from protocol import ids
from protocol.errors import MeshError


def init_home(home: Path, *, name: str | None, listen: str | None, config_file: str | None) -> dict[str, Any]:
    """Create a node in ``home``: configuration first, witness key last, so that a crash leaves no half node.

    Errors: ``node.already_initialised``, ``config.invalid``, ``input.invalid``.
    """
    if (home / identity.KEY_FILE).exists():
        raise MeshError("node.already_initialised", f"{home} holds a node", home=str(home))
    config = (
        configuration.parse(Path(config_file).read_text(), source=config_file)
        if config_file
        else configuration.Config()
    )
    host, port = _listen(listen, config.listen)
    chosen = name or (config.name if config_file else _host_name())
    config = msgspec.structs.replace(
        config, name=chosen, listen=msgspec.structs.replace(config.listen, host=host, port=port or free_port(host))
    )
    config = configuration.parse(configuration.render(config), source="options")
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        home.chmod(0o700)
        write_atomic(home / configuration.CONFIG_FILE, configuration.render(config).encode())
        created = identity.create(home, system_clock())
    except OSError as error:
        raise MeshError(
            "store.full" if error.errno == 28 else "input.invalid", f"{home}: {error.strerror}", home=str(home)
        ) from error
    return {
        "node": created.node,
        "short": ids.short(created.node),
        "name": config.name,
        "home": str(home),
        "listen": f"[{host}]:{config.listen.port}" if ":" in host else f"{host}:{config.listen.port}",
    }


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
        raise MeshError("input.invalid", f"--listen wants an IPv6 address in brackets: [{host}]:{port}")
    if not host or not port.isdigit() or int(port) > 65_535:
        raise MeshError("input.invalid", f"--listen wants HOST:PORT, not {given!r}")
    return host, int(port)


def free_port(host: str) -> int:
    """A port nobody listens on now. Errors: ``input.invalid`` if ``host`` is no address of this machine."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind((host, 0))
            port: int = probe.getsockname()[1]
            return port
    except OSError as error:
        raise MeshError("input.invalid", f"cannot listen on {host}: {error.strerror}", host=host) from error
