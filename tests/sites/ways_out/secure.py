"""Ways out that need a page over TLS, or a person's gesture. The words are those of ``rows``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

OVER_TLS: Final = frozenset(
    {
        "COEP report",
        "CSP report-to",
        "Integrity-Policy report",
        "NEL",
        "PaymentRequest",
        "Permissions-Policy report",
        "Report-To",
        "XML with a transformation",
        "background fetch",
        "fetchLater",
        "fetchLater POST",
        "link compression-dictionary",
        "speculation of links",
        "speculation prefetch",
        "speculation prerender",
    }
)
"""Rows of ``rows`` that lead somewhere only, or only surely, from a page over TLS."""


ALONE: Final = frozenset({"NEL", "Report-To", "background fetch"})
"""Rows of ``rows`` that work over TLS, but not in a frame beside others: where an origin reports is said once for all of it."""


AT_LEISURE: Final = frozenset({"speculation of links", "speculation prefetch", "speculation prerender"})
"""Rows of ``rows`` that Chromium takes when it has nothing better to do: on a busy machine only now and then."""


class Secure(NamedTuple):
    """One way."""

    html: str
    headers: Mapping[str, str] = {}
    top: bool = False
    """Whether it works only in a page of its own, not in a frame."""
    press: bool = False
    """Whether it is tried as the button of the page is pressed."""


def _button(code: str) -> str:
    return f'<button onclick="{code}">Go</button>'


def _provider(more: str) -> str:
    return f"identity: {{{more}providers: [{{configURL: 'TO', clientId: '1'}}]}}"


_ACTIVE: Final = "mode: 'active', "
_ENDS: Final = 'default="TO", x="TO"'

SECURE: Final[Mapping[str, Secure]] = {
    "manifest of related applications": Secure(
        "<link rel=manifest href=TO><script>navigator.getInstalledRelatedApps()</script>", top=True
    ),
    "FedCM after a click": Secure(_button(f"navigator.credentials.get({{{_provider('')}}})"), press=True),
    "FedCM active after a click": Secure(_button(f"navigator.credentials.get({{{_provider(_ACTIVE)}}})"), press=True),
    "PaymentRequest after a click": Secure(
        _button(
            "new PaymentRequest([{supportedMethods: 'TO'}], {total: {label: 'x', amount: {currency: 'EUR', value: '1'}}}).show()"
        ),
        press=True,
    ),
    "file of a click on a link": Secure("<a download href=TO><button>Go</button></a>", press=True),
    "ping of a click on a link": Secure("<a ping=TO href=#x><button>Go</button></a>", press=True),
    "Document-Policy report of a script": Secure(
        "<script>const x = new XMLHttpRequest(); x.open('GET', '/plain/', false); x.send()</script>",
        {"Document-Policy": "sync-xhr=?0;report-to=x", "Reporting-Endpoints": _ENDS},
        top=True,
    ),
    "Permissions-Policy report-only": Secure(
        "<script>navigator.geolocation.getCurrentPosition(() => 0)</script>",
        {"Permissions-Policy-Report-Only": "geolocation=();report-to=x", "Reporting-Endpoints": _ENDS},
    ),
    "deprecation report of a request": Secure(
        "<script>const x = new XMLHttpRequest(); x.open('GET', '/plain/', false); x.send()</script>",
        {"Reporting-Endpoints": _ENDS},
        top=True,
    ),
    "COEP report-only": Secure(
        "<iframe src=/plain/></iframe><img src=https://AT/x.png>",
        {"Cross-Origin-Embedder-Policy-Report-Only": 'require-corp; report-to="x"', "Reporting-Endpoints": _ENDS},
    ),
    "WebSocket over TLS": Secure("<script>new WebSocket('WS')</script>"),
    "EventSource over TLS": Secure("<script>new EventSource('TO')</script>"),
    "fetch over TLS": Secure(
        "<script>fetch('TO', {method: 'POST', mode: 'no-cors', keepalive: true, body: 'x'})</script>"
    ),
    "picture over TLS": Secure("<img src=TO>"),
    "beacon over TLS": Secure("<script>navigator.sendBeacon('TO', 'x')</script>"),
    "frame over TLS": Secure("<iframe src=TO></iframe>"),
    "redirect over TLS": Secure("<script>fetch('GO', {mode: 'no-cors'})</script>"),
    "shared worker over TLS": Secure("<script>new SharedWorker('FILE')</script>"),
}
"""The last ones stand for those that the site without TLS tries."""
