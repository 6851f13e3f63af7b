"""The verb that writes a login in clear, for a Playwright script."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from node.verbs.capsules.capsule import CapsuleParams
from node.verbs.shown import shown
from node.verbs.verb import OWNER_ONLY, AuditedPart, Verb, option

UNSEALED_WARNING: Final = (
    "The file is the login in clear: whoever reads it is logged in. From now on no policy, count, expiry or revocation binds this"
    " copy. Only a logout on the site ends it: `trailmesh capsule revoke --kill`."
)


class UnsealParams(CapsuleParams, frozen=True, kw_only=True):
    """``capsule.unseal``"""

    out: Annotated[
        str,
        option("Where to write it: a file that is not there yet.", metavar="FILE", reads="path", max_length=4_096),
    ]


class UnsealedCapsule(msgspec.Struct, frozen=True, kw_only=True):
    """A login that was written in clear. This answer contains no secret."""

    id: Annotated[str, shown("id")]
    name: Annotated[str, shown("name")]
    generation: Annotated[int, shown("generation")]
    out: Annotated[str, shown("wrote in clear")]
    bytes: Annotated[int, shown("size", as_="bytes", unit="bytes")]
    cookies: Annotated[int, shown("cookies")]
    origins: Annotated[tuple[str, ...], shown("storage of")]
    """Origins whose localStorage or IndexedDB is in the file."""
    left_out: Annotated[tuple[str, ...], shown("left out", as_="lines")]
    """Names of the state that Playwright cannot load from a file, and of the state that the capture could not take."""
    uses_left: Annotated[int, shown("left", unit="use")]
    warning: Annotated[str, shown("warning")]
    """The consequences of writing the login in clear."""


UNSEAL: Final = Verb(
    name="capsule.unseal",
    command="capsule unseal",
    takes=UnsealParams,
    gives=UnsealedCapsule,
    help="""Write the login of a capsule in clear, as a storage state for a Playwright script.

    Whoever reads the file is logged in. From now on no policy, count, expiry or revocation binds this copy: only a logout on the
    site ends it, as `capsule revoke --kill` does it. Prefer to name the capsule where the work is recorded or replayed.

    Only a capsule that this node captured can be unsealed, because the policy of a peer binds this node. Unsealing counts as a
    use. The file must not exist yet, and only its owner may read it. sessionStorage and the storage of frames cannot be given in a
    file; the answer names what is left out.

    \b
    Example:
      trailmesh capsule unseal shop --out state.json
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(subject=lambda given: given.capsule),
)
VERBS: Final[tuple[Verb, ...]] = (UNSEAL,)
