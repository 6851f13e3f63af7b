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
    ROLES,
    STATEMENTS,
    SWITCHED,
    SWITCHES,
    WEAK,
    word_set,
)

_BEFORE_WORD: Final = "/-_.=?&+,:~"
_SHORT_CHARS: Final = 4
"""A verb as short as this stands within many words, so it is looked for behind a sign only."""
_LONG_CHARS: Final = 8
"""A verb as long as this is looked for anywhere: one part for four."""


_IN_PATHS: Final = word_set(
    "/on /off /toggle /digital/ /open /close /unlock /lock /follow/ /unfollow/ jolokia /slo /rpc/ /rest/ /execute/ "
    "/json-api/ .post .send .kick .archive /build? /invoke? /buildwith /update? /control? formresponse factorydefault "
    "reset /query? /exec? /sql? /execute? /statement? /relay? /light? /roller? /switch? /cover? /manager/text/stop "
    "/manager/text/start /manager/text/reload /manager/text/deploy /manager/text/expire"
)
"""What the rules of ``known_paths`` and those for a last segment look for."""
_IN_QUERIES: Final = word_set(
    "_switch_user add2queue invoke cmd_mod &status ?status duplicate change_subscription order_again apply_coupon "
    "newuseremail adminhash atl_token wpnonce sesskey amount action= command= method= param= =save =change =connect "
    "=create =add =send =pay =buy decision rsvp response= answer= approval= verdict="
)
"""What the rules for parameters look for."""


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
    found |= {f"/{verb}" for verb in BEHIND_RECORD | BEFORE_CODE | (PROVED_ALONE - {"build", "invoke"})}
    found |= {f"/{verb}" for verb in OPERATIONS} | {f"/{verb.replace('-', '_')}" for verb in OPERATIONS}
    found |= {f"{verb} {role}" for verb in GIVING for role in ROLES}
    found |= {f"{sign}{key}=" for key in ("vote", "rating", "rate", "score") for sign in "?&"}
    found |= {f"del.{program}" for program in ("php", "asp", "jsp", "do", "cgi")}
    found |= _IN_PATHS | _IN_QUERIES
    return tuple(sorted(part for part in found if not _holds_another(part, found)))


def _holds_another(part: str, parts: set[str]) -> bool:
    size = len(part)
    pieces = (part[start:end] for start in range(size) for end in range(start + 1, size + 1) if end - start < size)
    return any(piece in parts for piece in pieces)


DOUBTFUL_PARTS: Final = _parts()
"""One of these stands in every address of ``PLAIN_CHARACTERS`` that is judged at all. Between the two words of one with a blank
anything can stand."""
