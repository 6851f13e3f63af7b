"""POST requests that only read, known by their form: GraphQL queries, JSON-RPC, searches, computations, lists that are turned.

What is known here is what a site's own conventions say, as with GET. What is known by none of these forms needs an approval.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, Final, NoReturn
from urllib.parse import unquote, unquote_plus, urlsplit

from protocol.risk import graphql
from protocol.risk.address_words import CHANGING, CLEAR, LISTS, STATEMENT_VERBS, STATEMENTS, WEAK, word_set
from protocol.risk.addresses import judge_address
from protocol.risk.letters import plain
from protocol.risk.read_words import (
    ACTION_FIELDS,
    CALLED,
    CALLS,
    CALLS_THAT_READ,
    COMPUTED_THINGS,
    COMPUTING_WORDS,
    LANGUAGE_ADDRESSES,
    LANGUAGE_FIELDS,
    LIST_FIELDS,
    LISTING_ENDS,
    PERSON_FIELDS,
    READING_ENDS,
    READING_VERBS,
    SEARCH_FIELDS,
    SEARCH_SIGNS,
    SEARCH_WORDS,
    TOKEN_FIELDS,
    WRITING_NOUNS,
    WRITING_VERBS,
)
from protocol.risk.segments import without_extension, words_in

BODY_CHARS_MAX: Final = graphql.DOCUMENT_CHARS_MAX
_BATCH_MAX: Final = 64
_FIELDS_MAX: Final = 512
_DEPTH_MAX: Final = 16
_VALUE_CHARS_MAX: Final = 2_000
_KEY_CHARS_MAX: Final = 256
_PATH: Final = re.compile(r"(?:/[A-Za-z0-9_.,*~:@-]*)*")
_GRAPHQL_FIELDS: Final = frozenset({"query", "variables", "operationName", "extensions"})
_RPC_FIELDS: Final = frozenset({"jsonrpc", "method", "params", "id"})
_ALSO_ASKED: Final = word_set(
    "query extensions doc docid documentid id hash queryid queryhash sha256hash method params request calls"
)
"""In an address, these may name another document or method than the body does."""
_RPC_METHOD: Final = re.compile(r"[A-Za-z][\w.:/-]{0,127}")
_ELASTIC: Final = frozenset(
    {"_search", "_count", "_mget", "_msearch", "_validate/query", "_field_caps", "_explain", "_terms_enum"}
)
_ALGOLIA: Final = re.compile(r"/1/indexes/[^/]+/(?:queries|query|objects|recommendations|facets/[^/]+/query)")
_ALGOLIA_FIELDS: Final = frozenset({"requests", "strategy", "params", "query", "facetQuery", "cursor"})
_CHARSET: Final = re.compile(r"charset\s*=\s*[\"']?([^\s\"';]*)")
_CHARSETS: Final = frozenset({"utf-8", "utf8", "us-ascii", "iso-8859-1"})
"""In which letters and signs are the same bytes."""
_CAMEL_QUERY: Final = re.compile(r"[A-Za-z_]\w{0,120}Query")
_KEY_PARTS: Final = re.compile(r"[\[\].$]+")

_Pairs = list[tuple[str, Any]]


def reads_by_form(method: str, url: str, content_type: str, body: str | None) -> str:
    """By which form a request is known to read only; empty if by none.

    body: None if it is unknown. Of JSON with two keys of one name nobody knows which one counts; it has no form.
    """
    path = _path(url)
    if method.upper() != "POST" or body is None or len(body) > BODY_CHARS_MAX or not path or judge_address(url, "POST"):
        return ""
    kind, _, more = content_type.lower().partition(";")
    kind = kind.strip()
    if (charset := _CHARSET.search(more)) and charset[1] not in _CHARSETS:
        return ""  # a site may decode it, and read other fields than stand here
    last = [part for part in path.split("/") if part][-2:]
    asked = _form(urlsplit(url).query)
    if _ALGOLIA.fullmatch(path):
        # Its client calls JSON a form or plain text, to save the question to another site.
        return "a search of Algolia" if _is_algolia(_decoded(body)) else ""
    if kind == "application/x-www-form-urlencoded":
        return "" if _orders(asked) else _read_form(_form(body), last, asked or [])
    if kind == "application/x-ndjson" or (last and last[-1] == "_msearch"):
        return _read_elastic(last, body.split("\n"))
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        return ""
    if last and (last[-1] in _ELASTIC or "/".join(last) in _ELASTIC):
        return _read_elastic(last, [body])
    return _read_json(_decoded(body), last, asked)


def _read_form(pairs: _Pairs | None, last: list[str], asked: _Pairs) -> str:
    """asked: what the address says beside its path. Of a body that was not read whole nothing is known."""
    if pairs is None:
        return ""
    if _ends_in_search(last) and _is_search(pairs, last):
        return "a search form"
    if _computes(last, pairs):
        return "a computation"
    if _calls(last, pairs, asked):
        return "a call that reads"
    if _turns(last, pairs):
        return "a list that is turned or sorted"
    if _selects(pairs, asked):
        return "a SELECT"
    return "a choice of language" if _chooses_language(last, pairs) else ""


def _path(url: str) -> str:
    """The path of an address in which every site reads the same; else empty."""
    try:
        written = urlsplit(url).path or "/"
    except ValueError:
        return ""
    path = unquote(written)
    plainly = _PATH.fullmatch(path) and path.count("/") == written.count("/") and "%" not in path
    return path if plainly and "//" not in path and not {".", ".."} & set(path.split("/")) else ""


def _read_json(value: Any, last: list[str], asked: _Pairs | None) -> str:
    entries = value if isinstance(value, list) else [value]
    if not 0 < len(entries) <= _BATCH_MAX or not all(isinstance(entry, dict) for entry in entries):
        return ""
    # Some servers (express-graphql) look into the address first.
    alone = asked is not None and not any(_name(key) in _ALSO_ASKED for key, _ in asked)
    if alone and all(_is_graphql(entry) for entry in entries):
        return "a GraphQL query"
    if alone and all(_is_rpc(entry) for entry in entries):
        return "a JSON-RPC call that reads"
    if _is_livewire(value, last):
        return "a call of Livewire that reads"
    if not isinstance(value, dict) or _orders(asked):
        return ""
    pairs = _pairs(value)
    if pairs is None:
        return ""
    if _ends_in_search(last) and _is_search(pairs, last):
        return "a search"
    if _lists(last, pairs):
        return "a list"
    return "a computation" if _computes(last, pairs) else ""


# --- GraphQL -----------------------------------------------------------------------------------------------------------


def _is_graphql(entry: dict[str, Any]) -> bool:
    if not set(entry) <= _GRAPHQL_FIELDS or writes(entry.get("operationName") or ""):
        return False
    known, persisted = entry.get("query"), _persisted(entry.get("extensions"))
    if known is None:
        # Only the name is there. Relay's compiler lets queries alone end so.
        return bool(persisted) and _CAMEL_QUERY.fullmatch(str(entry.get("operationName"))) is not None
    if not isinstance(known, str) or not graphql.is_query(known):
        return False
    # A site may take the document that it keeps under the hash in place of this one.
    return not persisted or persisted == sha256(known.encode("utf-8", "surrogatepass")).hexdigest()


def _persisted(extensions: Any) -> str:
    """The hash that stands for a document; empty if none does."""
    if not isinstance(extensions, dict) or "persistedQuery" not in extensions:
        return ""
    given = extensions["persistedQuery"]
    return str(given.get("sha256Hash") or "?") if isinstance(given, dict) else "?"


# --- JSON-RPC ----------------------------------------------------------------------------------------------------------


def _is_rpc(entry: dict[str, Any]) -> bool:
    method = entry.get("method")
    if not set(entry) <= _RPC_FIELDS or entry.get("jsonrpc") != "2.0" or not isinstance(method, str):
        return False
    params = entry.get("params")
    if method == "call":
        # Odoo names the method of a model beside its arguments. What else is called so (a tool, a device) may do anything.
        params = dict(params) if isinstance(params, dict) and set(params) <= _OF_MODELS else {}
        method = params.pop("method", None)
    return isinstance(method, str) and _reads_by_name(method) and not _orders(_pairs(params))


_OF_MODELS: Final = frozenset({"model", "method", "args", "kwargs"})


def _reads_by_name(method: str) -> bool:
    """Whether the name of a method says that it reads, by its first word or its last: ``items.list``, ``eth_getBalance``."""
    words = words_in(re.split(r"[./:]", method)[-1]) or [""]
    if not _RPC_METHOD.fullmatch(method) or writes(method) or words[0] in WRITING_NOUNS:
        return False
    if not (CLEAR | CHANGING | WEAK).isdisjoint(words) or words[:2] in (["check", "in"], ["check", "out"]):
        return False
    return words[0] in READING_VERBS - _READ_OR_NOT or words[-1] in READING_ENDS


_READ_OR_NOT: Final = word_set("call complete select load")
"""Verbs that read elsewhere, and do something where a method is called so: ``tools/call``, ``Input.Select``, ``load``."""


def writes(name: object) -> bool:
    """Whether a verb that writes stands in the name of a method, an operation or a value."""
    words = words_in(str(name)[:256])
    return any(word in WRITING_VERBS or any(map(word.startswith, ("delete", "remove", "destroy"))) for word in words)


# --- searches ----------------------------------------------------------------------------------------------------------


def _ends_in_search(last: list[str]) -> bool:
    """Whether the last part of a path is a word for searching, by itself or in a name (``searchProducts``)."""
    words = words_in(without_extension(last[-1])[0]) if last else []
    if not words or len(words) > 4 or any(word in WRITING_VERBS or word in _ABOUT_SEARCHES for word in words):
        return False
    if len(last) > 1 and not _WHERE_KEPT.isdisjoint(words_in(last[0])):
        return False
    return words[0] in SEARCH_WORDS or words[-1] in SEARCH_WORDS


_ABOUT_SEARCHES: Final = word_set(
    "saved history log logs alert alerts index indexes indexing click clicks track event events"
)


_WHERE_KEPT: Final = word_set(
    "saved setting settings config configuration preferences subscriptions webhooks bookmarks"
)
"""Behind one of these stands how searches are done, or one that is kept."""


def _is_search(pairs: _Pairs, last: list[str]) -> bool:
    """Whether all fields are of a search, and one of them says what is searched for."""
    if not pairs or _orders(pairs) or _states(pairs, last):
        return False
    names = [_name(key) for key, _ in pairs]
    if not all(name in SEARCH_FIELDS or name in TOKEN_FIELDS or name in ACTION_FIELDS for name in names):
        return False
    fits = all(not isinstance(value, str) or len(value) <= _VALUE_CHARS_MAX for _, value in pairs)
    return fits and any(name in SEARCH_SIGNS for name in names)


def _states(pairs: _Pairs, last: list[str]) -> bool:
    """Whether a statement that writes may be given where databases are asked (``/query`` of InfluxDB), or a query is kept under a
    name (``query[name]``).
    """
    at_query = bool(last) and words_in(last[-1])[-1:] in (["query"], ["queries"])
    for key, value in pairs:
        inner = {_name(part) for part in _KEY_PARTS.split(key)[1:] if part}
        if not inner.isdisjoint(_OF_RECORDS) or (at_query and _name(key) == "type" and writes(value)):
            return True
        if not inner.isdisjoint(ACTION_FIELDS) and _orders([("action", value)]):
            return True
        stated = isinstance(value, str) and (at_query or not inner.isdisjoint(_RAW))
        if stated and not (_IN_SELECT | WRITING_VERBS).isdisjoint(words_in(value)):
            return True
    return False


_OF_RECORDS: Final = word_set("name title description email phone fullname body content notes message")
_RAW: Final = word_set("sql rawsql statement")


def _lists(last: list[str], pairs: _Pairs) -> bool:
    """Whether a list of something is turned or searched: JSON to ``/api/item/list`` with ``page``, ``size`` or ``keyword`` alone.
    Anything else that stands beside “list” may be put into one.
    """
    end = "".join(words_in(last[-1])) if last else ""
    if len(last) < 2 or end not in LISTING_ENDS or any(map(writes, last)) or not LISTS.isdisjoint(words_in(last[0])):
        return False
    names = {_name(key) for key, _ in pairs} - TOKEN_FIELDS
    return bool(names) and names <= LIST_FIELDS and not _orders(pairs) and not _does_more(pairs)


_ACTIONS_OF_QWIK: Final = frozenset({"qaction", "qfunc"})
_EVENTS: Final = frozenset({"eventtarget", "eventargument"})


def _orders(pairs: _Pairs | None) -> bool:
    """Whether a field that says what is done says anything but searching; so does what cannot be read."""
    if pairs is None:
        return True
    for key, value in pairs:
        if key.startswith("/") or (_name(key) in _EVENTS and value):
            return True  # an action of SvelteKit, an event of ASP.NET: of those that read, ``_turns`` knows
        if _name(key) in _ACTIONS_OF_QWIK:
            return True
        if _name(key) in ACTION_FIELDS and not isinstance(value, (int, float)):
            words = words_in(str(value)[:256])
            if any(word not in SEARCH_WORDS and word not in READING_VERBS for word in words):
                return True
    return False


# --- computations, lists, languages ------------------------------------------------------------------------------------


def _computes(last: list[str], pairs: _Pairs) -> bool:
    """Whether the path ends in a word for computing something (``/shipping/estimate``), something is given for it, and no field
    says that more is done. Who gives name and address with it wants an answer by mail.
    """
    words = words_in(without_extension(last[-1])[0]) if last else []
    if not 0 < len(words) <= 3 or any(map(writes, last)) or any(_of_server_pages(key) for key, _ in pairs):
        return False
    # “Suggestions” and “availability” by themselves are lists that one more is put into.
    if not ({words[0], words[-1]} & COMPUTING_WORDS or (words[-1] in COMPUTED_THINGS and words[0] in READING_VERBS)):
        return False
    names = {_name(key) for key, _ in pairs}
    return bool(names - TOKEN_FIELDS) and not names & PERSON_FIELDS and not _orders(pairs) and not _does_more(pairs)


def _of_server_pages(key: str) -> bool:
    """Whether it is a field of a framework (JSF, ASP.NET, Spring Web Flow, Struts) that sends all buttons of a page to its address,
    under names that say nothing.
    """
    return key.startswith(_SERVER_PAGES)


_SERVER_PAGES: Final = (
    "javax.faces.",
    "jakarta.faces.",
    "__VIEWSTATE",
    "__EVENTTARGET",
    "_eventId",
    "action:",
    "method:",
)


def _does_more(pairs: _Pairs) -> bool:
    """Whether a field says, at any depth, that something is changed: the button “save” beside “preview”, which sends its name and
    perhaps no value; one operation of a list; a statement of SQL; or that it is no trial.
    """
    for key, value in pairs:
        parts = [part for part in _KEY_PARTS.split(key) if part]
        # A button called “submit” says what it does by its value.
        named = value not in (None, False) and _name(key) not in ACTION_FIELDS and writes(key)
        if named:
            return True
        if value in (False, "false", "0") and parts and _name(parts[-1]) in _TRIALS:
            return True
        said = words_in(str(value)[:256]) if value is not None else []
        for name in map(_name, parts):
            if name in ACTION_FIELDS and (writes(value) or not WRITING_NOUNS.isdisjoint(said[:1])):
                return True
            if name in STATEMENTS | {"query", "q"} and not STATEMENT_VERBS.isdisjoint(said[:1]):
                return True
    return False


_TRIALS: Final = frozenset({"dryrun", "simulate", "preview", "test"})


def _calls(last: list[str], pairs: _Pairs, asked: _Pairs) -> bool:
    """Whether one field says what is called, at an address for such calls, and that is a verb that reads: ``action=query``."""
    words = words_in(without_extension(last[-1])[0]) if last else []
    if not words or words[-1] not in CALLED or any(map(writes, last)):
        return False
    called = [str(value) for key, value in [*pairs, *asked] if _name(key) in ACTION_FIELDS | CALLS]
    if len(called) != 1 or not _RPC_METHOD.fullmatch(called[0]) or writes(called[0]):
        return False
    return words_in(called[0])[0] in CALLS_THAT_READ and not _does_more([*pairs, *asked])


_TURNED: Final = re.compile(r"(?:Page\$(?:\d{1,6}|First|Last|Next|Prev)|Sort\$[\w.-]{1,64})")
_BUTTONS: Final = word_set("btn button submit ibtn imgbtn lbtn lnk cmd")


def _turns(last: list[str], pairs: _Pairs) -> bool:
    """Whether a grid of ASP.NET is turned to another page or sorted: the event of such a form says so, and no button is sent."""
    if not last or not last[-1].lower().endswith(".aspx") or any(map(writes, last)):
        return False
    fields = dict(pairs)
    turned = _TURNED.fullmatch(str(fields.get("__EVENTARGUMENT", "")))
    # Any other event has its own argument. A button that stands among the fields goes before the target.
    pressed = any(writes(key) or not _BUTTONS.isdisjoint(words_in(key)) for key in fields)
    return bool(turned and fields.get("__EVENTTARGET")) and not pressed and len(fields) == len(pairs)


def _chooses_language(last: list[str], pairs: _Pairs) -> bool:
    """Whether the site is asked to speak another language, and nothing else."""
    if not last or plain(last[-1]).replace("-", "").replace("_", "") not in LANGUAGE_ADDRESSES:
        return False
    names = [_name(key) for key, _ in pairs]
    return bool(names) and all(name in LANGUAGE_FIELDS or name in TOKEN_FIELDS for name in names)


_SELECT: Final = re.compile(r"\s*(?:select|explain\s+select|show|describe)\s[^;()]{1,2000}", re.IGNORECASE)
"""What calls no function and is one statement, where a semicolon is needed between two."""
_IN_SELECT: Final = (STATEMENT_VERBS | CLEAR | WEAK) | word_set(
    "into outfile for set use execute begin declare rename lock waitfor backup restore shutdown procedure do deny enable "
    "checkpoint reconfigure dbcc commit rollback revert updatetext writetext truncate kill copy"
)
"""What no statement that reads needs. SQL Server takes ``SELECT 1 DELETE FROM a`` for two statements."""
_OF_DATABASES: Final = word_set("db database table schema ns server username pos limit page sessionmaxrows ajaxrequest")


def _selects(pairs: _Pairs, asked: _Pairs) -> bool:
    """Whether a tool for databases is given one statement of SQL, which reads, and nothing else."""
    statements = [str(value) for key, value in pairs if _name(key) in STATEMENTS]
    rest = {_name(key) for key, _ in pairs} - STATEMENTS - TOKEN_FIELDS
    if len(statements) != 1 or rest - _OF_DATABASES or _does_more(asked):
        return False
    if any(value and _name(key) in STATEMENTS | {"q", "query"} for key, value in asked):
        return False  # servers of Java take what the address says
    said = statements[0]
    return _SELECT.fullmatch(said) is not None and _IN_SELECT.isdisjoint(words_in(said))


_LIVEWIRE: Final = frozenset({"_token", "components", "snapshot", "updates", "calls", "path", "method", "params"})
_LIVEWIRE_VERBS: Final = frozenset(["get", "load", "show", "fetch", "find", "search", "filter", "view", "expand"])
"""Not “sort”: what somebody has dragged to another place is kept."""
_LIVEWIRE_PAGES: Final = frozenset(
    ["nextPage", "previousPage", "gotoPage", "setPage", "resetPage", "sortBy", "$refresh"]
)


def _is_livewire(value: Any, last: list[str]) -> bool:
    """Whether all calls of components of Livewire read: by verbs that do, or by those of its lists. No property is set."""
    if last[:1] + last[-1:] != ["livewire", "update"] or not isinstance(value, dict) or set(value) - _LIVEWIRE:
        return False
    components = value.get("components")
    if not isinstance(components, list) or not components or not all(isinstance(each, dict) for each in components):
        return False
    if any(set(each) - _LIVEWIRE or each.get("updates") for each in components):
        return False
    if not all(isinstance(each.get("calls"), list) and each["calls"] for each in components):
        return False
    calls = [call for each in components for call in each["calls"]]
    return all(isinstance(call, dict) and not set(call) - _LIVEWIRE and _reads_list(call) for call in calls)


def _reads_list(call: dict[str, Any]) -> bool:
    method = call.get("method")
    if not isinstance(method, str) or not re.fullmatch(r"\$?[A-Za-z]\w{0,63}", method):
        return False
    words = words_in(method)
    return method in _LIVEWIRE_PAGES or (bool(words) and words[0] in _LIVEWIRE_VERBS and not writes(method))


def _name(key: str) -> str:
    """A field without signs and capitals, its first part where it is one of several: ``filter[price][min]``."""
    return "".join(words_in(re.split(r"[\[.]", key, maxsplit=1)[0])) or plain(key)


def _form(body: str) -> _Pairs | None:
    """Names and values of a form; None if there are too many, or a name is too long."""
    pieces = [piece for piece in body.split("&") if piece]
    if len(pieces) > _FIELDS_MAX:
        return None
    pairs = [(unquote_plus(key), unquote_plus(value)) for key, _, value in (piece.partition("=") for piece in pieces)]
    return None if any(len(key) > _KEY_CHARS_MAX for key, _ in pairs) else pairs


def _pairs(value: Any) -> _Pairs | None:
    """Names and values of a JSON value, at any depth; inner names stand below the outer one. None if there are too many, or a
    name is too long.
    """
    found: list[tuple[str, Any]] = []
    for pair in _walk("", value, 0):
        found.append(pair)
        if len(found) > _FIELDS_MAX or len(pair[0]) > _KEY_CHARS_MAX or pair[0] == _TOO_DEEP:
            return None
    return found


_TOO_DEEP: Final = "\0"


def _walk(name: str, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    if depth > _DEPTH_MAX:
        yield _TOO_DEEP, None
    elif value in ({}, []):
        yield name, ""  # that it is there may be the order: ``{"type": "clear_metadata", "args": {}}``
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _walk(f"{name}.{key}" if name else key, each, depth + 1)
    elif isinstance(value, list):
        for each in value:
            yield from _walk(name, each, depth + 1)
    else:
        yield name, value


def _read_elastic(last: list[str], lines: list[str]) -> str:
    named = bool(last) and (last[-1] in _ELASTIC or "/".join(last) in _ELASTIC)
    values = [_decoded(line) if line.strip() else {} for line in lines[: _FIELDS_MAX + 1]]
    return (
        "a search of Elasticsearch"
        if named and len(values) <= _FIELDS_MAX and all(isinstance(each, dict) for each in values)
        else ""
    )


def _is_algolia(value: Any) -> bool:
    if not isinstance(value, dict) or not set(value) & _ALGOLIA_FIELDS:
        return False
    requests = value.get("requests", [])
    listed = isinstance(requests, list) and all(
        isinstance(each, dict) and not {"action", "body"} & set(each) for each in requests
    )
    return listed and not {"action", "body", "method"} & set(value)


# --- JSON --------------------------------------------------------------------------------------------------------------


class _Unclear(ValueError):
    """JSON that two readers would read differently, or with more fields than are looked at."""


def _decoded(text: str) -> Any:
    """The value of a JSON text in which no object names a key twice, in whatever case, or too many; else None."""
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except (ValueError, RecursionError):
        return None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Some readers (Go's) take keys in any case.
    if len(pairs) > _FIELDS_MAX or len({plain(key) for key, _ in pairs}) < len(pairs):
        raise _Unclear
    return dict(pairs)


def _constant(name: str) -> NoReturn:
    raise _Unclear(name)
