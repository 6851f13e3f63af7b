"""The effects manifest: the requests of a recording's steps that change something. A replay may send them again.

A manifest is a claim of the recorder. It becomes a consent only if the owner of the replaying node confirms it by its digest, or
as its own recorder (docs/adr/0068-consent-by-effects-manifest.md).
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
    """A file that was sent with a request."""

    name: _Text
    sha256: Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]


class Effect(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One request of a step that changes something, or may."""

    method: Annotated[Plain, msgspec.Meta(min_length=1, max_length=64)]
    """The method as the site understands it: ``POST as DELETE`` if a header overrides the real method."""
    url: Annotated[Home, msgspec.Meta(min_length=1, max_length=limits.URL_CHARS_MAX)]
    """The whole address without its fragment, with the names of secrets in place of their values."""
    fields: Annotated[tuple[_Text, ...], msgspec.Meta(max_length=limits.FORM_FIELDS_MAX)] = ()
    """Names of the body's fields, sorted; ``name=value`` for fields that select the operation (``RequestForm.fields``)."""
    body: Annotated[Plain, msgspec.Meta(max_length=80)] = ""
    """``RequestForm.body``."""
    chosen: Annotated[tuple[_Text, ...], msgspec.Meta(max_length=limits.EFFECT_HEADERS_MAX)] = ()
    """Headers that select the operation, as ``name: value``, sorted."""
    files: Annotated[tuple[SentFile, ...], msgspec.Meta(max_length=limits.EFFECT_FILES_MAX)] = ()
    """The files that were given to the page, if the body may contain them."""
    level: Level
    """The class of the request, as judged by the node that sent it."""


def effect_of(
    method: str,
    url: str,
    content_type: str = "",
    body: str | None = "",
    *,
    chosen: Sequence[str] = (),
    files: Sequence[SentFile] = (),
) -> Effect:
    """The effect of a request. method, url, body: as they are sent; body is None if it is unknown. files: those that were given to
    the page.
    """
    form = request_form(method, url, content_type, body)
    carries = media_type(content_type) == "multipart/form-data" or form.body == UNREAD
    return Effect(
        method=method[:64],
        url=url.partition("#")[0],  # not shortened before redaction: half of a secret would not be found
        fields=form.fields,
        body=form.body,
        chosen=tuple(sorted(chosen))[: limits.EFFECT_HEADERS_MAX],
        files=tuple(files)[: limits.EFFECT_FILES_MAX] if carries else (),
        level=level_of(form),
    )


def kept(effects: Sequence[Effect]) -> tuple[tuple[Effect, ...], bool]:
    """The first ``effects`` that fit into a step, and True if there were more."""
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
    """The digest that names an effects manifest, ``sha256:`` and 64 digits; empty if no step has an effect.

    manifest: SHA-256 of the signed manifest of the bundle, so that the digest is valid for this recording only: its other steps
    influence what is written too. effects: by index of the step.
    """
    sends = [[index, *found] for index, found in sorted(effects.items()) if found]
    if not sends:
        return ""
    return f"sha256:{hashlib.sha256(_DOMAIN + cbor.encode([manifest, sends])).hexdigest()}"


def refused_in(steps: Iterable[tuple[str, Sequence[str]]]) -> frozenset[str]:
    """The requests that the guard refused in a recording, each ``METHOD https://host/path``. steps: the address after each step,
    and its ``Step.blocked``.
    """
    found: set[str] = set()
    for url, blocked in steps:
        for line in blocked:
            method, _, address = line.partition(" ")
            found.add(f"{method} {site_of(url) if address.startswith('/') else ''}{address}")
    return frozenset(found)


class Varies(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of an address that may differ from the recording."""

    ids: bool = False
    """True if numbers and ids may differ: the row of the target matched completely, and its record may have a new id."""
    values: Mapping[str, str] = {}
    """The values of declared variables in this replay, by their recorded values."""


class StepRequests:
    """The requests that one step of a replay may send, each once, and those that it has not sent yet."""

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
        """told: returns a request in recorded form. level_max: the highest class that may leave. closed: the reason why no request
        may leave; empty if they may. allow: further entries of ``--allow``. refused: the requests that were refused in the
        recording (``refused_in``).
        """
        self._left = dict(enumerate(effects))
        self._told = told
        self._varies = varies
        self._level_max = level_max
        self._closed = closed
        self._allow, self._known = allow, refused
        self.level_refused = 0
        """The highest class of the listed requests that were refused because of their class."""
        self.refused: list[str] = []
        """Requests that the step tried to send, in words."""

    @property
    def left(self) -> Mapping[int, Effect]:
        """The requests not sent yet, by their position among the effects."""
        return dict(self._left)

    def takes(self, effect: Effect) -> bool:
        """Let a request leave if it is on the list and was not sent yet; afterwards it counts as sent.

        A request with an unreadable body leaves only if the list has it with known files.
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
        """True if a preflight may announce a listed request that was not sent yet. A preflight has neither a body nor headers of
        its own.
        """
        told = self._told(effect_of(method, url))
        left = () if self._closed else self._left.values()
        return any(each.method == told.method and self._same_address(each.url, told.url) for each in left)

    def allows(self, method: str, url: str) -> bool:
        """True if an entry of ``--allow`` allows the request."""
        return any(allows(entry, method, url) for entry in self._allow)

    def is_known(self, effect: Effect) -> bool:
        """True if such a request was refused in the recording too: the recording continued without it, and so does the replay."""
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
        # The record has a new id. A second, different new id would belong to another record.
        varies = other if self._varies.ids and len(other) == 1 else set()
        return all(self._is_same(was, now) or (was, now) in varies for _, was, now in pairs)

    def _is_same(self, listed: str, sent: str) -> bool:
        return listed == sent or self._varies.values.get(listed) == sent


class _Address(NamedTuple):
    origin: str
    path: list[str]
    names: list[str]
    """The names in the query, in order."""
    values: list[str]
    """The values of these names."""


def _split(url: str) -> _Address:
    """Split an address. Errors: ``ValueError``."""
    parts = urlsplit(url)
    asked = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    path = [unquote(each) for each in parts.path.split("/")]
    return _Address(
        f"{parts.scheme}://{parts.netloc}", path, [name for name, _ in asked], [value for _, value in asked]
    )


def _is_id(name: str, listed: str, sent: str) -> bool:
    """True if both are ids of the same form. name: the field of the query; a number in a field counts as an id only if the name
    says so.
    """
    kind = path_form(listed)
    is_id = kind == ID or (kind == NUMBER and (not name or bool(_CALLED_ID.search(name))))
    return is_id and kind == path_form(sent)
