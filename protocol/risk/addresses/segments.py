"""Reads one part of an address: its words, and the verb in it that gives an order."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from protocol.risk.addresses import address_words as V
from protocol.risk.addresses.address_words import Kind, word_set
from protocol.risk.addresses.letters import plain

_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD: Final = re.compile(r"[^\W\d_]+|\d+")
_SIGNS: Final = re.compile(r"[\W_]+")
_TITLE_SIGN: Final = re.compile(r"[-+ ,’']")
_ID: Final = re.compile(
    r"(?!(?:19|20)\d\d-)-?\d+|[0-9a-f]{8}-[0-9a-f-]{27}|(?=[0-9a-f]*\d)[0-9a-f]{8,}|(?=\w*\d)(?=\w*[a-z])(?=\w*[A-Z])[\w-]{8,}|\{[^{}]*\}"
    r"|(?=[a-z0-9]*\d[a-z0-9]*\d)[a-z0-9]{10,}|[a-z]{1,12}[-_:]\d+|(?!(?:19|20)\d\d-)\d+[-_:][\w-]+"
)
_MIXED: Final = re.compile(r"\d(?!(?:fa|d|x|k)(?![a-z]))[a-z]", re.IGNORECASE)
_PASSWORD_FORM: Final = re.compile(
    r"(?:reset|lost|forgot|recover|change)[a-z_-]*pass|pass[a-z_-]*(?:reset|lost|forgot|recover|change)"
)
_PART_CHARS_MAX: Final = 200
_TITLE_WORDS: Final = 3
_NAME_WORDS_MAX: Final = 6
_GLUED_CHARS_MAX: Final = 40
_REST_CHARS: Final = 3
"""If a clear verb is followed by at least this many letters, the letters count as its object: ``deleteEverything``."""
_ASKS: Final = V.STOPS - word_set("or of and do i")
_BESIDE: Final = (
    V.NOUNS
    | V.IMPLIED
    | V.OWN
    | word_set("do mass ajax soft hard force really quick confirm btn button submit action bulk")
)
"""Beside one of these words a clear verb is an order: ``delete-item``, ``force-delete``."""
_LISTED: Final = frozenset({"list", "lists", "info", "form", "count"})
_OBJECTS: Final = (V.NOUNS | V.IMPLIED) - word_set(
    "list lists log page view pass password space trip key quote block policy name"
)
_FRONT: Final = re.compile("^(?:from|by|the|all|my|a|one|old|this|any|user|admin)")
_FORMS: Final = V.CLEAR | V.WEAK | V.CHANGING
_VERBS: Final = sorted(
    (each for each in _FORMS if each.isalpha() and len(each) > 3 and each.removesuffix("s") not in _FORMS - {each}),
    key=len,
)
_BEGINS: Final = re.compile(f"(?:do)?({'|'.join(_VERBS[::-1])}|del)(.+)")
_ENDS: Final = re.compile(f"(.+?)({'|'.join(sorted(V.GLUED, key=len)[::-1])}|log(?:out|off)|sign(?:out|off)|del)")
_OUT: Final = ("logout", "logoff", "signout", "signoff")


class Order(NamedTuple):
    """A verb that gives an order in a part of an address."""

    word: str
    kind: Kind
    whole: bool = True
    """True if the part is the verb and nothing else."""
    own: bool = False
    """True if it names its own object: a number, or something that exists only once."""
    titled: bool = False
    """True if its words are joined like those of a title."""
    long: bool = False
    """True if it has as many words as titles have."""


def words_in(text: str) -> list[str]:
    """The words of decoded text, with ``camelCase`` split; numbers are words of their own."""
    return _WORD.findall(plain(_CAMEL.sub("_", text)))


def folded(text: str) -> str:
    """Decoded text with a slash in place of each punctuation character."""
    return _SIGNS.sub("/", plain(text))


def folded_twice(text: str) -> str:
    """The same twice: with the words of ``camelCase`` split, and joined."""
    return f"/{folded(_CAMEL.sub('_', text))}/{folded(text)}/"


def is_id(text: str) -> bool:
    """True if decoded text looks like the id of a record. Versions (``v1``, ``3.11``) do not."""
    return len(text) <= 128 and _ID.fullmatch(text) is not None


def without_extension(text: str) -> tuple[str, str]:
    """A segment without the extension of a program or file, and that extension in lower case."""
    stem, dot, extension = text.rpartition(".")
    return (stem, extension.lower()) if dot and stem and extension.lower() in V.EXTENSIONS else (text, "")


def kind_of(word: str) -> Kind | None:
    """The company that a verb needs to be an order; None for other words."""
    kinds: tuple[tuple[frozenset[str], Kind], ...] = (
        (V.CLEAR, "clear"),
        (V.WEAK, "weak"),
        (V.NAMES, "name"),
        (V.TOKEN_VERBS, "token"),
        (V.CHANGING, "changing"),
    )
    return next((kind for words, kind in kinds if word in words), None)


def leaves(text: str) -> bool:
    """True if decoded text is about logging out, alone or after a prefix (``UserLogout``)."""
    words = [word for word in words_in(text) if not word.isdigit()]
    pair = " ".join(words[-2:])
    return 0 < len(words) <= _TITLE_WORDS and (
        pair in V.LEAVING_PAIRS or words[-1] in V.LEAVING or words[-1].endswith(_OUT)
    )


def opens_password_form(text: str) -> bool:
    """True if decoded text names the form for a new password, which is only shown: ``reset-password``."""
    return _PASSWORD_FORM.search(plain(text)) is not None


def order_of(text: str) -> Order | None:
    """The verb of decoded text without an extension; None if it has none, or is running text."""
    words = words_in(text) if len(text) <= _PART_CHARS_MAX else []
    names = [word for word in words if not word.isdigit()]
    if not names or opens_password_form(text):
        return None
    numbered = len(names) < len(words)
    bare = plain(text).strip("-_.~!*@:$()'\" ").replace("_", "-")
    single = bare if bare in V.CLEAR else "".join(names) if len(names) <= 2 else ""
    if (kind := kind_of(single)) and len(words) <= len(names) + 1 and not (numbered and len(single) <= _REST_CHARS):
        return Order(single, kind, own=numbered and kind != "weak")  # “block-7” means the seventh block
    if " ".join(names) in V.PAIRS and kind is None:
        return Order(" ".join(names), "changing", own=numbered)
    if bare in V.OPERATIONS:
        return Order(bare, "changing", whole=False, own=True)
    if leaves(text):
        return Order("log out", "clear", whole=False)
    if len(names) == 1:
        return _glued(names[0], numbered)
    return None if _MIXED.search(text) else _phrase(text, words)


def _glued(word: str, own: bool = False) -> Order | None:
    """A verb and its object without a separator: ``deleteitem``, ``userdelete``."""
    if word in V.NOT_GLUED or len(word) > _GLUED_CHARS_MAX:
        return None
    if (ends := _ENDS.fullmatch(word)) and (ends[2] in _OUT or _FRONT.sub("", ends[1]) in _BESIDE | {""}):
        return Order(ends[2], "weak" if ends[2] == "del" else "clear", whole=False, own=own)
    begins = _BEGINS.fullmatch(word)
    if begins is None:
        return None
    verb, rest = begins[1], begins[2]
    kind = "weak" if verb == "del" else kind_of(verb) or "weak"
    if rest in _OBJECTS or _FRONT.sub("", rest) in _OBJECTS or (verb in V.GLUED and rest in _BESIDE):
        kind = "changing" if kind in ("name", "token") else "weak" if kind == "clear" and verb not in V.GLUED else kind
        return Order(verb, kind, whole=False, own=own or rest in V.IMPLIED)
    return Order(verb, "weak", whole=False) if verb in V.GLUED and len(rest) >= _REST_CHARS else None


def _phrase(text: str, words: list[str]) -> Order | None:
    """The order in several words. A title must be short and name an object of applications to count; the name of a function need
    not.
    """
    titled, long = _TITLE_SIGN.search(text) is not None, len(words) >= _TITLE_WORDS
    implied, numbered = not V.IMPLIED.isdisjoint(words), any(map(str.isdigit, words))
    if said := _says(words):
        own = implied or words[-1] in V.ON_OFF or "all" in words
        return Order(said, "changing", whole=False, own=own, titled=titled, long=long)
    if words[0] in _ASKS or (not titled and not _readable(words)):
        return None
    for at, word in enumerate(words):
        kind = kind_of(word)
        glued = None if kind or titled else _glued(word)
        if glued and glued.kind == "clear":
            return glued._replace(long=long)
        if kind and _orders(words, at, kind, titled):
            own = numbered or (implied and kind != "clear")
            return Order(word, "changing" if kind == "name" else kind, whole=False, own=own, titled=titled, long=long)
    return None


def _readable(words: list[str]) -> bool:
    short = any(len(word) < 3 and not word.isdigit() and word not in V.SHORT for word in words)
    return not short and _ASKS.isdisjoint(words)


def _orders(words: list[str], at: int, kind: Kind, titled: bool) -> bool:
    """True if the verb at ``at`` is the operation and its neighbour the object."""
    word, first, last, length = words[at], at == 0, at + 1 == len(words), len(words)
    after = "" if last else words[at + 1]
    near = after or words[at - 1]
    if not (first or last) and (titled or length > _NAME_WORDS_MAX or kind != "clear"):
        return False
    if after in V.OPTIONS or (
        titled and length > _TITLE_WORDS and not (kind == "clear" and after in ("my", "all", "selected"))
    ):
        return False
    if kind == "clear":
        far = words[-1] if first else near
        return not titled or far in _BESIDE or far.isdigit() or after in V.OWN
    if kind == "weak":
        far = words[-1] if first else near
        names = far in (V.NOUNS | V.IMPLIED) - V.OWN or near in V.OWN or near.isdigit() or word in ("del", "rm")
        return names and (first or not titled or length < _TITLE_WORDS)
    named = after in V.NOUNS - V.OPTIONS - V.OWN - {"all"} and words[-1] not in _LISTED
    return first and kind != "token" and length <= _TITLE_WORDS and named


def _says(words: list[str]) -> str:
    """Words that are an order only together: ``mark-as-read``, ``add-to-cart``, ``make_admin``, ``relayOn``."""
    first, last, length = words[0], words[-1], len(words)
    if first == "mark" and last in V.MARKS and length < _NAME_WORDS_MAX:
        return f"mark {last}"
    if first == "add" and length < 5 and (last in V.CARTS or (words[1] == "to" and last not in V.ADDED_ELSEWHERE)):
        return f"add to {last}"
    if first in V.GIVING and last in V.ROLES and length < 5:
        return f"{first} {last}"
    sets = last in V.KEPT or (first == "set" and V.VIEWED.isdisjoint(words) and not words[1].isdigit())
    if first in V.SETTERS and (sets or first == "toggle") and length < 5:
        return f"{first} {words[1]}"
    if first == "move" and last in ("up", "down") and length < 5:
        return f"move {last}"
    return " ".join(words) if _is_switch(words) else ""


def _is_switch(words: list[str]) -> bool:
    names = [word for word in words if not word.isdigit()]
    return len(names) == 2 and names[0] in V.SWITCHED and names[1] in V.ON_OFF
