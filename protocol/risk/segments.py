"""One part of an address: decoded, in words, and what it orders."""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

from protocol.risk.address_words import (
    ADDED_ELSEWHERE,
    CARTS,
    CHANGING,
    CHANGING_RECORD,
    CLEAR,
    EXTENSIONS,
    GIVING,
    GLUED,
    IMPLIED,
    KEPT,
    LEAVING,
    MARKS,
    NOT_GLUED,
    NOUNS,
    ON_OFF,
    OPTIONS,
    ROLES,
    SETTERS,
    STOPS,
    SWITCHED,
    VIEWED,
    WEAK,
    word_set,
)
from protocol.risk.letters import plain

_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD: Final = re.compile(r"[^\W\d_]+|\d+")
_SIGNS: Final = re.compile(r"[\W_]+")
_TITLE_SIGN: Final = re.compile(r"[-+ ,’']")
_MIXED: Final = re.compile(r"\d(?!(?:fa|d|x|k)(?![a-z]))[a-z]", re.IGNORECASE)
_ID: Final = re.compile(
    r"(?!(?:19|20)\d\d-)-?\d+|[0-9a-f]{8}-[0-9a-f-]{27}|(?=[0-9a-f]*\d)[0-9a-f]{8,}|(?=\w*\d)(?=\w*[a-z])(?=\w*[A-Z])[\w-]{8,}|\{[^{}]*\}"
    r"|(?=[a-z0-9]*\d[a-z0-9]*\d)[a-z0-9]{10,}|[a-z]{1,12}[-_:]\d+|(?!(?:19|20)\d\d-)\d+[-_:][\w-]+"
)
_SHORT: Final = word_set("do j fa my by id to of in on or it me db vm ip un ui op go tx pm qr up ad ok os a e")
_BEFORE_NOUN: Final = word_set("from by the all my a one old this any user admin")
_BESIDE: Final = NOUNS | word_set("do mass ajax soft hard force really quick")
"""Beside one of these a clear verb is a command: ``delete-item``, ``force-delete``."""
_PASSWORD_FORM: Final = re.compile(
    r"(?:reset|lost|forgot|recover|change)[a-z_-]*pass|pass[a-z_-]*(?:reset|lost|forgot|recover|change)"
)
_OWN: Final = word_set("my your all this these selected multiple own it me")
_MINE: Final = frozenset({"my", "all", "selected"})
"""Of those the ones that make a long phrase a command too: ``delete-my-account-now``."""
_MARK_WORDS_MAX: Final = 5
_SETTING_METHOD: Final = re.compile(r"[A-Z][A-Za-z]*\.(?:Set|Toggle)(?:[A-Z][A-Za-z]*)?")
"""How a device names what it is asked to do: ``Switch.Set``."""
_CONTROLLER: Final = re.compile(r"([A-Z][a-z]+)-([A-Z][A-Za-z]+)")
_SHORTEST: Final = 4
"""A verb that is shorter begins too many other words."""
_BEGINS: Final = re.compile(
    "|".join(
        sorted(
            {*GLUED, *(verb for verb in WEAK | CHANGING_RECORD if verb.isalpha() and len(verb) >= _SHORTEST)},
            key=len,
            reverse=True,
        )
    )
)
"""Verbs that are joined to what they change; one look for all of them, the longest first."""
_BINS: Final = frozenset({"trashbin", "recyclebin"})
_ENDING_CHARS: Final = 3
_GLUED_NOUNS: Final = (NOUNS | IMPLIED) - word_set(
    "list lists log page view pass password space trip key quote block policy"
)
_VERBS_ONLY: Final = word_set(
    "sil elimina cancella iptal kapat zrus zrusit anuluj anular annuler annulla rm del disable evict xoa"
)

Kind = Literal["clear", "weak", "changing"]


class Order(NamedTuple):
    """What a part of an address orders."""

    word: str
    kind: Kind
    whole: bool
    """The part is the verb, and nothing else."""
    titled: bool = False
    """Words joined as in a title."""
    length: int = 1
    object_within: bool = False
    """It names what it is done to: a number, or something that there is one of."""


def in_words(text: str) -> str:
    """Decoded text with a sign between the words of ``camelCase``."""
    return _CAMEL.sub("_", text)


def words_in(text: str) -> list[str]:
    """The words of decoded text, those of ``camelCase`` too; numbers by themselves."""
    return _WORD.findall(plain(in_words(text)))


def folded(text: str) -> str:
    """Decoded text with a slash for each sign."""
    return _SIGNS.sub("/", plain(text))


def is_id(text: str) -> bool:
    """Whether decoded text looks like the id of a record. Versions (``v1``, ``3.11``) do not."""
    return len(text) <= 128 and _ID.fullmatch(text) is not None


def without_extension(text: str) -> tuple[str, str]:
    """A segment without the extension of a program or file, and that extension in lower case."""
    stem, dot, extension = text.rpartition(".")
    return (stem, extension.lower()) if dot and stem and extension.lower() in EXTENSIONS else (text, "")


