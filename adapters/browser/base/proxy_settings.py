"""The settings of a proxy of the network."""

from __future__ import annotations

import msgspec


class ProxySettings(msgspec.Struct, frozen=True, kw_only=True):
    """One proxy, as the configuration names it."""

    name: str
    scheme: str
    """``http`` or ``socks5``."""
    host: str
    port: int
    user: str = ""
    password_file: str = ""
    sites: tuple[str, ...] = ()
    """Patterns of the origins that are contacted through it."""
