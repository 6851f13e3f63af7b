"""The form of an entry that allows a request which is not GET (``--allow``, ``policy.allow_requests``)."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Annotated, Final

import msgspec

ALLOWED_REQUEST_PATTERN: Final = r"^(?![Ww][Ss]{1,2} )[A-Za-z]+ +(https?://\S|\*)\S*\Z"

AllowedRequest = Annotated[str, msgspec.Meta(pattern=ALLOWED_REQUEST_PATTERN)]
"""``METHOD URL-glob``. An entry that no request can match is refused where it is given: it would allow nothing, and say nothing.

So is ``WS``: what is sent over a WebSocket cannot be judged message by message, and none is ever opened."""
_USER_INFO: Final = re.compile(r"^(https?://)[^/?#@]*@", re.IGNORECASE)


def allows(entry: str, method: str, url: str) -> bool:
    """Whether ``entry`` allows a request. method: in upper case."""
    verb, _, glob = entry.partition(" ")
    # Brackets are those of an IPv6 host here, not a set of characters.
    glob = glob.strip().replace("[", "[[]")
    # A script may send a name and a password in the address. That is the same request, and nobody writes them into an entry.
    plain = _USER_INFO.sub(r"\1", url.partition("#")[0])
    return verb.upper() == method and bool(glob) and fnmatchcase(plain, glob)