def order_of(text: str) -> Order | None:
    """What decoded text without an extension orders; None if it orders nothing, or is text that somebody wrote."""
    if len(text) > 200:  # no name of an action is as long
        return None
    words = words_in(text)
    if not words:
        return None
    found = _whole(text, words) or _of_words(text, words)
    return None if found and found.kind == "weak" and opens_password_form(plain(text)) else found


def _of_words(text: str, words: list[str]) -> Order | None:
    if len(words) == 1:
        return _glued(words[0]) or _with_del(words[0])
    if _SETTING_METHOD.fullmatch(text):
        return Order(f"set {words[0]}", "changing", whole=False, length=len(words))
    joined = _CONTROLLER.fullmatch(text)
    if joined and plain(joined[1]) in CARTS | IMPLIED:
        return _of_controller(plain(joined[1]), joined[2])
    if names_switch(words):
        titled = _TITLE_SIGN.search(text) is not None
        return Order(" ".join(words), "changing", whole=False, titled=titled, length=len(words), object_within=True)
    if _MIXED.search(text):
        return None  # an id in which a word happens to stand
    titled = _TITLE_SIGN.search(text) is not None
    if words[0] == "mark" and words[-1] in MARKS and len(words) <= _MARK_WORDS_MAX:
        return Order(f"mark {words[-1]}", "changing", whole=False, titled=titled, object_within="all" in words)
    return _phrase(words, titled) if titled else _identifier(words)


def opens_password_form(text: str) -> bool:
    """Whether plain text names the form for a new password, which only shows: ``reset-password``."""
    return "pass" in text and _PASSWORD_FORM.search(text) is not None


def names_switch(words: list[str]) -> bool:
    """Whether these are something that is switched, and how: ``relayOn``, ``led-2-off``."""
    names = [word for word in words if not word.isdigit()]
    return len(names) == 2 and len(words) <= 3 and names[0] in SWITCHED and names[1] in ON_OFF


def _of_controller(controller: str, action: str) -> Order | None:
    """``Cart-AddProduct``: an action of a controller, as some shops write it."""
    if words_in(action)[0] == "add":
        return Order(f"add to {controller}", "changing", whole=False)
    found = order_of(action)
    return found if found and found.kind == "clear" and not found.whole else None


def leaves(text: str) -> bool:
    """Whether decoded text is about logging out, by itself or behind a prefix (``UserLogout``)."""
    words = [word for word in words_in(text) if not word.isdigit()]
    return 0 < len(words) <= 3 and bool(_leaving_at_end(words))


def _leaving_at_end(words: list[str]) -> str:
    if tuple(words[-2:]) in LEAVING:
        return " ".join(words[-2:])
    return words[-1] if _is_leaving(words[-1]) else ""


def _is_leaving(word: str) -> bool:
    return word in _LEAVING_WORDS or (word.endswith(("logout", "signout", "logoff")) and len(word) <= 16)


_LEAVING_WORDS: Final = word_set(
    "logout logoff signout signoff abmelden ausloggen uitloggen afmelden deconnexion deconnecter desconectar "
    "cerrarsesion disconnetti deconectare wyloguj odhlasit odjava vyhod выход выйти 登出 退出 注销 ログアウト 로그아웃 התנתק "
    "αποσυνδεση unsubscribe endsession"
)


def _whole(text: str, words: list[str]) -> Order | None:
    """The verb that the whole text is, perhaps with a number."""
    names = [word for word in words if not word.isdigit()]
    own_id = len(names) < len(words)
    bare = plain(text).strip("-_.~!*@:$()'\" ").replace("_", "-")
    if len(names) == 1 and len(words) <= 2:
        kind = _kind(names[0]) if not own_id or len(names[0]) > 3 else None
        within = own_id and kind != "weak"  # “block-7” is the seventh block
        return Order(names[0], kind, whole=True, object_within=within) if kind else None
    if bare in CLEAR:  # a verb of another language can be joined by its own hyphen
        return Order(bare, "clear", whole=True)
    if len(words) == len(names) == 2 and (kind := _kind("".join(names))):
        return Order(" ".join(names) if tuple(names) in LEAVING else "".join(names), kind, whole=True)
    return None


def _kind(word: str) -> Kind | None:
    if word in CLEAR:
        return "clear"
    if word in WEAK:
        return "weak"
    return "changing" if word in CHANGING else None


def is_glued(word: str) -> bool:
    """Whether a word is a verb and a noun without a sign between them: ``deleteitem``."""
    if word in CLEAR or _is_leaving(word):
        return word not in CLEAR
    if word in NOT_GLUED or not 6 < len(word) <= 40:
        return False
    for verb in GLUED:
        for rest in (word.removeprefix("do").removeprefix(verb), word.removesuffix(verb)):
            if rest != word and (rest in _BESIDE or any(rest.removeprefix(each) in NOUNS for each in _BEFORE_NOUN)):
                return True
    return False


