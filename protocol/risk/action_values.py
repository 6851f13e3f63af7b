"""What the value of a parameter orders: ``action=delete``, ``do=markRead``, ``cmd=set lamp on``."""

from __future__ import annotations

import re
from typing import Final

from protocol.risk.address_words import (
    ACTIONS,
    ACTIONS_TOO,
    CARTS,
    CHANGING,
    CHANGING_LAST,
    CHANGING_NAMES,
    CLEAR,
    IMPLIED,
    NOUNS,
    ON_OFF,
    OPTIONS,
    SWITCHED,
    VIEWED,
    WEAK,
    word_set,
)
from protocol.risk.letters import plain
from protocol.risk.segments import Order, is_glued, leaves, opens_password_form, order_of, without_extension, words_in

KEY_PARTS: Final = re.compile(r"[\[\].:]+")
_GENERIC: Final = word_set("param job m f type what request req func2 verb event component name call process")
"""Of the keys that may say what is to be done, those that say anything else as often: they need an object."""
_CORE_ENDINGS: Final = ("action", "cmd")
_SPELT: Final = {verb for verb in (CLEAR | WEAK | CHANGING) - CHANGING_NAMES if verb.isascii() and verb.isalpha()}
_VERBS: Final = re.compile("|".join(sorted((verb for verb in _SPELT if len(verb) > 2), key=len, reverse=True)))
"""The longest first; one look for all of them."""
_PUT: Final = CARTS | {"product", "item"}
_ADDED: Final = word_set("subscription subscriptions list user buddy ignore reply")
_BESIDE_RECORD: Final = word_set(
    "active inactive deactive buy notify ack acknowledge bump unload swap sticky stick recommend"
)
"""What is said of a record, and is the name of a page elsewhere: ``operation=inactive&id=7``."""
_DEVICE_VERBS: Final = frozenset({"define", "defmod", "attr", "setreading", "rename"})
_CAMEL_CALL: Final = re.compile(
    r"(?:Stop|Start|Reboot|Run|Send|Create|Put|Update|Modify|Attach|Detach|Associate|Set|Confirm|Publish|Add)[A-Z][A-Za-z]{2,60}"
)
_NO_SETTER: Final = re.compile(r"set(?:s|t.*|up.*|back.*|list.*|of.*)?")


def last_part(key: str) -> str:
    """The last name in a key: ``id`` of ``item[id]``, ``op`` of ``op[7]``."""
    parts = [part for part in KEY_PARTS.split(key) if part]
    names = [part for part in parts if not part.isdigit()]
    return (names or parts or [""])[-1]


def value_order(key: str, value: str, has_object: bool, is_one_of_many: bool) -> Order | None:
    """The order in the value of a key that says what is to be done."""
    words = words_in(last_part(key))
    if not words or not value or len(value) > 200:
        return None
    name = "".join(words)
    core = (
        name in ACTIONS
        or name.endswith(_CORE_ENDINGS)
        or (len(words) > 1 and words[-1] in ACTIONS and len(words[-1]) > 1)
    )
    if not core and name not in ACTIONS_TOO and words[:1] != ["submit"]:
        return None
    if leaves(value) and len(words_in(value)) <= 3:
        return Order("log out", "clear", whole=True)
    if opens_password_form(plain(value)):
        return None
    if core and (said := _small(value, has_object, is_one_of_many)):
        return said
    if core and (said := _of_device(name, value) or _of_cloud(last_part(key), value)):
        return said
    found = order_of(without_extension(value)[0])
    if found and found.kind == "clear":
        return found if core or name not in _GENERIC or has_object else None
    if found and found.kind == "weak" and (core or has_object):
        return found
    if found and found.word in CHANGING_LAST and is_one_of_many and name in ("what", "mode", "submit"):
        return found
    named = words_in(value)
    if core and 1 < len(named) <= 4 and named[0] in WEAK and named[-1] in NOUNS | IMPLIED:
        return Order(named[0], "weak", whole=False)
    if not core:
        return (_named_verb(value) or _called(value)) if name in ("method", "operationname") else None
    if found and found.kind == "changing" and found.whole and (is_one_of_many or found.object_within):
        return found
    return _named_verb(value) or (_verb_beside(value, has_object) if has_object or is_one_of_many else None)


