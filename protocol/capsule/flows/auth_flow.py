"""Finds the kinds of login of a site, and their weaknesses, in the signs from one look at its page. It sends nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Final, Literal
from urllib.parse import parse_qsl, urlsplit

import msgspec

from protocol.trust.origin import origin_of

Kind = Literal["form", "sso", "passkey", "code", "captcha", "device-bound", "basic"]
_Text = Annotated[str, msgspec.Meta(max_length=4_096)]
_Name = Annotated[str, msgspec.Meta(max_length=256)]


class FormSign(msgspec.Struct, frozen=True, kw_only=True):
    """A form, or another element with fields for a login."""

    action: _Text = ""
    """Absolute."""
    method: _Name = "get"
    fields: Annotated[tuple[tuple[_Name, _Name, _Name], ...], msgspec.Meta(max_length=100)] = ()
    """Type, name and ``autocomplete`` of each field, in lower case. Hidden fields count too."""


class LinkSign(msgspec.Struct, frozen=True, kw_only=True):
    """A link or button."""

    text: _Name = ""
    url: _Text = ""


class CookieSign(msgspec.Struct, frozen=True, kw_only=True):
    """A cookie, without its value."""

    name: _Name
    domain: _Name
    path: _Text = "/"
    http_only: bool = False
    secure: bool = False
    same_site: _Name = ""


class SendSign(msgspec.Struct, frozen=True, kw_only=True):
    """A request that the browser sent."""

    url: _Text
    referer: _Text = ""
    """The address in its ``Referer`` header; empty without one."""
    document: bool = False
    """True if it loads the page itself."""


class Signs(msgspec.Struct, frozen=True, kw_only=True):
    """The signs from one look at a page."""

    url: _Text
    """The final address of the page."""
    hops: tuple[str, ...] = ()
    """The addresses of the document, from the first to the last: more than one if it was redirected."""
    forms: tuple[FormSign, ...] = ()
    links: tuple[LinkSign, ...] = ()
    sources: tuple[str, ...] = ()
    """Addresses of frames and scripts."""
    credentials: bool = False
    """True if a script in the page asks for public keys (``navigator.credentials``)."""
    headers: tuple[tuple[str, str], ...] = ()
    """Origin and name, in lower case, of each response header that tells of a login."""
    cookies: tuple[CookieSign, ...] = ()
    sends: tuple[SendSign, ...] = ()
    """Requests to another origin than that of their ``Referer``."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of login, or one weakness."""

    what: str
    said: str
    """The evidence in words: names and origins, no value."""


class Flow(msgspec.Struct, frozen=True, kw_only=True):
    """The kinds of login of a site, and their weaknesses."""

    kinds: tuple[Found, ...]
    """Each kind once; ``what`` is one of ``Kind``."""
    weak: tuple[Found, ...]


BINDING_HEADERS: Final = frozenset(
    {"secure-session-registration", "secure-session-challenge", "sec-session-registration", "sec-session-challenge"}
)
BASIC_HEADER: Final = "www-authenticate"
_CAPTCHA: Final = re.compile(
    r"//(?:[\w.-]+\.)?(?:google\.com/recaptcha|recaptcha\.net|hcaptcha\.com|challenges\.cloudflare\.com|arkoselabs\.com"
    r"|funcaptcha\.com|friendlycaptcha\.\w+|geetest\.com)|/(?:recaptcha|hcaptcha|turnstile|altcha|captcha)[\w./-]*",
    re.IGNORECASE,
)
_CAPTCHA_FIELD: Final = re.compile(r"captcha|cf-turnstile-response", re.IGNORECASE)
_PASSKEY: Final = re.compile(r"\b(?:passkeys?|security key|fingerprint|windows hello|face id)\b", re.IGNORECASE)
_SSO_WORDS: Final = re.compile(
    r"\b(?:sign|log) ?(?:in|on) (?:with|via|using) (?!e-?mail|password|passkey|phone|a |your )\w|\bcontinue with "
    r"(?!e-?mail|password|passkey|phone)\w|\bsingle sign[- ]?on\b|\bsso\b",
    re.IGNORECASE,
)
_SSO_BESIDE: Final = frozenset({"response_type", "redirect_uri", "scope", "code_challenge", "request_uri"})
_CODE: Final = re.compile(
    r"(?:^|[_.-])(?:otp|totp|mfa|2fa|tfa|one-?time-?(?:code|password)|verification-?code)", re.IGNORECASE
)
_TOKEN: Final = re.compile(
    r"^(?:access_?token|id_?token|refresh_?token|auth_?token|token|jwt|session_?id|sessionid|sid|jsessionid|phpsessid"
    r"|password|passwd|pwd|secret)$",
    re.IGNORECASE,
)
_CSRF: Final = re.compile(
    r"csrf|xsrf|authenticity|nonce|requestverificationtoken|form_?key|_token$|^state$", re.IGNORECASE
)
_SESSION_COOKIE: Final = re.compile(r"sess|sid$|^sid|auth|token|jwt|login|remember", re.IGNORECASE)


def read_flow(signs: Signs) -> Flow:
    """The kinds of login of the site of ``signs``, and their weaknesses."""
    kinds = {each.what: each for each in reversed(list(_kinds(signs)))}
    order = ("form", "sso", "passkey", "code", "captcha", "device-bound", "basic")
    return Flow(kinds=tuple(kinds[name] for name in order if name in kinds), weak=tuple(dict.fromkeys(_weak(signs))))


