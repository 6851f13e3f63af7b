# Written by `make client` from node/verbs/; change the declarations instead.
"""Records of the verbs ``passkey.*`` (docs/verbs.md)."""

from __future__ import annotations

from trailmesh.client.record import Record


class PasskeyList(Record, frozen=True, kw_only=True):
    """The passkeys of this node, by site."""

    passkeys: tuple[ShownPasskey, ...]


class RemovedPasskey(Record, frozen=True, kw_only=True):
    """A passkey that was removed."""

    id: str

    site: str


class ShownPasskey(Record, frozen=True, kw_only=True):
    """A passkey of this node, without its key."""

    id: str

    site: str
    """The host of the passkey, which also covers the hosts below it."""

    account: str
    """The site's name for the account; empty if the browser did not report one."""

    made_ms: int
    """0 if the time is unknown."""

    used_ms: int
    """The time at which a page last used it; 0 for never."""

    proven: bool
    """True if a login with it was seen to work."""