def _small(value: str, has_object: bool, is_one_of_many: bool) -> Order | None:
    """What changes something small, or sets something: ``do=markRead``, ``cmd=set lamp on``, ``operation=inactive``."""
    words = words_in(value)
    if not words or not (has_object or is_one_of_many or len(words) > 1):
        return None
    if words[-1] in ON_OFF and (len(words) == 1 or words[0] in SWITCHED):
        return Order(" ".join(words), "changing", whole=True)
    if len(words) <= 2 and has_object and words[0] in _BESIDE_RECORD:
        return Order(words[0], "changing", whole=True)
    if len(words) <= 3 and words[0] in ("duplicate", "clone"):
        return Order(words[0], "changing", whole=True)
    if has_object and words[0] == "switch" and words[-1] in ("user", "perm", "role"):
        return Order(" ".join(words), "changing", whole=True)
    if has_object and words in (["respond"], ["confirmaction"], ["confirm", "action"]):
        return Order(words[0], "changing", whole=True)
    return _setter(words) if is_one_of_many or " " in value else None


def _of_device(name: str, value: str) -> Order | None:
    """A command and what it sets, as devices take it (``Power 1`` of Tasmota), or a player (``pl_pause``)."""
    words = words_in(value)
    if " " in value and words and words[0] in _DEVICE_VERBS:
        return Order(words[0], "changing", whole=False)
    if name == "cmnd" and " " in value and words[0] not in ("status", "state"):
        return Order(words[0], "changing", whole=False)
    if words[:1] == ["pl"] and len(words) > 1 and words[1] in CHANGING | WEAK | CLEAR:
        return Order(words[1], "changing", whole=False)
    return None


def _called(value: str) -> Order | None:
    """The verb of a method behind its space: ``aria2.pauseAll``."""
    words = words_in(value.rpartition(".")[2]) if "." in value else []
    counts = bool(words) and (words[0] in CHANGING | WEAK or words[0] in ("add", "set", "change", "force"))
    return Order(words[0], "changing", whole=False) if counts else None


def _of_cloud(key: str, value: str) -> Order | None:
    """A call as clouds name it: ``Action=StopInstances``."""
    named = key == "Action" and _CAMEL_CALL.fullmatch(value)
    return Order(value[:40], "changing", whole=False) if named else None


def _setter(words: list[str]) -> Order | None:
    first = words[0]
    if first == "set" and len(words) > 1 and not set(words) & VIEWED:
        return Order(f"set {words[1]}", "changing", whole=False)
    glued = len(words) == 1 and first.startswith("set") and len(first) > 6 and not _NO_SETTER.fullmatch(first)
    shown = any(first.removeprefix("set").startswith(word) for word in VIEWED)
    return Order(first, "changing", whole=False) if glued and not shown else None


def _verb_beside(value: str, has_object: bool) -> Order | None:
    """The verb of an action beside an id, as in ``banuser``, ``activate_user`` or ``article.trash``."""
    words = words_in(value)
    if not 0 < len(words) <= 4 or " " in value:
        return None
    if "add" in (words[0], words[-1]) and not _PUT.isdisjoint((words[0], words[-1])):
        return Order("add", "changing", whole=False)
    for index, word in enumerate(words):
        named = index in (0, len(words) - 1) or words[index + 1] in NOUNS
        changing = word in CHANGING and (word not in CHANGING_NAMES or (has_object and len(words) == 1))
        if named and (word in WEAK or changing):
            return Order(word, "changing" if changing else "weak", whole=False)
    if words[0].startswith("add") and words[0][3:] in _PUT | _ADDED and has_object:
        return Order("add", "changing", whole=False)
    begins = _VERBS.match(words[0])
    verb = begins[0] if begins else ""
    rest = words[0].removeprefix(verb)
    named = (rest in NOUNS and has_object) or (len(verb) >= 5 and len(rest) >= 3)
    return Order(verb, "weak", whole=False) if verb and named else None


def _named_verb(value: str) -> Order | None:
    """``posts.publish``, ``item_remove_dq``: the clear verb of a longer name."""
    words = words_in(value)
    if len(words) > 6 or " " in value:
        return None
    for index, word in enumerate(words):
        after = words[index + 1] if index + 1 < len(words) else ""
        if (word in CLEAR or is_glued(word)) and after not in OPTIONS:
            return Order(word, "clear", whole=False)
    return None
