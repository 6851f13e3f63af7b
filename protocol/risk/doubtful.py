"""What an address must hold to be judged at all, so that every other one need not be read (``adapters/browser/plain.py``)."""

from __future__ import annotations

from typing import Final

from protocol.risk.address_words import (
    ACTIONS,
    BEFORE_CODE,
    BEHIND_RECORD,
    CHANGING,
    CHANGING_LAST,
    CLEAR,
    GIVING,
    GLUED,
    KEPT,
    LISTS,
    MARKS,
    OPERATIONS,
    OVERRIDES,
    PAIRS,
    PROVED,
    PROVED_ALONE,
    PROVED_LAST,
    PUTS,
    RECORD_VALUES,
    STATEMENTS,
    SWITCHED,
    SWITCHES,
    WEAK,
)

_BEFORE_WORD: Final = "/-_.=?&+,:~"
_SHORT_CHARS: Final = 4
"""A verb as short as this stands within many words, so it is looked for behind a sign only."""
_LONG_CHARS: Final = 8
"""A verb as long as this is looked for anywhere: one part for four."""


def _parts() -> tuple[str, ...]:
    verbs = {verb for verb in (*CLEAR, *WEAK) if verb.isascii()}
    verbs |= {verb.replace("-", "_") for verb in verbs}
    short = {verb for verb in verbs if len(verb) <= _SHORT_CHARS}
    behind = {f"{sign}{verb}" for verb in short for sign in _BEFORE_WORD}
    long = {verb for verb in CHANGING if len(verb) >= _LONG_CHARS}
    changing = long | {f"{sign}{verb}" for verb in CHANGING - long for sign in "/="}
    changing |= {f"{sign}{verb}" for verb in CHANGING_LAST - long for sign in "?&"}
    keys = {*OVERRIDES, *STATEMENTS, "mutation", "stream.body"} | {f"{key}=" for key in ACTIONS if len(key) > 1}
    found = (verbs - short) | behind | changing | keys | set(GLUED) | {" ".join(pair) for pair in PAIRS}
    found |= {f"{cart} {add}" for cart, add in PUTS} | {f"mark {mark}" for mark in MARKS}
    found |= {f"/{switch}?" for switch in SWITCHES} | {f"{key}={sign}" for key in SWITCHED for sign in "ot"}
    found |= {f"{switch}{sign}{letter}" for switch in SWITCHED for sign in "/-_" for letter in "ot"}
    found |= {f"{sign}{verb}" for verb in PROVED for sign in "?&="} | {f"/{verb}" for verb in PROVED_LAST}
    found |= {f"add {each}" for each in LISTS} | {f"change {kept}" for kept in KEPT}
    found |= {f"{sign}{verb}" for verb in RECORD_VALUES for sign in "?&"}
    found |= {"add-to", "add_to", "/set_", "/set-", "=set", "move up", "move down"}
    found |= {f"/{verb}" for verb in BEHIND_RECORD | BEFORE_CODE | PROVED_ALONE | OPERATIONS}
    found |= {f"/{verb.replace('-', '_')}" for verb in OPERATIONS}
    found |= {
        f"{verb} {role}" for verb in GIVING for role in ("admin", "moderator", "superuser", "staff", "owner", "role")
    }
    found |= {
        "jolokia",
        "_switch_user",
        "add2queue",
        "invoke",
        "cmd_mod",
        "formresponse",
        "/update?",
        "duplicate",
        "&status",
    }
    found |= {f"/manager/text/{verb}" for verb in ("stop", "start", "reload", "deploy", "expire")}
    found |= {
        ".post",
        ".send",
        ".edit",
        ".set",
        ".join",
        "/digital/",
        "/rest/",
        "/execute/",
        "/json-api/",
        "change_subscription",
    }
    found |= {f"/{place}?" for place in ("query", "exec", "sql", "execute", "relay", "light", "roller", "cover")}
    found |= {"wpnonce", "amount", "action=", "command="}
    found |= {
        "atl_token",
        "newuseremail",
        "adminhash",
        "order_again",
        "apply_coupon",
        "/slo",
        "factorydefault",
        "decision",
        "rsvp",
    }
    found |= {f"/{door}" for door in ("open", "close", "unlock", "lock", "update", "control")}
    found |= {
        "method=",
        "param=",
        "rate",
        "vote",
        "confirm",
        "=save",
        "=change",
        "=connect",
        "=create",
        "=add",
        "=send",
        "=pay",
    }
    found |= {"=buy", "response=", "answer=", "approval=", "verdict=", "reset", "sesskey", "/rpc/"}
    found |= {"jolokia", "/on", "/off", "/toggle", "/follow/", "/unfollow/"}
    found |= {f"del.{program}" for program in ("php", "asp", "jsp", "do", "cgi")}
    return tuple(sorted(part for part in found if not _holds_another(part, found)))


def _holds_another(part: str, parts: set[str]) -> bool:
    size = len(part)
    pieces = (part[start:end] for start in range(size) for end in range(start + 1, size + 1) if end - start < size)
    return any(piece in parts for piece in pieces)


DOUBTFUL_PARTS: Final = _parts()
"""One of these stands in every address of ``PLAIN_CHARACTERS`` that is judged at all. Between the two words of one with a blank
anything can stand."""
