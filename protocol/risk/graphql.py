"""Whether a request body is a GraphQL query, and only a query."""

from __future__ import annotations

import re

import msgspec

_COMMENT = re.compile(r"#[^\n]*")
_QUERY = re.compile(r"(?:query\b[^{]*)?\{.*\}$", re.DOTALL)
_OTHER = re.compile(r"\b(?:mutation|subscription)\b", re.IGNORECASE)
_BATCH_MAX = 64
_KEYS = frozenset({"query", "variables", "operationName", "extensions"})


def is_query(body_text: str | None) -> bool:
    """Whether the JSON body (or each entry of a batch) holds a GraphQL document with nothing but queries.

    Conservative: unknown keys, persisted queries without text, and the words ``mutation`` or ``subscription`` anywhere
    in the document (even in a text) make it something else.
    """
    try:
        body = msgspec.json.decode(body_text or "")
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    entries = body if isinstance(body, list) else [body]
    return 0 < len(entries) <= _BATCH_MAX and all(_one(entry) for entry in entries)


def _one(entry: object) -> bool:
    if not isinstance(entry, dict) or not set(entry) <= _KEYS or not isinstance(entry.get("query"), str):
        return False
    document = _COMMENT.sub("", entry["query"]).strip()
    return bool(_QUERY.match(document)) and not _OTHER.search(entry["query"])
