"""The ways out of a page. Each is tried with an address of another origin, and with a destructive one of its own.

In the texts ``TO`` is the address, ``WS`` the same for a WebSocket, ``TLS`` the same with https, ``AT`` its host and port, ``GO``
an address of the site that redirects there, ``FILE`` that of the script of the row, served by the site.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from tests.sites.ways_out.secure import ALONE, OVER_TLS, SECURE


class Row(NamedTuple):
    """One way."""

    name: str
    html: str
    script: str = ""
    """What ``FILE`` holds."""
    headers: Mapping[str, str] = {}
    """Of the page."""
    top: bool = False
    """Whether it works only in a page of its own, not in a frame."""
    kind: str = "text/html"
    elsewhere: bool = True
    """Whether it is tried with another origin."""
    same: bool = True
    """Whether it is tried with the page's own."""
    tls: bool = False
    """Whether its page comes over TLS."""
    press: bool = False
    """Whether it is tried as the button of the page is pressed."""


def _run(code: str) -> str:
    return f"<body><script>{code}</script>"


_HTML: Final = {
    "img src": "<img src=TO>",
    "img srcset": "<img srcset='TO 1x'>",
    "picture source": "<picture><source srcset=TO><img></picture>",
    "input image": "<input type=image src=TO>",
    "video src": "<video preload=auto src=TO></video>",
    "video poster": "<video poster=TO></video>",
    "video source": "<video preload=auto><source src=TO></video>",
    "audio src": "<audio preload=auto src=TO></audio>",
    "object data": "<object data=TO></object>",
    "embed src": "<embed src=TO>",
    "iframe src": "<iframe src=TO></iframe>",
    "frame of a frameset": "<frameset><frame src=TO></frameset>",
    "script src": "<script src=TO></script>",
    "script module": "<script type=module src=TO></script>",
    "script async": "<script async src=TO></script>",
    "import in a module": "<script type=module>import 'TO'</script>",
    "import()": "<script>import('TO').catch(() => 0)</script>",
    "import map": '<script type=importmap>{"imports": {"x": "TO"}}</script><script type=module>import "x"</script>',
    "import of JSON": "<script type=module>import x from 'TO' with {type: 'json'}</script>",
    "import of CSS": "<script type=module>import x from 'TO' with {type: 'css'}</script>",
    "link modulepreload": "<link rel=modulepreload href=TO>",
    "link stylesheet": "<link rel=stylesheet href=TO>",
    "link alternate stylesheet": "<link rel='alternate stylesheet' title=x href=TO>",
    "link prefetch": "<link rel=prefetch href=TO>",
    "link preload image": "<link rel=preload as=image href=TO>",
    "link preload font": "<link rel=preload as=font crossorigin href=TO>",
    "link preload fetch": "<link rel=preload as=fetch crossorigin href=TO>",
    "link preload imagesrcset": "<link rel=preload as=image imagesrcset='TO 1x'>",
    "link compression-dictionary": "<link rel=compression-dictionary href=TO>",
    "style @import": "<style>@import 'TO'</style>",
    "style background": "<p style='background: url(TO)'>x",
    "style cursor": "<p style='cursor: url(TO), auto'>x",
    "style mask": "<p style='mask-image: url(TO)'>x",
    "style -webkit-mask-box-image": "<p style='-webkit-mask-box-image: url(TO)'>x",
    "style list-style": "<ul style='list-style-image: url(TO)'><li>x</ul>",
    "style border-image": "<p style='border: 1px solid; border-image-source: url(TO)'>x",
    "style content": "<style>p::before { content: url(TO) }</style><p>x",
    "style image-set": "<p style='background: image-set(\"TO\" 1x)'>x",
    "style cross-fade": "<p style='background: -webkit-cross-fade(url(TO), url(TO), 50%)'>x",
    "style shape-outside": "<p style='float: left; width: 9px; height: 9px; shape-outside: url(TO)'>x",
    "style filter": "<p style='filter: url(TO#f)'>x",
    "style clip-path": "<p style='clip-path: url(TO#f)'>x",
    "style font-face": "<style>@font-face { font-family: x; src: url(TO) } p { font-family: x }</style><p>x",
    "style attribute of a selector": "<style>input[value^=a] { background: url(TO) }</style><input value=abc>",
    "body background": "<body background=TO>",
    "table background": "<table background=TO><tr><td>x</table>",
    "svg image": "<svg><image href=TO /></svg>",
    "svg image xlink": "<svg><image xlink:href=TO /></svg>",
    "svg use": "<svg><use href='TO#x' /></svg>",
    "svg feImage": "<svg><filter id=f><feImage href=TO /></filter><rect width=9 height=9 filter=url(#f) /></svg>",
    "svg script": "<svg><script href=TO></script></svg>",
    "svg mask": "<svg><rect width=9 height=9 mask=url(TO#m) /></svg>",
    "frame of srcdoc": "<iframe srcdoc='<img src=TO>'></iframe>",
    "frame of data": "<iframe src='data:text/html,<img src=TO>'></iframe>",
    "frame with javascript:": "<iframe src='javascript:&quot;<img src=TO>&quot;'></iframe>",
    "sandboxed frame": "<iframe sandbox src=TO></iframe>",
    "credentialless frame": "<iframe credentialless src=TO></iframe>",
    "meta refresh": "<meta http-equiv=refresh content='0; url=TO'>",
    "meta refresh after a script": "<script>document.write('<meta http-equiv=refresh content=\"0; url=TO\">')</script>",
    "ping of a link": "<a id=a href=#x ping=TO>x</a><script>a.click()</script>",
    "ping of an area": "<map name=m><area id=a href=#x ping=TO></map><img usemap=#m><script>a.click()</script>",
    "link that is clicked": "<a id=a href=TO>x</a><script>a.click()</script>",
    "link to download": "<a id=a download href=TO>x</a><script>a.click()</script>",
    "link to a window": "<a id=a target=_blank href=TO>x</a><script>a.click()</script>",
    "link of svg": "<svg><a id=a href=TO><text>x</text></a></svg><script>a.dispatchEvent(new MouseEvent('click'))</script>",
    "form get": "<form action=TO><input name=q></form><script>document.forms[0].submit()</script>",
    "form post": "<form method=post action=TO></form><script>document.forms[0].submit()</script>",
    "form post multipart": "<form method=post enctype=multipart/form-data action=TO></form><script>document.forms[0].submit()"
    "</script>",
    "form post text": "<form method=post enctype=text/plain action=TO></form><script>document.forms[0].submit()</script>",
    "form with formaction": "<form method=post><button formaction=TO>x</button></form><script>"
    "document.forms[0].requestSubmit(document.querySelector('button'))</script>",
    "form to a window": "<form method=post target=_blank action=TO></form><script>document.forms[0].submit()</script>",
    "form to a frame": "<iframe name=f></iframe><form method=post target=f action=TO></form><script>"
    "document.forms[0].submit()</script>",
    "base href": "<base href=TO><img src=''><img src='?x'>",
    "redirect of a picture": "<img src=GO>",
    "redirect of a script": "<script src=GO></script>",
    "redirect of a style": "<link rel=stylesheet href=GO>",
    "redirect of a frame": "<iframe src=GO></iframe>",
    "redirect of a font": "<style>@font-face { font-family: x; src: url(GO) } p { font-family: x }</style><p>x",
    "redirect of a medium": "<video preload=auto src=GO></video>",
    "redirect of a prefetch": "<link rel=prefetch href=GO>",
    "redirect of a form": "<form method=post action='GO?s=307'></form><script>document.forms[0].submit()</script>",
}
_SCRIPTS: Final = {
    "fetch": "fetch('TO')",
    "fetch no-cors": "fetch('TO', {mode: 'no-cors'})",
    "fetch keepalive": "fetch('TO', {mode: 'no-cors', keepalive: true})",
    "fetch HEAD": "fetch('TO', {method: 'HEAD'})",
    "fetch POST": "fetch('TO', {method: 'POST', mode: 'no-cors', body: 'x'})",
    "fetch POST keepalive": "fetch('TO', {method: 'POST', mode: 'no-cors', body: 'x', keepalive: true})",
    "fetch PUT": "fetch('TO', {method: 'PUT', body: 'x'})",
    "fetch DELETE": "fetch('TO', {method: 'DELETE'})",
    "fetch OPTIONS": "fetch('TO', {method: 'OPTIONS'})",
    "fetch of an own method": "fetch('TO', {method: 'PURGE'})",
    "fetch with an overridden method": "fetch('TO', {headers: {'X-HTTP-Method-Override': 'DELETE'}})",
    "fetch with topics": "fetch('TO', {browsingTopics: true})",
    "fetch with attribution": "fetch('TO', {attributionReporting: {eventSourceEligible: true, triggerEligible: false}})",
    "fetch of a redirect": "fetch('GO', {mode: 'no-cors'})",
    "fetch POST of a redirect": "fetch('GO?s=307', {method: 'POST', mode: 'no-cors', body: 'x'})",
    "fetchLater": "fetchLater('TO', {activateAfter: 0})",
    "fetchLater POST": "fetchLater('TO', {method: 'POST', body: 'x', activateAfter: 0})",
    "XHR": "const x = new XMLHttpRequest(); x.open('GET', 'TO'); x.send()",
    "XHR at once": "const x = new XMLHttpRequest(); x.open('GET', 'TO', false); x.send()",
    "XHR POST": "const x = new XMLHttpRequest(); x.open('POST', 'TO'); x.send('x')",
    "beacon": "navigator.sendBeacon('TO', 'x')",
    "beacon of a blob": "navigator.sendBeacon('TO', new Blob(['x'], {type: 'text/plain'}))",
    "beacon at the end": "onpagehide = () => navigator.sendBeacon('TO', 'x'); location = '/end'",
    "fetch at the end": "onpagehide = () => fetch('TO', {mode: 'no-cors', keepalive: true, method: 'POST'}); location = '/end'",
    "new Image": "new Image().src = 'TO'",
    "new Audio": "new Audio('TO').load()",
    "FontFace": "new FontFace('x', 'url(TO)').load()",
    "CSSStyleSheet": "document.body.append('x'); const s = new CSSStyleSheet(); s.replaceSync('body { background: url(TO) }'); "
    "document.adoptedStyleSheets = [s]",
    "innerHTML": "const d = document.createElement('div'); d.innerHTML = '<img src=TO>'",
    "setHTMLUnsafe": "document.body.setHTMLUnsafe('<img src=TO>')",
    "shadow root": "document.body.attachShadow({mode: 'closed'}).innerHTML = '<img src=TO>'",
    "document.write": "document.write('<img src=TO>')",
    "document.write in a frame": "const f = document.createElement('iframe'); document.body.append(f); "
    "f.contentDocument.write('<img src=TO>')",
    "frame of a blob": "const f = document.createElement('iframe'); document.body.append(f); "
    "f.src = URL.createObjectURL(new Blob(['<img src=TO>'], {type: 'text/html'}))",
    "fetch of an empty frame": "const f = document.createElement('iframe'); document.body.append(f); f.contentWindow.fetch('TO')",
    "location": "location = 'TO'",
    "location.replace": "location.replace('TO')",
    "navigation.navigate": "navigation.navigate('TO')",
    "window.open": "open('TO')",
    "window.open noopener": "open('TO', '_blank', 'noopener')",
    "window.open, then its location": "const w = open('about:blank'); w.location = 'TO'",
    "window.open, then written": "const w = open(''); w.document.write('<img src=TO>')",
    "window.open, then fetch": "const w = open(''); w.fetch('TO')",
    "EventSource": "new EventSource('TO')",
    "EventSource of a redirect": "new EventSource('GO')",
    "WebSocket": "new WebSocket('WS')",
    "WebSocketStream": "new WebSocketStream('WS')",
    "WebTransport": "new WebTransport('TLS').ready.catch(() => 0)",
    "WebTransport with hashes": "new WebTransport('TLS', {serverCertificateHashes: [{algorithm: 'sha-256', "
    "value: new Uint8Array(32)}]}).ready.catch(() => 0)",
    **{
        f"WebRTC {name}": "const p = new RTCPeerConnection({iceServers: [{urls: '"
        + url
        + "', username: 'u', credential: 'c'}]}); "
        "p.createDataChannel('x'); p.createOffer().then(o => p.setLocalDescription(o))"
        for name, url in {
            "STUN": "stun:AT",
            "TURN over UDP": "turn:AT?transport=udp",
            "TURN over TCP": "turn:AT?transport=tcp",
            "TURN over TLS": "turns:AT?transport=tcp",
        }.items()
    },
    "WebRTC candidate": "const p = new RTCPeerConnection(); p.createDataChannel('x'); (async () => { const q = new "
    "RTCPeerConnection(); await p.setLocalDescription(await p.createOffer()); await q.setRemoteDescription(p.localDescription); "
    "await q.setLocalDescription(await q.createAnswer()); await p.setRemoteDescription(q.localDescription); const [h, n] = "
    "'AT'.split(':'); await p.addIceCandidate({candidate: `candidate:1 1 udp 2122260223 ${h} ${n} typ host`, sdpMid: '0', "
    "sdpMLineIndex: 0}) })()",
    "worker of the address": "new Worker('TO')",
    "worker of a redirect": "new Worker('GO')",
    "shared worker of the address": "new SharedWorker('TO')",
    "paint worklet": "CSS.paintWorklet.addModule('TO')",
    "audio worklet": "new OfflineAudioContext(1, 1, 44100).audioWorklet.addModule('TO')",
    "service worker of the address": "navigator.serviceWorker.register('TO')",
    "PaymentRequest": "new PaymentRequest([{supportedMethods: 'TO'}], {total: {label: 'x', amount: {currency: 'EUR', value: '1'}}})"
    ".canMakePayment()",
    "FedCM disconnect": "IdentityCredential.disconnect({configURL: 'TO', clientId: '1', accountHint: '1'})",
    "background fetch": "navigator.serviceWorker.register('FILE', {scope: '/row/'}).then(() => navigator.serviceWorker.ready)"
    ".then(r => r.backgroundFetch.fetch('x', 'TO'))",
}
_WORKERS: Final = {
    "fetch": "fetch('TO', {mode: 'no-cors', method: 'POST'})",
    "importScripts": "importScripts('TO')",
    "XHR": "const x = new XMLHttpRequest(); x.open('GET', 'TO'); x.send()",
    "EventSource": "new EventSource('TO')",
    "WebSocket": "new WebSocket('WS')",
    "WebTransport": "new WebTransport('TLS').ready.catch(() => 0)",
    "worker": "new Worker(URL.createObjectURL(new Blob([\"fetch('TO', {mode: 'no-cors'})\"])))",
    "import()": "import('TO').catch(() => 0)",
    "FontFace": "new FontFace('x', 'url(TO)').load()",
}
_REPORTS: Final = 'default="TO", x="TO"'
_HEADERS: Final[dict[str, tuple[dict[str, str], str]]] = {
    "Refresh": ({"Refresh": "0; url=TO"}, "x"),
    "Link preload": ({"Link": "<TO>; rel=preload; as=image"}, "x"),
    "Link modulepreload": ({"Link": "<TO>; rel=modulepreload"}, "x"),
    "Link prefetch": ({"Link": "<TO>; rel=prefetch"}, "x"),
    "CSP report-uri": ({"Content-Security-Policy": "img-src 'none'; report-uri TO"}, "<img src=/x.png>"),
    "CSP report-only": ({"Content-Security-Policy-Report-Only": "img-src 'none'; report-uri TO"}, "<img src=/x.png>"),
    "CSP report-to": (
        {"Content-Security-Policy": "img-src 'none'; report-to x", "Reporting-Endpoints": _REPORTS},
        "<img src=/x.png>",
    ),
    "Report-To": (
        {
            "Content-Security-Policy": "img-src 'none'; report-to x",
            "Report-To": '{"group": "x", "max_age": 99, "endpoints": [{"url": "TO"}]}',
        },
        "<img src=/x.png>",
    ),
    "Permissions-Policy report": (
        {"Permissions-Policy": "geolocation=();report-to=x", "Reporting-Endpoints": _REPORTS},
        "<script>navigator.geolocation.getCurrentPosition(() => 0)</script>",
    ),
    "Integrity-Policy report": (
        {"Integrity-Policy": "blocked-destinations=(script), endpoints=(x)", "Reporting-Endpoints": _REPORTS},
        "<script src=/x.js></script>",
    ),
    "NEL": (
        {
            "Report-To": '{"group": "n", "max_age": 99, "endpoints": [{"url": "TO"}]}',
            "NEL": '{"report_to": "n", "max_age": 99, "success_fraction": 1.0}',
        },
        "<img src=/x.png>",
    ),
    "COEP report": (
        {"Cross-Origin-Embedder-Policy": 'require-corp; report-to="x"', "Reporting-Endpoints": _REPORTS},
        "<iframe src=/x></iframe>",
    ),
    "Set-Login and status": ({"Set-Login": "logged-in"}, "<script>fetch('TO')</script>"),
}


