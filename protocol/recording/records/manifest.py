"""The effects manifest: what the steps of a recording sent that changes something, and what a replay may therefore send again.

A manifest is a claim of whoever recorded. It is consent only where the owner of the node that replays says so, by its digest or as
the one who recorded it (docs/adr/0068-consent-by-effects-manifest.md).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Annotated, Final, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from protocol import limits
from protocol.approval.forms import ID, NUMBER, UNREAD, media_type, path_form, request_form
from protocol.approval.question import Level, level_of
from protocol.kinds import Home, Plain, SentText
from protocol.risk.requests.allowed import allows
from protocol.risk.requests.refused import site_of
from protocol.wire import cbor

_DOMAIN: Final = b"trailmesh-effects-v1\x00"
_CALLED_ID: Final = re.compile(r"(?:^|[^a-zA-Z])(?:id|ID|pk|uuid|guid)\]?$|[a-z]Id$")

_Text = Annotated[SentText, msgspec.Meta(max_length=limits.FORM_TEXT_CHARS_MAX)]


class SentFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file that went with a request."""

    name: _Text
    sha256: Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]


class Effect(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One request of a step that changes something, or may."""

    method: Annotated[Plain, msgspec.Meta(min_length=1, max_length=64)]
    """As the site takes it: ``POST as DELETE`` where a header puts another one in the place of the real one."""
    url: Annotated[Home, msgspec.Meta(min_length=1, max_length=limits.URL_CHARS_MAX)]
    """The whole address, without fragment, and with the names of secrets in place of their values."""
    fields: Annotated[tuple[_Text, ...], msgspec.Meta(max_length=limits.FORM_FIELDS_MAX)] = ()
    """Names of the fields of its body, sorted; of those that choose what is done, ``name=value`` (``RequestForm.fields``)."""
    body: Annotated[Plain, msgspec.Meta(max_length=80)] = ""
    """``RequestForm.body``."""
    chosen: Annotated[tuple[_Text, ...], msgspec.Meta(max_length=limits.EFFECT_HEADERS_MAX)] = ()
    """Headers that choose what is done, ``name: value``, sorted."""
    files: Annotated[tuple[SentFile, ...], msgspec.Meta(max_length=limits.EFFECT_FILES_MAX)] = ()
    """The files that the page was given, if the body may hold them."""
    level: Level
    """The class of the request, as the node that sent it judged."""


def effect_of(
    method: str,
    url: str,
    content_type: str = "",
    body: str | None = "",
    *,
    chosen: Sequence[str] = (),
    files: Sequence[SentFile] = (),
) -> Effect:
    """The effect of a request. method, url, body: as they are sent, body None if it is not known. files: that the page has."""
    form = request_form(method, url, content_type, body)
    carries = media_type(content_type) == "multipart/form-data" or form.body == UNREAD
    return Effect(
        method=method[:64],
        url=url.partition("#")[0],  # not cut before secrets are taken out: half of one would be found by nothing
        fields=form.fields,
        body=form.body,
        chosen=tuple(sorted(chosen))[: limits.EFFECT_HEADERS_MAX],
        files=tuple(files)[: limits.EFFECT_FILES_MAX] if carries else (),
        level=level_of(form),
    )


def kept(effects: Sequence[Effect]) -> tuple[tuple[Effect, ...], bool]:
    """The first of ``effects`` that a step has room for, and whether there were more."""
    found: list[Effect] = []
    left = limits.EFFECTS_BYTES_MAX
    for effect in effects[: limits.EFFECTS_PER_STEP_MAX]:
        left -= len(cbor.encode(effect))
        if left < 0:
            break
        found.append(effect)
    return tuple(found), len(found) < len(effects)


def words(effect: Effect) -> str:
    """The effect in plain words: ``POST https://shop.example/cart/add?lang=en with item, qty``."""
    parts = [*effect.fields, *(f"the file “{each.name}”" for each in effect.files), *effect.chosen]
    whole = f"a body that was read as a whole ({effect.body[:14]}…)" if effect.body.startswith("sha256:") else ""
    unread = "a body that was not read" if effect.body == UNREAD and not effect.files else ""
    said = ", ".join(filter(None, (*parts, whole, unread)))
    return (f"{effect.method} {effect.url}" + (f" with {said}" if said else ""))[: limits.REASON_CHARS_MAX]


def digest_of(manifest: bytes, effects: Mapping[int, tuple[Effect, ...]]) -> str:
    """The name of an effects manifest, ``sha256:`` and 64 digits; empty if no step has an effect.

    manifest: SHA-256 of the signed manifest of the bundle. What else the steps do decides what is written too: the name is that of
    this recording alone. effects: by index of the step.
    """
    sends = [[index, *found] for index, found in sorted(effects.items()) if found]
    if not sends:
        return ""
    return f"sha256:{hashlib.sha256(_DOMAIN + cbor.encode([manifest, sends])).hexdigest()}"


def refused_in(steps: Iterable[tuple[str, Sequence[str]]]) -> frozenset[str]:
    """What the guard refused in a recording, each ``METHOD https://host/path``. steps: address after each, and ``Step.blocked``."""
    found: set[str] = set()
    for url, blocked in steps:
        for line in blocked:
            method, _, address = line.partition(" ")
            found.add(f"{method} {site_of(url) if address.startswith('/') else ''}{address}")
    return frozenset(found)


class Varies(msgspec.Struct, frozen=True, kw_only=True):
    """What of an address may be another one than in the recording."""

    ids: bool = False
    """Numbers and ids: the row of the target was matched whole, and may have got another id since."""
    values: Mapping[str, str] = {}
    """Declared variables: by the value of the recording, that of this replay."""


class Listed:
    """What one step of a replay may send, each once, and what of it was not sent yet."""

    def __init__(
        self,
        effects: Sequence[Effect],
        *,
        told: Callable[[Effect], Effect],
        varies: Varies = Varies(),  # noqa: B008 - never changes
        level_max: int,
        closed: str = "",
        allow: Sequence[str] = (),
        refused: Collection[str] = (),
    ) -> None:
        """told: a request as a recording would tell of it. level_max: the highest class that may leave. closed: why nothing may.
        allow: entries of ``--allow`` that were given besides. refused: what the recording was refused (``refused_in``).
        """
        self._left = dict(enumerate(effects))
        self._told = told
        self._varies = varies
        self._level_max = level_max
        self._closed = closed
        self._allow, self._known = allow, refused
        self.level_refused = 0
        """The highest class of what is listed and was refused for it."""
        self.refused: list[str] = []
        """Requests that the step would have sent, in words."""

    @property
    def left(self) -> Mapping[int, Effect]:
        """What was not sent, by its place among the effects."""
        return dict(self._left)

    def takes(self, effect: Effect) -> bool:
        """Let a request leave if it is one of those that are left, and none of them from then on.

        A body of which nothing is known leaves only as that of files that are known.
        """
        told = self._told(effect)
        place, found = next(((i, each) for i, each in self._left.items() if self._fits(each, told)), (0, None))
        if self._closed or found is None or (effect.body == UNREAD and not effect.files):
            return False
        if (level := max(found.level, effect.level)) > self._level_max:
            self.level_refused = max(self.level_refused, level)
            return False
        del self._left[place]
        return True

    def announces(self, method: str, url: str) -> bool:
        """True if a request that is left may be announced by a preflight, which has neither a body nor headers of its own."""
        told = self._told(effect_of(method, url))
        left = () if self._closed else self._left.values()
        return any(each.method == told.method and self._same_address(each.url, told.url) for each in left)

    def allows(self, method: str, url: str) -> bool:
        """True if a request was named besides."""
        return any(allows(entry, method, url) for entry in self._allow)

    def is_known(self, effect: Effect) -> bool:
        """True if the recording was refused such a request too: it went on without it, and so does the replay."""
        told = self._told(effect)
        return f"{told.method} {site_of(told.url)}{urlsplit(told.url).path}" in self._known

    def refuse(self, effect: Effect) -> None:
        """Note a request of the step that was refused."""
        said = words(self._told(effect))
        if len(self.refused) < limits.EFFECTS_PER_STEP_MAX and said not in self.refused:
            self.refused.append(said)

    def _fits(self, listed: Effect, sent: Effect) -> bool:
        same = ("method", "fields", "body", "chosen", "files")
        return all(getattr(listed, name) == getattr(sent, name) for name in same) and self._same_address(
            listed.url, sent.url
        )

    def _same_address(self, listed: str, sent: str) -> bool:
        if listed == sent:
            return True
        try:
            old, new = _split(listed), _split(sent)
        except ValueError:
            return False
        if old.origin != new.origin or old.names != new.names or len(old.path) != len(new.path):
            return False
        pairs = [("", *pair) for pair in zip(old.path, new.path, strict=True)]
        pairs += zip(old.names, old.values, new.values, strict=True)
        other = {(was, now) for name, was, now in pairs if not self._is_same(was, now) and _is_id(name, was, now)}
        # One record has got another id: two other ids are another record in another place.
        varies = other if self._varies.ids and len(other) == 1 else set()
        return all(self._is_same(was, now) or (was, now) in varies for _, was, now in pairs)

    def _is_same(self, listed: str, sent: str) -> bool:
        return listed == sent or self._varies.values.get(listed) == sent


class _Address(NamedTuple):
    origin: str
    path: list[str]
    names: list[str]
    """In the query, in order, …"""
    values: list[str]
    """… and what they say."""


def _split(url: str) -> _Address:
    """Errors: ``ValueError``."""
    parts = urlsplit(url)
    asked = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    path = [unquote(each) for each in parts.path.split("/")]
    return _Address(
        f"{parts.scheme}://{parts.netloc}", path, [name for name, _ in asked], [value for _, value in asked]
    )


def _is_id(name: str, listed: str, sent: str) -> bool:
    """True if both are ids of one form. name: of a field of the query; a number there counts things unless it is called an id."""
    kind = path_form(listed)
    is_id = kind == ID or (kind == NUMBER and (not name or bool(_CALLED_ID.search(name))))
    return is_id and kind == path_form(sent)
