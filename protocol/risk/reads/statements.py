"""One statement in the language of a database that only reads."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote, urlsplit

from protocol.risk.address_words import CLEAR, STATEMENT_VERBS, STATEMENTS, WEAK, word_set
from protocol.risk.reads.bodies import Pairs, name_of
from protocol.risk.reads.orders import does_more
from protocol.risk.reads.words import TOKEN_FIELDS
from protocol.risk.segments import words_in

_SELECT: Final = re.compile(r"\s*(?:select|explain\s+select|show|describe)\s[^;()]{1,2000}", re.IGNORECASE)
"""What calls no function and is one statement, where a semicolon is needed between two."""
IN_SELECT: Final = (STATEMENT_VERBS | CLEAR | WEAK) | word_set(
    "into outfile for set use execute begin declare rename lock waitfor backup restore shutdown procedure do deny enable "
    "checkpoint reconfigure dbcc commit rollback revert updatetext writetext truncate kill copy"
)
"""What no statement that reads needs. SQL Server takes ``SELECT 1 DELETE FROM a`` for two statements."""
_OF_DATABASES: Final = word_set("db database table schema ns server username pos limit page sessionmaxrows ajaxrequest")


def selects(pairs: Pairs, asked: Pairs) -> bool:
    """Whether a tool for databases is given one statement of SQL, which reads, and nothing else."""
    statements = [str(value) for key, value in pairs if name_of(key) in STATEMENTS]
    rest = {name_of(key) for key, _ in pairs} - STATEMENTS - TOKEN_FIELDS
    if len(statements) != 1 or rest - _OF_DATABASES or does_more(asked):
        return False
    if any(value and name_of(key) in STATEMENTS | {"q", "query"} for key, value in asked):
        return False  # servers of Java take what the address says
    said = statements[0]
    return _SELECT.fullmatch(said) is not None and IN_SELECT.isdisjoint(words_in(said))


_ASKS: Final = re.compile(
    r"(?:\s*(?:prefix|base)\s[^<>]{0,100}<[^<>\s\"{}|^`\\]{0,300}>)*+\s*"
    r"(?:select\s*(?:distinct\b|reduced\b)?\s*[*?$(]|ask\b|describe\b|construct\b)",
    re.IGNORECASE,
)
_IRI: Final = re.compile(r"<[^<>\s\"{}|^`\\]{0,300}>")
_SPARQL_WRITES: Final = word_set("insert delete load clear drop create copy move add update service")
_SPARQL_FIELDS: Final = word_set(
    "query defaultgraphuri namedgraphuri format output timeout infer results accept debug limit"
)
_IN_SPARQL: Final = word_set("as in select set")


def asks_graph(last: list[str], pairs: Pairs, asked: Pairs) -> bool:
    """Whether a store of triples is asked by SPARQL 1.1, whose protocol has another field for updates. What could be SQL as well is
    none: databases are asked at ``/query``, too.
    """
    if not last or last[-1] not in ("sparql", "query") or any(name_of(key) not in _SPARQL_FIELDS for key, _ in asked):
        return False
    names = [name_of(key) for key, _ in pairs]
    queries = [value for key, value in (*pairs, *asked) if name_of(key) == "query"]
    if len(queries) != 1 or not set(names) <= _SPARQL_FIELDS or not isinstance(queries[0], str):
        return False
    said = _IRI.sub(" ", queries[0])
    words = words_in(said)  # of what stands in quotes, too: where they end, two readers may not agree
    plain = "\\" not in said and "bif:" not in said and "sql:" not in said and not _after_braces(said)
    writes = _SPARQL_WRITES | (IN_SELECT - _IN_SPARQL if last[-1] == "query" else frozenset())
    return plain and "{" in said and _ASKS.match(queries[0]) is not None and writes.isdisjoint(words)


def _after_braces(text: str) -> bool:
    """Whether a semicolon stands outside of braces: a second operation comes behind it."""
    depth = 0
    for char in text:
        depth += (char == "{") - (char == "}")
        if char == ";" and depth <= 0:
            return True
    return False


_OVERPASS: Final = re.compile(r"\s*\[(?:out|timeout|bbox|maxsize|date)\s*:")


def asks_map(last: list[str], pairs: Pairs) -> bool:
    """Whether a server of Overpass is asked for a part of a map: its language has no statement that writes."""
    return (
        last == ["api", "interpreter"]
        and len(pairs) == 1
        and pairs[0][0] == "data"
        and bool(_OVERPASS.match(str(pairs[0][1])))
    )


_FIRESTORE: Final = re.compile(
    r"/v1/projects/[\w-]+/databases/(?:\(default\)|[\w-]+)/documents(?:/[\w-]+)*:(?:runQuery|runAggregationQuery|batchGet)"
)


def of_firestore(url: str) -> str:
    """The path of an address of Firestore at which documents are asked for; empty for any other."""
    path = unquote(urlsplit(url).path) if "/documents" in url else ""
    return path if _FIRESTORE.fullmatch(path) else ""