def _rules(kind: str, more: str) -> str:
    return f'<script type=speculationrules>{{"{kind}": [{{{more}, "eagerness": "immediate"}}]}}</script>'


_TOP: Final[dict[str, tuple[dict[str, str], str]]] = {
    "link icon": ({}, "<link rel=icon href=TO>"),
    "speculation prefetch": ({}, _rules("prefetch", '"urls": ["TO"]')),
    "speculation prerender": ({}, _rules("prerender", '"urls": ["TO"]')),
    "speculation of links": ({}, _rules("prefetch", '"where": {"href_matches": "/*"}') + "<a href=TO>x</a>"),
    "Refresh of the page": ({"Refresh": "0; url=TO"}, "x"),
    "location of the page": ({}, _run("location = 'TO'")),
    "form of the page": ({}, "<form method=post action=TO></form><script>document.forms[0].submit()</script>"),
}


_OWN_ONLY: Final = frozenset(
    {
        "XML with a transformation",
        "background fetch",
        "speculation of links",
        "style filter",
        "svg use",
        "service worker of the address",
        "shared worker of the address",
        "worker of the address",
        "worker of a redirect",
    }
)
"""Ways that the web has within one origin only."""


def _is_other(name: str) -> bool:
    """Whether a way speaks a protocol that a site for pages does not."""
    return name.startswith(("WebRTC", "WebTransport", "ftp:", "passkey"))


