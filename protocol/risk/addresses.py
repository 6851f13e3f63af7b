"""Addresses that may change or destroy something when they are only read: on a careless site a GET of ``/items/3/delete`` suffices.

A word counts by its place: a segment that is a verb, a parameter that says what is to be done. Titles, names and searched words
are none (docs/adr/0041-requests-by-structure.md).
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from protocol.risk.address_words import (
    BEHIND_RECORD,
    CHANGING_BEFORE,
    CHANGING_LAST,
    CHANGING_NAMES,
    CHANGING_RECORD,
    CLEAR,
    FILES,
    FOLDERS,
    HELP_DESKS,
    IMPLIED,
    NAMERS,
    NOUNS,
    OF_PEOPLE,
    OFFICES,
    ON_OFF,
    PAGING,
    PEOPLE,
    READING,
    READING_HOSTS,
    TITLE_HOSTS,
    TITLES,
    WEAK,
    word_set,
)
from protocol.risk.doubtful import DOUBTFUL_PARTS
from protocol.risk.judgement import Evidence
from protocol.risk.known_paths import Place, known_order
from protocol.risk.known_texts import is_source, is_title, is_topic
from protocol.risk.letters import decoded, plain
from protocol.risk.page_files import ASSET_TYPES, built_below, is_manifest, is_module, is_picture
from protocol.risk.parameters import Parameters
from protocol.risk.proofs import Last
from protocol.risk.segments import (
    Order,
    folded,
    in_words,
    is_id,
    leaves,
    opens_password_form,
    order_of,
    without_extension,
    words_in,
)

PLAIN_CHARACTERS: Final = "abcdefghijklmnopqrstuvwxyz0123456789&+,-./:=?_~"
"""Addresses of these alone are read without decoding. Any other character can hide a word."""
_PLAIN: Final = re.compile(f"[{re.escape(PLAIN_CHARACTERS)}]*")
URL_CHARS_MAX: Final = 16_384
"""So much of an address is read: the usual servers take no longer line."""
_PAIR_PARTS: Final = tuple(tuple(part.split()) for part in DOUBTFUL_PARTS if " " in part)
_WORD_PARTS: Final = tuple(part for part in DOUBTFUL_PARTS if " " not in part)
_FOLDED_PARTS: Final = tuple({folded(part) for part in (*_WORD_PARTS, *CLEAR)})
"""The same for addresses that are read only once they are decoded."""

_DOWNLOADED: Final = word_set(
    "js mjs css map png jpg jpeg svg webp avif ico woff woff2 ttf otf pdf zip docx xlsx mp4 mp3 webm json sh gradle"
)
"""Ends of files that are loaded or downloaded, with a token where they are not for everybody. A GIF may be there to be counted."""
_NAMING_VERBS: Final = CHANGING_LAST | WEAK | word_set("follow enable accept")
"""Behind one of these stands what it is done to. Behind “apply” and “join” stand pages."""
_SEGMENTS_MAX: Final = 1_000
_SIZES: Final = word_set(
    "8 10 12 14 16 18 20 22 24 26 28 30 32 36 40 42 44 48 50 56 60 64 72 80 96 100 120 128 144 150 152 167 180 192 "
    "196 200 256 512"
)
_NO_ID_BEHIND: Final = word_set("block end exit leave drop recall reset trash withdraw forget quit sil")
"""Weak verbs in front of an id are names more often: ``/block/812345``, ``/reset/TOKEN``."""
_OF_RECORD: Final = frozenset({"kill", "cancel", "suspend", "ban", "empty", "flush", "clear", "close"})
"""Behind the name of one of a kind and a record (``/queue/default/empty``)."""
_TEXTS: Final = frozenset({"html", "htm", "xhtml", "txt", "pdf"})
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_OF_QUEUE: Final = frozenset({"pause", "resume", "restart"})
"""Behind what there is one of (``/queue/pause``)."""
_MONTH: Final = re.compile(r"0[1-9]|1[0-2]")
_FOLDERS_OF_MAIL: Final = frozenset({"trash"})
_LEVELS: Final = {"clear": 7, "weak": 7, "changing": 4}


def judge_address(url: str, method: str = "GET", *, kind: str = "") -> Evidence | None:
    """What speaks against a request to ``url`` (or a path), by its address alone; None if nothing does.

    kind: what the browser loads it as (``image``, ``document`` …); empty if that is not known. A file that a page loads may be
    called anything. Time and memory grow linearly with the address.
    """
    order = _order(url, kind)
    if order is None:
        return None
    level = max(_LEVELS[order.kind], 7 if method.upper() == "DELETE" else 4)
    return Evidence(source="request", level=level, certain=True, says=f"its address says “{order.word}”")


def destructive_url(url: str, kind: str = "") -> str:
    """The word for which a GET of ``url`` (or of a path) may change or destroy something; empty if there is none."""
    order = _order(url, kind)
    return "" if order is None else order.word


def of_record(url: str) -> list[list[str]]:
    """The words of each segment of an address that names one record, by an id in its path or its query; empty if it names none."""
    try:
        parts = urlsplit(url[:URL_CHARS_MAX])
    except ValueError:
        return []
    parameters = Parameters(parts.query)
    segments = _segments(decoded(parts.path), parameters)
    return [words_in(each) for each in segments] if parameters.has_id or any(map(is_id, segments)) else []


def names_what(url: str, said: list[str]) -> bool:
    """Whether an address names what the verb ``said`` is for, without an id: behind it in its path (“Follow” at ``/follow/susan``),
    or by a token that proves where the link stood (“Enable” at ``/views/front/enable?token=ab12``).
    """
    try:
        parts = urlsplit(url[:URL_CHARS_MAX])
    except ValueError:
        return False
    parameters = Parameters(parts.query)
    segments = [words_in(each) for each in _segments(decoded(parts.path), parameters)]
    if parameters.proves:
        return True
    verb = said[:1]
    behind = len(segments) > 1 and segments[-2] == verb and bool(verb) and verb[0] in _NAMING_VERBS
    return behind and plain("".join(segments[-1])) not in PAGING | {"us", "me", "now"}


def _order(url: str, kind: str) -> Order | None:
    url = url[:URL_CHARS_MAX].partition("#")[0]
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").partition(".")[0]
    except ValueError:
        return Order("nothing readable", "weak", whole=False)
    if not (
        _is_doubtful(url, _WORD_PARTS) if _PLAIN.fullmatch(url) else _is_doubtful(_folded_address(url), _FOLDED_PARTS)
    ):
        return None
    parameters = Parameters(parts.query)
    written = decoded(parts.path.replace("+", "%2B")).replace("\\", "/")
    ways = [_segments(written, parameters)]
    if len(ways[0]) > _SEGMENTS_MAX:
        return Order("more parts than are read", "weak", whole=False)
    resolved = _resolved(ways[0])
    ways += [resolved] if resolved != ways[0] else []
    if is_manifest(ways[-1], parameters, kind):
        return None
    for segments in ways:
        found = Path(segments, host, parameters, kind).order()
        if found:
            return found
    end = ways[-1][-1] if ways[-1] else ""
    is_file = end.rpartition(".")[2].lower() in _DOWNLOADED if "." in end else False
    titled = host.lower() in READING_HOSTS | TITLE_HOSTS or any(map(_is_titled, ways[-1][-2:-1]))
    ends = Last(plain(without_extension(end)[0]), is_file, titled)
    return parameters.order(_judge_route, path_has_id=any(map(is_id, ways[-1])), ends=ends)


def _is_titled(segment: str) -> bool:
    return plain(segment) in TITLES


def _is_doubtful(text: str, parts: tuple[str, ...]) -> bool:
    return any(part in text for part in parts) or any(
        first in text and second in text.partition(first)[2] for first, second in _PAIR_PARTS
    )


def _folded_address(url: str) -> str:
    """All words of an address behind slashes, those of ``camelCase`` apart and together."""
    text = decoded(url)
    return f"/{folded(in_words(text))}/{folded(text)}/"


def _segments(path: str, parameters: Parameters) -> list[str]:
    """The segments of a decoded path; what stands behind a semicolon in one of them are parameters."""
    segments = []
    for segment in path.split("/"):
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


def _judge_route(route: str, parameters: Parameters) -> Order | None:
    """The order in the value of a parameter that is a path within the application."""
    return Path([part for part in re.split(r"[/:]", route) if part], "", parameters, "").order()


class Path:
    """The segments of one address, and what is near each of them."""

    def __init__(self, segments: list[str], host: str, parameters: Parameters, kind: str) -> None:
        self._segments = segments
        self._names = [plain(without_extension(segment)[0]) for segment in segments]
        self._parameters = parameters
        self._kind = kind
        self._host = host.lower()
        self._reading = host.lower() in READING_HOSTS
        self._titled = self._reading or host.lower() in TITLE_HOSTS
        self._office = False

    def order(self) -> Order | None:
        """The first order among the segments that counts where it stands."""
        if is_module(self._segments, self._parameters, self._kind):
            return None
        built = built_below(self._segments, self._names, self._parameters, self._kind)
        for index, segment in enumerate(self._segments):
            stem, extension = without_extension(segment)
            order = known_order(
                Place(self._segments, self._names, index, bool(self._parameters), self._titled)
            ) or order_of(stem)
            if order and index > built:
                continue
            if order and self._counts(order, index) and not self._is_text(order, index, extension):
                if extension in FILES and self._is_file(order, index):
                    continue
                return order
            self._note(index)
        return None

    def _note(self, index: int) -> None:
        name = self._names[index]
        self._office = self._office or name in OFFICES
        if not self._office:
            self._reading = self._reading or (name in READING and not (index == 0 and name in HELP_DESKS))
            self._titled = self._titled or name in TITLES or _YEAR.fullmatch(name) is not None

    def _is_text(self, order: Order, index: int, extension: str) -> bool:
        """Whether it is a written page: ``/api/remove.html``, without an id or a parameter."""
        near = any(self._beside(index)) or order.object_within or bool(self._parameters)
        if is_source(self._names, index, extension) and not near:
            return True
        return extension in _TEXTS and not near and not leaves(self._names[index]) and order.kind != "changing"

    def _is_file(self, order: Order, index: int) -> bool:
        """Whether the last segment is a file of a page: in a folder of files, or loaded as one, and no record of anything."""
        if index + 1 < len(self._segments) or self._parameters.has_id:
            return False
        before = self._segments[index - 1] if index else ""
        dated = index > 1 and _MONTH.fullmatch(before) and _YEAR.fullmatch(self._segments[index - 2])
        of_record = is_id(before) and not dated
        if of_record and before not in _SIZES and not order.titled and order.kind == "clear":
            return False
        if any(name in FOLDERS for name in self._names[:index]):
            return True
        plainly = not self._parameters or is_picture(self._segments[-1], self._parameters, self._kind)
        # A script outside of a folder of files is one that the site runs as often: “/logout.js”.
        return self._kind in ASSET_TYPES - {"script"} and plainly and not of_record

    def _counts(self, order: Order, index: int) -> bool:
        if order.kind == "changing":
            return self._changes(order, index)
        if order.kind == "weak":
            return self._is_weak_order(order, index)
        if self._is_name(order, index) or self._is_of_help(order, index):
            return self._near_id(order, index)
        return True

    def _is_of_help(self, order: Order, index: int) -> bool:
        """Whether it is a page about a verb: ``/support/uninstall``, ``developers.example/api/methods/delete``. Not what leaves,
        nor what is done to what there is one of.
        """
        helps = (self._host in TITLE_HOSTS and self._host != "wiki") or (index > 0 and self._names[0] in HELP_DESKS)
        if not helps or not order.whole or index + 1 < len(self._segments) or leaves(self._names[index]):
            return False
        return (PEOPLE | IMPLIED | {"settings"}).isdisjoint(self._names[:index])

    def _is_name(self, order: Order, index: int) -> bool:
        """Whether names, titles or texts stand where this stands."""
        if self._reading:
            return True
        behind = self._names[index - 1] if index else ""
        if is_title(self._segments, self._names, index, order):
            return True
        ends = index + 1 == len(self._names) or self._names[index + 1] in PAGING
        if behind in NAMERS and not self._office and ends:
            return ":" not in self._segments[index] or not leaves(self._segments[index].rpartition(":")[2])
        return self._titled and not order.whole and (order.titled or order.length >= 3)

    def _near_id(self, order: Order, index: int) -> bool:
        before, after = self._beside(index)
        if is_title(self._segments, self._names, index, order):
            return self._parameters.has_id
        if is_topic(self._segments, self._names, index, order) and not self._parameters:
            return False
        if order.titled and (order.length >= 3 or self._reading):
            return False  # the id is that of the text with this title
        return before or after or order.object_within or self._parameters.has_id

    def _beside(self, index: int) -> tuple[bool, bool]:
        before = index > 0 and is_id(self._segments[index - 1])
        if index > 1 and self._names[index - 2] == "man":
            before = False  # a section of the manual
        after = index + 1 < len(self._segments) and is_id(self._segments[index + 1])
        return before, after

    def _is_weak_order(self, order: Order, index: int) -> bool:
        before, after = self._beside(index)
        behind = self._names[index - 1] if index else ""
        if opens_password_form(f"{behind}-{self._names[index]}"):
            return False
        given = before or self._parameters.has_id or (after and order.word not in _NO_ID_BEHIND)
        if self._reading or (order.titled and self._titled):
            return before and not order.titled
        if given or order.object_within or not order.whole:
            return given or order.object_within
        return self._is_of_people(order, index) or self._has_record(index) or self._is_of_all(index)

    def _is_of_all(self, index: int) -> bool:
        words = words_in(self._names[index - 1]) if index else []
        return bool(words) and words[-1] in IMPLIED and self._names[index] not in _FOLDERS_OF_MAIL

    def _has_record(self, index: int) -> bool:
        """Whether it stands behind a record of a collection: ``/users/ann/ban``."""
        if index < 2:
            return False
        collection = self._names[index - 2]
        many = collection.endswith("s") or self._names[index] in _OF_RECORD
        return collection in NOUNS and many and not self._reading

    def _changes(self, order: Order, index: int) -> bool:
        if self._reading:
            return False
        before, after = self._beside(index)
        last = index + 1 == len(self._segments)
        if not order.whole:
            return before or after or self._parameters.has_number or self._has_object(order, index)
        if last and before:
            # With an extension it is a page more often: “/15/start.aspx”.
            return order.word in (CHANGING_LAST if "." in self._segments[index] else CHANGING_RECORD | BEHIND_RECORD)
        if last and (self._has_record(index) or (order.word in _OF_QUEUE and self._is_of_all(index))):
            return order.word in CHANGING_LAST | _OF_QUEUE
        if self._is_of_people(order, index):
            return True
        if self._has_pair_behind(index):
            return order.word in CHANGING_RECORD - CHANGING_NAMES | OF_PEOPLE
        if last and self._parameters.has_number:
            return order.word in CHANGING_LAST
        if not after or index + 2 != len(self._segments):
            return False
        of_noun = index > 0 and self._names[index - 1] in NOUNS and order.word in CHANGING_RECORD - CHANGING_NAMES
        return order.word in CHANGING_BEFORE or of_noun

    def _has_object(self, order: Order, index: int) -> bool:
        """Whether what is no verb alone names what it changes, or something behind it does."""
        last = index + 1 == len(self._segments)
        if order.word.startswith("set "):
            return last and bool(self._parameters) and not self._titled
        if order.word.startswith("add to "):
            return not last or bool(self._parameters)
        switch = order.word.partition(" ")[2] in ON_OFF
        return order.object_within and not (switch and order.titled and self._titled)

    def _is_of_people(self, order: Order, index: int) -> bool:
        """Whether it stands between the word for people and a name: ``/user/follow/ann``."""
        people = index > 0 and self._names[index - 1] in PEOPLE
        return people and index + 2 == len(self._segments) and order.word in OF_PEOPLE

    def _has_pair_behind(self, index: int) -> bool:
        """Whether the path ends in a noun and an id: ``/like/post/7``."""
        if index + 3 != len(self._segments) or not is_id(self._segments[index + 2]):
            return False
        name = self._names[index + 1]
        return name in NOUNS or words_in(name)[-1:] == ["id"]
