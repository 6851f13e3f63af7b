"""Translates Playwright's exceptions to ``MeshError``.

Their texts can hold typed values and addresses, so no text is passed on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeoutError

from protocol.errors import MeshError

_GONE: Final = re.compile(
    r"target closed|has been closed|has crashed|target crashed|browser.*disconnected|connection closed|websocket closed"
    r"|page closed|session closed|pipe closed",
    re.IGNORECASE,
)
_SELECTOR: Final = re.compile(
    r"(?:\w*Error: )*"
    r"((?:Unexpected |Unknown |Invalid regular |\"[\w-]+\" engine |Failed to execute '(?:querySelectorAll|evaluate)' )[^\n]*)"
)
_SELECTOR_CHARS_MAX: Final = 200
_NET: Final = re.compile(r"net::ERR_[A-Z0-9_]+")

_REASONS: Final = {
    "ERR_ABORTED": "it was given up, by the page or by a download (ERR_ABORTED)",
    "ERR_HTTP_RESPONSE_CODE_FAILURE": "the site answered with an error and without a page",
    "ERR_INVALID_HTTP_RESPONSE": "what the site answered is no HTTP",
    "ERR_ADDRESS_UNREACHABLE": "the address cannot be reached",
    "ERR_CERT_AUTHORITY_INVALID": "nobody who is trusted has signed the certificate of the site",
    "ERR_CERT_COMMON_NAME_INVALID": "the certificate is that of another host",
    "ERR_CERT_DATE_INVALID": "the certificate of the site has expired, or is not valid yet",
    "ERR_CONNECTION_CLOSED": "the site closed the connection",
    "ERR_CONNECTION_REFUSED": "the connection was refused: no server listens at this address and port",
    "ERR_CONNECTION_RESET": "the connection was cut",
    "ERR_CONNECTION_TIMED_OUT": "the site did not answer",
    "ERR_EMPTY_RESPONSE": "the site closed the connection without an answer",
    "ERR_INTERNET_DISCONNECTED": "this machine has no network",
    "ERR_NAME_NOT_RESOLVED": "no host has this name",
    # A launched browser connects through the tunnel, so it reports all these failures by this name.
    "ERR_SOCKS_CONNECTION_FAILED": "no connection: no server listens at this address and port, or no host has this name",
    "ERR_SSL_PROTOCOL_ERROR": "the site does not speak TLS at this port",
    "ERR_TOO_MANY_REDIRECTS": "the site answers with one redirect after another, without end",
    "ERR_TUNNEL_CONNECTION_FAILED": "no connection to the host and port came about",
}
"""Words for Chromium's names of network failures. Other failures keep their names."""

_ANSWERED: Final = frozenset(
    {
        "ERR_ABORTED",
        "ERR_CONTENT_DECODING_FAILED",
        "ERR_CONTENT_LENGTH_MISMATCH",
        "ERR_HTTP_RESPONSE_CODE_FAILURE",
        "ERR_INCOMPLETE_CHUNKED_ENCODING",
        "ERR_INVALID_CHUNKED_ENCODING",
        "ERR_INVALID_HTTP_RESPONSE",
        "ERR_INVALID_REDIRECT",
        "ERR_INVALID_RESPONSE",
        "ERR_RESPONSE_HEADERS_MULTIPLE_CONTENT_DISPOSITION",
        "ERR_RESPONSE_HEADERS_MULTIPLE_CONTENT_LENGTH",
        "ERR_RESPONSE_HEADERS_MULTIPLE_LOCATION",
        "ERR_RESPONSE_HEADERS_TOO_BIG",
        "ERR_RESPONSE_HEADERS_TRUNCATED",
        "ERR_TOO_MANY_REDIRECTS",
        "ERR_UNSAFE_REDIRECT",
    }
)
"""Failures after an answer: the site was reached but sent no page."""


def is_gone(error: BaseException) -> bool:
    """True if ``error`` means that the page, the browser or the connection to it no longer exists."""
    if type(error).__name__ == "TargetClosedError":
        return True
    return isinstance(error, (PlaywrightError, ConnectionError)) and bool(_GONE.search(str(error)))


def net_code(error: BaseException) -> str:
    """Chromium's name for a network failure (``ERR_CONNECTION_REFUSED``); empty if there is none."""
    found = _NET.search(str(error))
    return found[0].removeprefix("net::") if found else ""


def unreadable(error: PlaywrightError) -> str:
    """The part of a selector that Playwright or Chromium cannot read, in its words, which repeat only the selector; else empty."""
    found = _SELECTOR.match(error.message.partition(": ")[2])
    return found[1][:_SELECTOR_CHARS_MAX] if found else ""


@contextmanager
def translated(otherwise: str, doing: str, late: str = "browser.timeout") -> Iterator[None]:
    """Run a block; foreign exceptions leave it as ``browser.crashed``, ``late`` or ``otherwise``."""
    try:
        yield
    except (PlaywrightTimeoutError, TimeoutError):
        raise MeshError(late, f"{doing} took too long") from None
    except (PlaywrightError, OSError) as error:
        if is_gone(error):
            raise MeshError("browser.crashed", f"the browser disappeared while {doing}") from None
        reason = net_code(error)
        why = _REASONS.get(reason, reason)
        if otherwise == "browser.navigation" and reason in _ANSWERED:
            otherwise = "browser.no_page"
        raise MeshError(otherwise, f"{doing} failed{f': {why}' if why else ''}", reason=reason) from None


def hiding(name: str) -> MeshError:
    """The error for a page in which a form's field hides the DOM property ``name``."""
    return MeshError("browser.unreadable", f"a form of the page has a field named “{name}”", name=name)