def _all() -> Iterator[Row]:
    for name, html in _HTML.items():
        yield Row(name, html, elsewhere=name not in _OWN_ONLY)
    for name, code in _SCRIPTS.items():
        yield Row(name, _run(code), elsewhere=name not in _OWN_ONLY, same=not _is_other(name))
    for name, code in _WORKERS.items():
        yield Row(f"{name} of a worker", _run("new Worker('FILE')"), code, same=not _is_other(name))
    for name in ("fetch", "WebSocket", "importScripts"):
        yield Row(f"{name} of a shared worker", _run("new SharedWorker('FILE')"), _WORKERS[name])
        yield Row(f"{name} of a service worker", _run("navigator.serviceWorker.register('FILE')"), _WORKERS[name])
    yield from (
        Row(f"{name} of a module worker", _run("new Worker('FILE', {type: 'module'})"), code)
        for name, code in {"import": "import 'TO'", "fetch": _WORKERS["fetch"]}.items()
    )
    yield from (Row(name, html, headers=headers) for name, (headers, html) in _HEADERS.items())
    yield Row("XML with a style", '<?xml version="1.0"?><?xml-stylesheet href="TO"?><x>x</x>', kind="text/xml")
    yield Row(
        "XML with a transformation",
        '<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="TO"?><x/>',
        kind="text/xml",
    )
    svg = '<svg xmlns="http://www.w3.org/2000/svg"><image href="TO"/></svg>'
    yield Row("SVG with a picture", svg, kind="image/svg+xml")
    yield from (Row(name, html, headers=headers, top=True) for name, (headers, html) in _TOP.items())


def _secured() -> Iterator[Row]:
    for row in _all():
        yield row._replace(
            tls=row.name in OVER_TLS,
            top=row.top or row.name in ALONE,
            elsewhere=row.elsewhere and row.name not in _OWN_ONLY,
        )
    for name, way in SECURE.items():
        script = _WORKERS["fetch"] if "FILE" in way.html else ""
        yield Row(name, way.html, script, way.headers, way.top or way.press, tls=True, press=way.press)


ROWS: Final = tuple(_secured())
