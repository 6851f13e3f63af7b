"""Finds addresses that may change or destroy something although they are only read: on a careless site, a GET of
``/items/3/delete`` is enough.

The rule has five parts.
1. Each path segment, each key, and each value of a key that names an operation is split into words.
2. A verb that deletes or ends something is an order. Any other verb is an order only together with its object: the id of a record
beside it or in a parameter, or something that exists only once (``/cart/clear``).
3. On sites with texts (``/wiki/…``, ``docs.example``), and in names of files in folders of files, words are titles and names,
unless an id is near.
4. Beside a token against forgery every verb is an order, because mere reading needs no token.
5. A method that replaces GET, a statement that writes, and a mutation are orders too.

The words and their reasons are in ``address_words.py``; exceptions of known applications are in ``known_applications.py``.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from protocol.risk.addresses import address_words as V
from protocol.risk.addresses.address_prefilter import PLAIN_CHARACTERS, is_doubtful
from protocol.risk.addresses.address_words import word_set
from protocol.risk.addresses.known_applications import known_verdict
from protocol.risk.addresses.letters import decoded, plain
from protocol.risk.addresses.parameters import Parameters, Route
from protocol.risk.addresses.segments import (
    Order,
    folded_twice,
    is_id,
    leaves,
    opens_password_form,
    order_of,
    without_extension,
    words_in,
)
from protocol.risk.judgement import RiskEvidence

_PLAIN: Final = re.compile(f"[{re.escape(PLAIN_CHARACTERS)}]*")
URL_CHARS_MAX: Final = 16_384
"""The part of an address that is read: common servers accept no longer request line."""
_SEGMENTS_MAX: Final = 1_000
_LOADED: Final = frozenset({"image", "stylesheet", "font", "media", "manifest"})
"""Kinds of files that a page loads by itself. A script outside of a folder of files may be run by the site as well
(``/logout.js``).
"""
_BUILT: Final = frozenset({"script", "stylesheet", "font"})
_BUILT_NAME: Final = re.compile(
    r"page|layout|index|main|route|template|loading|error|.*[-._](?=[0-9a-zA-Z]*\d)[0-9a-zA-Z]{6,64}"
)
"""File names made by build tools: the name of a page part, or a hash of the content."""
_LOOKS: Final = word_set("v ver w h width height size color q quality format fit t ts dpr")
"""Parameters for the appearance of a picture."""
_LOOK: Final = re.compile(r"[\w.#]{1,8}|\d{1,13}")
"""The values of such parameters."""
_SIZES: Final = re.compile(r"[1-9]?[02468]|1[0-9][0248]|256|512")
"""Sizes of pictures, which occur as names of folders."""
_TEXTS: Final = frozenset({"html", "htm", "xhtml", "txt", "pdf"})
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_CODE: Final = re.compile(r"(?=[A-Z0-9-]*\d)(?=[A-Z0-9-]*[A-Z])[A-Z0-9-]{5,40}")
"""The code of a booking or a coupon."""
_TOKEN_CHARS: Final = 8
_CONFIRMING: Final = word_set(
    "confirm confirm-email activate optin opt-in verify-email verify accept approve reject decline enable"
)


def judge_address(url: str, method: str = "GET", *, kind: str = "") -> RiskEvidence | None:
    """The evidence against a request to ``url`` (or a path), from its address alone; None if there is none.

    kind: the type with which the browser loads it (``image``, ``document`` …); empty if unknown. A file that a page loads may have
    any name. Time and memory grow linearly with the address.
    """
    order = _order(url, kind)
    if order is None:
        return None
    level = 7 if order.kind in ("clear", "weak") or method.upper() == "DELETE" else 4
    return RiskEvidence(level=level, certain=True, says=f"its address says “{order.word}”")


def destructive_url(url: str, kind: str = "") -> str:
    """The word that makes a GET of ``url`` (or of a path) look as if it changes or destroys something; empty if there is none."""
    order = _order(url, kind)
    return "" if order is None else order.word


def _read(url: str) -> tuple[list[str], Parameters]:
    try:
        parts = urlsplit(url[:URL_CHARS_MAX])
    except ValueError:
        return [], Parameters("")
    parameters = Parameters(parts.query)
    return _segments(parts.path, parameters), parameters


def _order(url: str, kind: str) -> Order | None:
    url = url[:URL_CHARS_MAX].partition("#")[0]
    try:
        host = (urlsplit(url).hostname or "").partition(".")[0].lower()
    except ValueError:
        return Order("nothing readable", "weak")
    folds = _PLAIN.fullmatch(url) is None
    if not is_doubtful(folded_twice(decoded(url)) if folds else url, folds=folds):
        return None
    segments, parameters = _read(url)
    if len(segments) > _SEGMENTS_MAX:
        return Order("more parts than are read", "weak")
    resolved = _resolved(segments)
    pairs = [(plain(key), plain(value)) for key, value in parameters.pairs]
    known = known_verdict(plain(f"/{'/'.join(resolved)}"), pairs)
    if known:
        return Order(known[1] or plain(resolved[-1]), "changing") if known[0].verdict == "order" else None
    for way in (segments, resolved) if resolved != segments else (segments,):
        if found := Path(way, host, parameters, kind).order():
            return found
    return Path(resolved, host, parameters, kind).order_in_query()


def _segments(path: str, parameters: Parameters) -> list[str]:
    """The decoded segments of a path. Text after a semicolon in a segment counts as parameters."""
    segments = []
    for segment in decoded(path.replace("+", "%2B")).replace("\\", "/").split("/"):
        name, _, more = segment.partition("?")[0].partition(";")
        if more:
            parameters.add(more)
        if name:
            segments.append(name)
    return segments


def _resolved(segments: list[str]) -> list[str]:
    kept: list[str] = []
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    return kept


class Path:
    """The segments of one address, with their surroundings."""

    def __init__(self, segments: list[str], host: str, parameters: Parameters, kind: str) -> None:
        self._segments = segments
        self._names = [plain(without_extension(segment)[0]) for segment in segments]
        self._parameters = parameters
        self._kind = kind
        self._host = host
        self._reading = host in V.READING_HOSTS
        self._titled = self._reading or host in V.TITLE_HOSTS
        self._office = False

    def order(self) -> Order | None:
        """The first order among the segments that counts in its place."""
        built = self._built()
        for at, segment in enumerate(self._segments[:built]):
            stem, extension = without_extension(segment)
            asks = at > 0 and opens_password_form(f"{self._names[at - 1]}-{stem}")
            order = None if asks else self._put(at) or order_of(stem)
            if order and not self._is_file(order, at, extension) and self._counts(order, at, extension):
                return order
            self._note(at)
        return None

    def order_in_query(self) -> Order | None:
        """The order in the parameters, or in the last segment beside a token."""
        end, extension = without_extension(self._segments[-1]) if self._segments else ("", "")
        has_id = any(map(is_id, self._segments))
        found = self._parameters.order(_routed(self._parameters), path_has_id=has_id, end=end)
        return found or (None if extension in V.DOWNLOADS else self._proved(end, has_id))

    def _proved(self, end: str, has_id: bool) -> Order | None:
        """The verb of the last segment beside a token; beside a framework's token, any last segment that does more than show."""
        order, parameters = order_of(end), self._parameters
        texts = self._titled or any(name in V.TITLES for name in self._names[-2:-1])
        if parameters.guarded and order:
            return order
        confirms = plain(end) in _CONFIRMING
        counts = order and order.whole and order.kind != "name" and order.word not in V.SHY | {"cancel", "reset"}
        return (
            order or Order(plain(end), "changing")
            if parameters.proves and (confirms or (counts and not texts))
            else None
        )

    def _put(self, at: int) -> Order | None:
        """An order such as ``/cart/add``, ``/relay/on`` or ``/26/on``: such verbs count only after their object."""
        name, behind = self._names[at], self._names[at - 1] if at else ""
        if name in V.ADDS and at:
            cart = (words_in(behind) or [""])[-1]
            cart = (words_in(self._names[at - 2]) or [""])[-1] if cart == "index" and at > 1 else cart
            return Order(f"add to {cart}", "changing", whole=False, own=True) if cart in V.CARTS else None
        bare = [behind.rstrip("0123456789"), *self._names[at - 2 : at - 1]]
        last = at + 1 == len(self._segments)
        switched = bool(behind) and (
            bare[0] in V.SWITCHED or (last and (bare[-1] in V.SWITCHED or (at == 1 and behind.isdecimal())))
        )
        return Order(f"{behind} {name}", "changing", whole=False, own=True) if name in V.ON_OFF and switched else None

    def _note(self, at: int) -> None:
        name = self._names[at]
        self._office = self._office or name in V.OFFICES
        if not self._office:
            self._reading = self._reading or (name in V.READING and not (at == 0 and name in V.HELP_DESKS))
            self._titled = self._titled or name in V.TITLES or _YEAR.fullmatch(name) is not None

    def _built(self) -> int:
        """The index at which the segments of a built file begin, as in ``/_next/static/chunks/app/logout/page-4f5a6b7c.js``."""
        stem, extension = without_extension(self._segments[-1]) if self._segments else ("", "")
        named = self._parameters.has_id or any(map(is_id, self._segments))
        if extension in V.MODULES and self._kind == "script" and not named:
            return 0
        if self._kind not in _BUILT or extension not in V.FILES or named or not _BUILT_NAME.fullmatch(stem):
            return len(self._segments)
        return next((at for at, name in enumerate(self._names) if name in V.BUILDS), len(self._segments))

    def _is_file(self, order: Order, at: int, extension: str) -> bool:
        """True if the last segment is a file of a page and no record: it is in a folder of files, or is loaded as a file."""
        if at + 1 < len(self._segments) or extension not in V.FILES or self._parameters.has_id:
            return False
        behind = self._segments[at - 1] if at else ""
        # the id of an upload folder by year and month is no record
        record = is_id(behind) and not (at > 1 and _YEAR.fullmatch(self._segments[at - 2]))
        if record and not _SIZES.fullmatch(behind) and order.kind == "clear" and not order.titled:
            return False
        if any(name in V.FOLDERS for name in self._names[:at]):
            return True
        looks = (
            self._kind == "image"
            and extension != "gif"
            and all(key in _LOOKS and _LOOK.fullmatch(value) for key, value in self._parameters.pairs)
        )
        return self._kind in _LOADED and not record and (looks or not self._parameters.pairs)

    def _counts(self, order: Order, at: int, extension: str) -> bool:
        before, after = self._beside(at)
        near = before or after or order.own or self._parameters.has_id
        out = leaves(self._names[at])
        if extension in _TEXTS and not (near or self._parameters.pairs or out) and order.kind != "changing":
            return False
        if order.kind == "clear":
            return not self._is_name(order, at, out) or (near and not (order.titled and (order.long or self._reading)))
        if self._reading or (order.titled and self._titled):
            return before and order.kind == "weak" and not order.titled
        if order.kind == "weak":
            given = before or order.own or self._parameters.has_id or (after and order.word not in V.SHY)
            return given or (order.whole and (self._of_one(at) or self._of_member(at) or self._of_person(at)))
        return self._changes(order, at, before, after, extension)

    def _is_name(self, order: Order, at: int, out: bool) -> bool:
        """True if names, titles or texts occur in this position."""
        behind = self._names[at - 1] if at else ""
        last = at + 1 == len(self._names)
        if self._reading or (self._titled and not order.whole and (order.titled or order.long) and not out):
            return True
        if behind in V.NAMERS and not self._office and (last or self._names[at + 1] in V.PAGING):
            return not (out and ":" in self._segments[at])
        helps = (self._host in V.TITLE_HOSTS - {"wiki"}) or (at > 0 and self._names[0] in V.HELP_DESKS)
        return helps and order.whole and last and not out and (V.PEOPLE | V.IMPLIED).isdisjoint(self._names[:at])

    def _beside(self, at: int) -> tuple[bool, bool]:
        """True, twice, if the id of a record is directly before, and directly after."""
        behind = self._segments[at + 1 : at + 2]
        after = bool(behind) and (is_id(behind[0]) or _CODE.fullmatch(behind[0]) is not None)
        return at > 0 and is_id(self._segments[at - 1]), after or self._named(at)

    def _named(self, at: int) -> bool:
        """True if a record is named after it in the way of Magento: ``/hold/order_id/7``."""
        behind = self._segments[at + 1 : at + 3]
        return len(behind) > 1 and is_id(behind[1]) and plain(behind[0]).endswith("_id")

    def _of_person(self, at: int) -> bool:
        """True if it is between a word for people and a name: ``/user/block/ann``."""
        return at > 0 and self._names[at - 1] in V.PEOPLE and at + 2 == len(self._segments)

    def _changes(self, order: Order, at: int, before: bool, after: bool, extension: str) -> bool:
        last, number = at + 1 == len(self._segments), self._parameters.has_number
        if not order.whole:
            needs = order.word.startswith(("set ", "add to ")) and (bool(self._parameters.pairs) or not last)
            return before or after or number or order.own or needs
        token = self._segments[-1]
        if self._named(at):
            return order.kind != "token"
        if self._names[at] in _CONFIRMING and not last and len(token) >= _TOKEN_CHARS and is_id(token):
            return True
        if order.kind == "token":
            return False
        if last and before:
            return not extension or order.kind == "changing"
        if last and at and self._names[at - 1] == "queue":
            return True
        ends = at + 2 == len(self._segments) and after
        if order.kind == "name":
            return (ends and order.word in V.BEFORE_RECORD) or self._of_person(at)
        if last:
            return number or (self._of_member(at) and self._names[at - 2].endswith("s"))
        pair = at + 3 == len(self._segments) and is_id(token) and self._names[at + 1] in V.NOUNS
        return ends or self._of_person(at) or pair

    def _of_one(self, at: int) -> bool:
        """True if its object is something that exists only once: ``/cart/clear``."""
        words = words_in(self._names[at - 1]) if at else []
        return bool(words) and words[-1] in V.IMPLIED and self._names[at] != "trash"

    def _of_member(self, at: int) -> bool:
        """True if its object is a member of a collection, by name: ``/users/ann/ban``."""
        if at < 2 or at + 1 < len(self._segments) or self._names[at - 1] in V.NOUNS | V.PAGING:
            return False
        return self._names[at - 2] in V.NOUNS


def _routed(parameters: Parameters) -> Route:
    """Reads the value of a parameter as a path within the application."""
    return lambda value: Path([part for part in re.split(r"[/:]", value) if part], "", parameters, "").order()