def _kinds(signs: Signs) -> Iterator[Found]:
    for form in signs.forms:
        for kind, name, autocomplete in form.fields:
            words = autocomplete.split()
            if kind == "password" and "new-password" not in words:
                yield Found(what="form", said=f"a field for a password ({name or 'without a name'})")
            if "webauthn" in words:
                yield Found(what="passkey", said="a field that offers passkeys (autocomplete webauthn)")
            if kind != "hidden" and ("one-time-code" in words or _CODE.search(name)):
                yield Found(what="code", said=f"a field for a one-time code ({name or autocomplete})")
            if _CAPTCHA_FIELD.search(name):
                yield Found(what="captcha", said=f"a field of a CAPTCHA ({name})")
    yield from _kinds_of_links(signs)
    for source in signs.sources:
        if found := _CAPTCHA.search(source):
            yield Found(what="captcha", said=f"a CAPTCHA of {urlsplit(source).hostname or found.group()}")
    if signs.credentials:
        yield Found(what="passkey", said="a script asks for public keys")
    for origin, name in signs.headers:
        if name in BINDING_HEADERS:
            yield Found(what="device-bound", said=f"{origin} offers to bind the session to the device ({name})")
        elif name == BASIC_HEADER:
            yield Found(what="basic", said=f"{origin} asks for a password in the browser's own dialog")


def _kinds_of_links(signs: Signs) -> Iterator[Found]:
    for hop in signs.hops:
        if is_sso(hop):
            yield Found(what="sso", said=f"the address leads to {origin_of(hop)} for the login")
    for link in signs.links:
        if _PASSKEY.search(link.text):
            yield Found(what="passkey", said=f"a control “{link.text}”")
        elif link.url and is_sso(link.url):
            yield Found(what="sso", said=f"a link to {origin_of(link.url)} (“{link.text}”)")
        elif _SSO_WORDS.search(link.text):
            yield Found(what="sso", said=f"a control “{link.text}”")


def is_token(name: str) -> bool:
    """True if a parameter of this name holds a token that logs in."""
    return _TOKEN.match(name) is not None


def is_sso(url: str) -> bool:
    """True if an address asks another site for a login (OAuth, OpenID Connect, SAML)."""
    names = {name.lower() for name, _ in parse_qsl(urlsplit(url).query, keep_blank_values=True)}
    return "samlrequest" in names or ("client_id" in names and not names.isdisjoint(_SSO_BESIDE))


def _weak(signs: Signs) -> Iterator[Found]:
    for hop in dict.fromkeys((*signs.hops, signs.url)):
        parts = urlsplit(hop)
        for name, value in parse_qsl(parts.query) + parse_qsl(parts.fragment):
            if is_token(name) and value:
                said = f"an address at {origin_of(hop)} carries “{name}”: servers log it, and other sites are told"
                yield Found(what="token-in-address", said=said)
    for before, after in zip(signs.hops, signs.hops[1:], strict=False):
        if before.startswith("https:") and after.startswith("http:"):
            yield Found(what="redirect-in-clear", said=f"{origin_of(before)} redirects to {origin_of(after)}")
    for form in signs.forms:
        if any(kind == "password" for kind, _, _ in form.fields):
            yield from _weak_form(form, signs)
    for cookie in signs.cookies:
        yield from _weak_cookie(cookie, signs.url)


def _weak_form(form: FormSign, signs: Signs) -> Iterator[Found]:
    target = form.action or signs.url
    if form.method != "post" and form.action:
        yield Found(
            what="password-in-address",
            said=f"the form is sent by {form.method.upper()}: the password is in the address",
        )
    if target.startswith("http:") and not _is_loopback(target):
        yield Found(what="password-in-clear", said=f"the form is sent to {origin_of(target)} without encryption")
    if origin_of(target) != origin_of(signs.url):
        yield Found(what="form-elsewhere", said=f"the form is sent to another site, {origin_of(target)}")
    strict = bool(signs.cookies) and all(each.same_site in ("strict", "lax") for each in signs.cookies)
    if form.method == "post" and not strict and not any(_CSRF.search(name) for _, name, _ in form.fields):
        yield Found(
            what="no-csrf", said="the form has no token against requests of other sites, and no cookie keeps them out"
        )


def _weak_cookie(cookie: CookieSign, url: str) -> Iterator[Found]:
    """The weaknesses of a cookie that is named like one of a session."""
    if not _SESSION_COOKIE.search(cookie.name) or _CSRF.search(cookie.name):
        return
    lacks = [] if cookie.http_only else ["HttpOnly"]
    lacks += [] if cookie.secure or _is_loopback(url) else ["Secure"]
    lacks += [] if cookie.same_site in ("strict", "lax") else ["SameSite"]
    if lacks:
        yield Found(what="cookie-flags", said=f"the cookie “{cookie.name}” of {cookie.domain} lacks {', '.join(lacks)}")
    if cookie.domain.startswith("."):
        yield Found(what="wide-cookie", said=f"the cookie “{cookie.name}” goes to every host below {cookie.domain[1:]}")


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")