def _glued(word: str) -> Order | None:
    if is_glued(word):
        return Order(word, "clear", whole=False)
    if word in _BINS or not (begins := _BEGINS.match(word)):
        return None
    verb, rest = begins[0], word[begins.end() :]
    if verb in GLUED and word not in NOT_GLUED and len(rest) > _ENDING_CHARS:
        return Order(verb, "weak", whole=False)
    if rest in _GLUED_NOUNS:
        kind: Kind = "weak" if verb in WEAK else "changing"
        return Order(verb, kind, whole=False, object_within=kind == "weak" and rest in IMPLIED)
    return None


def _with_del(word: str) -> Order | None:
    noun = word.removeprefix("del") if word.startswith("del") else word.removesuffix("del")
    return Order("del", "weak", whole=False) if noun != word and len(noun) > 2 and noun in NOUNS else None


def _identifier(words: list[str]) -> Order | None:
    """Words joined by underscores, dots or capitals: the name of something that a program does."""
    if (leaving := _leaving_at_end(words)) and len(words) <= 6 and not set(words) & STOPS:
        return Order(leaving, "clear", whole=False, length=len(words))
    if any(len(word) < 3 and not word.isdigit() and word not in _SHORT for word in words):
        return None
    within = bool(set(words) & IMPLIED) or any(word.isdigit() for word in words)
    for index, word in enumerate(words):
        if word in STOPS and word not in ("or", "of", "and", "do", "i"):
            return None
        after = words[index + 1] if index + 1 < len(words) else ""
        edge = index == 0 or not after
        if (word in CLEAR or is_glued(word)) and after in OPTIONS:
            return None
        if (word in CLEAR or is_glued(word)) and (edge or len(words) <= 6):
            return Order(word, "clear", whole=False, length=len(words))
        if word in WEAK and edge:
            beside = after or words[index - 1]
            if beside in NOUNS | IMPLIED or beside.isdigit() or word in _VERBS_ONLY:
                return Order(word, "weak", whole=False, length=len(words), object_within=within)
    if words[0] == "set" and not set(words) & VIEWED and not words[1].isdigit():
        return Order(f"set {words[1]}", "changing", whole=False, length=len(words))
    if words[0] == "toggle":
        return Order("toggle", "changing", whole=False, length=len(words), object_within=words[-1] in ON_OFF)
    if words[0] in CHANGING_RECORD and words[1] in NOUNS:
        return Order(words[0], "changing", whole=False, length=len(words))
    return _put_in_cart(words, titled=False)


def _phrase(words: list[str], titled: bool) -> Order | None:
    """Words joined by hyphens or blanks: a command only if it is short, and names what applications keep."""
    first, second, last, length = words[0], words[1], words[-1], len(words)
    within = bool(set(words) & IMPLIED) or any(map(str.isdigit, words))
    found = ""
    if first in CLEAR and second not in OPTIONS:
        short = length <= 3 and (last in NOUNS or last.isdigit())
        found = first if short or second in (_OWN if length <= 3 else _MINE) else ""
    elif last in CLEAR and length <= 3 and (words[-2] in _BESIDE or words[-2].isdigit()):
        found = last
    elif length <= 4 and tuple(words[-2:]) in LEAVING:
        found = " ".join(words[-2:])
    if found:
        return Order(
            found, "clear", whole=False, titled=True, length=length, object_within=any(map(str.isdigit, words))
        )
    if length <= 3 and first in WEAK and ((last in NOUNS | IMPLIED and last not in _OWN) or second in _OWN):
        found = first
    elif length == 2 and last in WEAK and first in NOUNS:
        found = last
    if found:
        return Order(found, "weak", whole=False, titled=True, length=length, object_within=within)
    return _put_in_cart(words, titled)


def _put_in_cart(words: list[str], titled: bool) -> Order | None:
    if words[0] == "add" and words[-1] in CARTS and len(words) <= 4:
        return Order(f"add to {words[-1]}", "changing", whole=False, titled=titled, length=len(words))
    if words[:2] == ["add", "to"] and len(words) == 3 and words[2] not in ADDED_ELSEWHERE:
        return Order(f"added to {words[2]}", "changing", whole=False, titled=titled, length=len(words))
    if words[0] in GIVING and words[-1] in ROLES and len(words) <= 4:
        return Order(f"{words[0]} {words[-1]}", "changing", whole=False, titled=titled, length=len(words))
    if words[0] in SETTERS and words[-1] in KEPT and len(words) <= 4:
        return Order(f"{words[0]} {words[-1]}", "changing", whole=False, titled=titled, length=len(words))
    if len(words) == 2 and words[0] in CHANGING_RECORD and words[1] in NOUNS - OPTIONS:
        return Order(words[0], "changing", whole=False, titled=titled, length=len(words))
    return None
