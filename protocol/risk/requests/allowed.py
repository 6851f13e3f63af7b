"""Parses entries that allow a request other than GET (``--allow``, ``policy.allow_requests``)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated, Final

import msgspec

_HOST: Final = r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9*_-]+(?:\.[A-Za-z0-9*_-]+)*)"
# A browser writes no other character into an address, and resolves dots between slashes.
_PATH: Final = r"(?!(?:[^?]*/)?\.{1,2}(?:[/?]|\Z))(?![^?]*\*\*(?!\Z))(?![^?]*[^/*?]\*\*)[!$-;=?-\[\]_a-z|~^]*"
ALLOWED_REQUEST_PATTERN: Final = rf"^(?!(?:[Ww][Ss][Ss]|CONNECT|TRACE|TRACK) |[Ww][Ss] +\*\Z)[A-Za-z]+ +(?:\*|https?://{_HOST}(?::(?:[1-9][0-9]{{0,4}}|\*))?/{_PATH})\Z"

AllowedRequest = Annotated[str, msgspec.Meta(pattern=ALLOWED_REQUEST_PATTERN)]
"""``METHOD address``, or ``METHOD *`` for every address.

In a host ``*`` stands for text within one label, in a path for text without ``/``, and after a ``?`` for any text; ``/**`` at the
end stands for the rest of the path. An entry without ``?`` fits every query, because reports about refused requests have no query.
``WS address`` allows a WebSocket with all its messages; the address is written like that of a page, with https for ``wss``. There
is no ``WS *``.

An entry that no request can match is refused when it is given, because it would silently allow nothing.
"""
_ENTRY: Final = re.compile(r"(https?)://(\[[^\]]*\]|[^/:]*)(?::([0-9*]+))?(/[^?]*)(?:\?(.*))?", re.DOTALL)
_USER_INFO: Final = re.compile(r"^(https?://)[^/?#@]*@", re.IGNORECASE)
_USUAL_PORT: Final = {"http": "80", "https": "443"}


def allows(entry: str, method: str, url: str) -> bool:
    """True if ``entry`` allows a request. method: in upper case."""
    verb, _, glob = entry.partition(" ")
    if verb.upper() != method:
        return False
    # A script may put a name and a password into the address. That is the same request, and nobody writes them into an entry.
    plain = _USER_INFO.sub(r"\1", url.partition("#")[0])
    fits = _compiled(glob.strip())
    return fits is not None and fits.fullmatch(plain) is not None


@lru_cache(maxsize=256)
def _compiled(glob: str) -> re.Pattern[str] | None:
    """The addresses named by the second part of an entry; None if there are none."""
    if glob == "*":
        return re.compile(r"(?i:https?://).*", re.DOTALL)
    entry = _ENTRY.fullmatch(glob)
    if entry is None:
        return None
    scheme, host, port, path, query = entry.groups()
    usual = _USUAL_PORT[scheme]
    ending = {None: f"(?::{usual})?", usual: f"(?::{usual})?", "*": "(?::[0-9]+)?"}.get(port, f":{port}")
    rest = path.endswith("/**")
    address = _glob(path[:-2] if rest else path, "[^/?]") + (r"[^?]*" if rest else "")
    asked = r"(?:\?.*)?" if query is None else r"\?" + _glob(query, ".")
    return re.compile(f"(?i:{scheme}://{_glob(host, '[a-z0-9_-]')}{ending}){address}{asked}", re.DOTALL)


def _glob(text: str, one: str) -> str:
    """A regular expression for text in which ``*`` stands for any number of ``one``.

    Each chunk except the last takes the first place that fits and keeps it, because the later chunks fit after it if they fit at
    all. So matching takes linear time.
    """
    first, *chunks = [re.escape(chunk) for chunk in re.split(r"\*+", text)]
    if not chunks:
        return first
    return first + "".join(f"(?>{one}*?{chunk})" for chunk in chunks[:-1]) + f"{one}*{chunks[-1]}"
