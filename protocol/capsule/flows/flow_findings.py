"""Judges a login that was driven once: its leaks, whether its session was new, and whether the logout ended it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import parse_qsl, urlsplit

import msgspec

from protocol.capsule.flows.auth_flow import Flow, Found, Signs, is_sso, is_token, read_flow
from protocol.capsule.flows.login import Proof
from protocol.trust.origin import origin_of

_BINDS: Final = frozenset({"state", "nonce", "code_challenge", "relaystate"})
"""Parameters that bind the answer of a login site to the browser that asked."""
_CODE_CHARS_MIN: Final = 16


class ObservedLogout(msgspec.Struct, frozen=True, kw_only=True):
    """The observed logout."""

    pressed: bool
    """True if the page has a control whose name says that it logs out."""
    taken: bool = False
    """True if the site still accepted the old session afterwards."""


def judge_flow(looks: Iterable[Signs], before: Proof, ended: ObservedLogout | None) -> tuple[Flow, tuple[Found, ...]]:
    """The flow of a login with its weaknesses, and the tests that it passed.

    looks: the pages of the login, in order. before: the proof with the state from *before* the login. If that state opens the page,
    an attacker who plants a session id is logged in with the victim. ended: None if no logout was tried.
    """
    flows = [(signs, read_flow(signs)) for signs in looks]
    kinds = {each.what: each for _, flow in reversed(flows) for each in flow.kinds}
    weak = [each for _, flow in flows for each in flow.weak]
    for signs, _ in flows:
        weak += [*_leaks(signs), *_unbound(signs)]
    sound: list[Found] = []
    if before.fails:
        sound.append(
            Found(what="session-fixation", said="what the browser held before the login is not logged in by it")
        )
    else:
        said = "a browser with nothing but the cookies from before the login is logged in: the session keeps its id"
        weak.append(Found(what="session-fixation", said=said))
    if ended is not None and ended.pressed:
        said = (
            "the site still takes the session after its logout"
            if ended.taken
            else "the site refuses the session afterwards"
        )
        (weak if ended.taken else sound).append(Found(what="logout", said=said))
    return Flow(kinds=tuple(kinds.values()), weak=tuple(dict.fromkeys(weak))), tuple(sound)


def _leaks(signs: Signs) -> Iterator[Found]:
    """Requests that carry a token from the address of a page to another site."""
    tokens = {value: name for hop in signs.hops for name, value in _tokens(hop)}
    for send in signs.sends:
        to = origin_of(send.url)
        told = origin_of(send.referer)
        if told and told != to:
            for name, _ in _tokens(send.referer):
                said = f"{to} is told the address of a page of {told}, which carries “{name}” (referrer)"
                yield Found(what="redirect-leak", said=said)
        if send.document:
            continue  # single sign-on sends the browser elsewhere by design; ``_unbound`` finds its weaknesses
        homes = {origin_of(hop) for hop in signs.hops if any(value in hop for value in tokens)}
        for _, value in parse_qsl(urlsplit(send.url).query):
            if value in tokens and to not in homes:
                said = f"{to} is sent “{tokens[value]}” out of the address of a page"
                yield Found(what="redirect-leak", said=said)


def _tokens(url: str) -> Iterator[tuple[str, str]]:
    """Names and values of the tokens in an address that log in."""
    parts = urlsplit(url)
    pairs = parse_qsl(parts.query) + parse_qsl(parts.fragment)
    names = {name.lower() for name, _ in pairs}
    for name, value in pairs:
        answers = name.lower() == "code" and len(value) >= _CODE_CHARS_MIN and not is_sso(url)
        if value and (is_token(name) or answers or (name.lower() == "samlresponse" and "relaystate" in names)):
            yield name, value


def _unbound(signs: Signs) -> Iterator[Found]:
    for hop in signs.hops:
        names = {name.lower() for name, _ in parse_qsl(urlsplit(hop).query)}
        if is_sso(hop) and names.isdisjoint(_BINDS):
            said = f"the login that {origin_of(hop)} is asked for is bound to no browser (no state, no PKCE)"
            yield Found(what="no-csrf", said=said)
