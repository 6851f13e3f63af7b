"""Recognises POST requests that only read, by their form: GraphQL queries, JSON-RPC, searches, computations, pages of lists.

Like the safety of GET, this knowledge rests on conventions that a site may break. A request in none of these forms needs an
approval.
"""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from protocol.risk import graphql
from protocol.risk.addresses.address_words import word_set
from protocol.risk.addresses.addresses import judge_address
from protocol.risk.reads.bodies import Pairs, decoded, form_pairs, json_pairs, name_of
from protocol.risk.reads.calls import calls, is_graphql, is_livewire, is_rpc
from protocol.risk.reads.lists import fills_grid, lists, pages, turns
from protocol.risk.reads.orders import orders
from protocol.risk.reads.searches import ELASTIC, chooses_language, computes, ends_in_search, is_search, read_elastic
from protocol.risk.reads.statements import selects

BODY_CHARS_MAX: Final = graphql.DOCUMENT_CHARS_MAX
_BATCH_MAX: Final = 64
_PATH: Final = re.compile(r"(?:/[A-Za-z0-9_.,*~:@-]*)*")
_ALSO_ASKED: Final = word_set(
    "query extensions doc docid documentid id hash queryid queryhash sha256hash method params request calls"
)
"""Names that, in an address, may select another document or method than the body does."""
_CHARSET: Final = re.compile(r"charset\s*=\s*[\"']?([^\s\"';]*)")
_CHARSETS: Final = frozenset({"utf-8", "utf8", "us-ascii", "iso-8859-1"})
"""Character sets in which ASCII letters and punctuation have the same bytes."""


def reads_by_form(method: str, url: str, content_type: str, body: str | None) -> str:
    """The form by which a request is known to only read; empty if there is none.

    body: None if it is unknown. JSON with a repeated key has no form, because sites may use either value.
    """
    path = _path(url)
    if method.upper() != "POST" or body is None or len(body) > BODY_CHARS_MAX or not path or judge_address(url, "POST"):
        return ""
    kind, _, more = content_type.lower().partition(";")
    kind = kind.strip()
    if (charset := _CHARSET.search(more)) and charset[1] not in _CHARSETS:
        return ""  # a site may decode it, and then read other fields than these
    last = [part for part in path.split("/") if part][-2:]
    asked = form_pairs(urlsplit(url).query)
    if kind == "application/x-www-form-urlencoded":
        return "" if orders(asked) else _read_form(form_pairs(body), last, asked or [])
    if kind == "application/x-ndjson" or (last and last[-1] == "_msearch"):
        return read_elastic(last, body.split("\n"))
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        return ""
    if last and (last[-1] in ELASTIC or "/".join(last) in ELASTIC):
        return read_elastic(last, [body])
    return _read_json(decoded(body), last, asked)


def _read_form(pairs: Pairs | None, last: list[str], asked: Pairs) -> str:
    """asked: the parameters of the address. If pairs is None, the body was not read completely, and has no form."""
    if pairs is None:
        return ""
    if fills_grid(last, pairs):
        return "a list that is turned or sorted"
    if ends_in_search(last) and is_search(pairs, last):
        return "a search form"
    if computes(last, pairs):
        return "a computation"
    if calls(last, pairs, asked):
        return "a call that reads"
    if turns(last, pairs):
        return "a list that is turned or sorted"
    if selects(pairs, asked):
        return "a SELECT"
    return "a choice of language" if chooses_language(last, pairs) else ""


def _path(url: str) -> str:
    """The path of an address if every site reads it alike; otherwise empty."""
    try:
        written = urlsplit(url).path or "/"
    except ValueError:
        return ""
    path = unquote(written)
    plainly = _PATH.fullmatch(path) and path.count("/") == written.count("/") and "%" not in path
    return path if plainly and "//" not in path and not {".", ".."} & set(path.split("/")) else ""


def _read_json(value: Any, last: list[str], asked: Pairs | None) -> str:
    entries = value if isinstance(value, list) else [value]
    if not 0 < len(entries) <= _BATCH_MAX or not all(isinstance(entry, dict) for entry in entries):
        return ""
    # Some servers (express-graphql) read the address before the body.
    alone = asked is not None and not any(name_of(key) in _ALSO_ASKED for key, _ in asked)
    if alone and all(is_graphql(entry) for entry in entries):
        return "a GraphQL query"
    if alone and all(is_rpc(entry) for entry in entries):
        return "a JSON-RPC call that reads"
    if is_livewire(value, last):
        return "a call of Livewire that reads"
    if not isinstance(value, dict) or orders(asked):
        return ""
    pairs = json_pairs(value)
    if pairs is None:
        return ""
    if ends_in_search(last) and is_search(pairs, last):
        return "a search"
    if lists(last, pairs) or pages(last, value):
        return "a list"
    return "a computation" if computes(last, pairs) else ""
