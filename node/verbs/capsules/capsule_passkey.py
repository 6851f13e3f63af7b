"""Verbs for the passkeys that this node has registered for itself."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from node.verbs.shown import shown
from node.verbs.verb import OWNER_ONLY, AuditedPart, NoParams, Params, Verb, argument


class PasskeyParams(Params, frozen=True, kw_only=True):
    """``passkey.remove``"""

    passkey: Annotated[str, argument("Id of the passkey.", metavar="PASSKEY", max_length=64)]


class ShownPasskey(msgspec.Struct, frozen=True, kw_only=True):
    """A passkey of this node, without its key."""

    id: Annotated[str, shown("id", column=True)]
    site: Annotated[str, shown("site", column=True)]
    """The host of the passkey, which also covers the hosts below it."""
    account: Annotated[str, shown("account", empty="-", column=True)]
    """The site's name for the account; empty if the browser did not report one."""
    made_ms: Annotated[int, shown("made", as_="time", unit="ms", empty="-", column=True)]
    """0 if the time is unknown."""
    used_ms: Annotated[int, shown("used", as_="time", unit="ms", empty="never", column=True)]
    """The time at which a page last used it; 0 for never."""
    proven: Annotated[bool, shown("proven", column=True)]
    """True if a login with it was seen to work."""


class PasskeyList(msgspec.Struct, frozen=True, kw_only=True):
    """The passkeys of this node, by site."""

    passkeys: Annotated[
        tuple[ShownPasskey, ...],
        shown("passkeys", empty="no passkeys yet: `trailmesh capsule login URL --with FILE --register-passkey`"),
    ]


class RemovedPasskey(msgspec.Struct, frozen=True, kw_only=True):
    """A passkey that was removed."""

    id: Annotated[str, shown("id")]
    site: Annotated[str, shown("site")]


LIST: Final = Verb(
    name="passkey.list",
    command="capsule passkey ls",
    takes=NoParams,
    gives=PasskeyList,
    help="List the passkeys that this node has registered: site, account, when they were made and used, never a key.",
    callers=OWNER_ONLY,
    read_only=True,
    row=None,
)
REMOVE: Final = Verb(
    name="passkey.remove",
    command="capsule passkey rm",
    takes=PasskeyParams,
    gives=RemovedPasskey,
    help="""Destroy a passkey of this node. Nothing brings it back.

    The site still lists it: remove it there too. If it is the only way to log in, add another one on the site first.
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(subject=lambda given: given.passkey),
)

VERBS: Final[tuple[Verb, ...]] = (LIST, REMOVE)
