"""Recognises calls that only read: GraphQL queries, JSON-RPC, Livewire actions, and actions named by a field."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any, Final

from protocol.risk import graphql
from protocol.risk.addresses.address_words import CHANGING, CLEAR, WEAK, word_set
from protocol.risk.addresses.segments import without_extension, words_in
from protocol.risk.reads.bodies import Pairs, json_pairs, name_of
from protocol.risk.reads.orders import does_more, orders, writes
from protocol.risk.reads.words import (
    ACTION_FIELDS,
    CALLED,
    CALLS,
    CALLS_THAT_READ,
    READING_ENDS,
    READING_VERBS,
    RPC_READS,
    WRITING_NOUNS,
)

_GRAPHQL_FIELDS: Final = frozenset({"query", "variables", "operationName", "extensions"})
_RPC_FIELDS: Final = frozenset({"jsonrpc", "method", "params", "id"})
_RPC_METHOD: Final = re.compile(r"[A-Za-z][\w.:/-]{0,127}")
_CAMEL_QUERY: Final = re.compile(r"[A-Za-z_]\w{0,120}Query")


def is_graphql(entry: dict[str, Any]) -> bool:
    """True if it is a GraphQL query, or names a query stored on the site by its hash or its name."""
    named = entry.get("operationName") or ""
    if not set(entry) <= _GRAPHQL_FIELDS or not isinstance(named, str):
        return False
    known, persisted = entry.get("query"), _persisted(entry.get("extensions"))
    # A query whose document is sent may have any name (“CheckoutPage”).
    own = not persisted and isinstance(known, str)
    if writes(named) and not (own and named in graphql.names(str(known))):
        return False
    if known is None:
        # Only the name is sent. Relay's compiler allows this suffix for queries only.
        return bool(persisted) and _CAMEL_QUERY.fullmatch(str(entry.get("operationName"))) is not None
    if not isinstance(known, str) or not graphql.is_query(known):
        return False
    # A site may use its stored document with this hash instead of the sent one.
    return not persisted or persisted == sha256(known.encode("utf-8", "surrogatepass")).hexdigest()


def _persisted(extensions: Any) -> str:
    """The hash of a stored document; empty if there is none."""
    if not isinstance(extensions, dict) or "persistedQuery" not in extensions:
        return ""
    given = extensions["persistedQuery"]
    return str(given.get("sha256Hash") or "?") if isinstance(given, dict) else "?"


def is_rpc(entry: dict[str, Any]) -> bool:
    """True if it is a JSON-RPC 2.0 call whose method reads, according to its name."""
    method = entry.get("method")
    if not set(entry) <= _RPC_FIELDS or entry.get("jsonrpc") != "2.0" or not isinstance(method, str):
        return False
    params = entry.get("params")
    if method == "call":
        # Odoo names the method of a model beside its arguments. Other things with such a name (a tool, a device) may do anything.
        params = dict(params) if isinstance(params, dict) and set(params) <= _OF_MODELS else {}
        method = params.pop("method", None)
        if isinstance(method, str) and "model" in params:
            method = re.sub(r"^web_(?=read|search|name_search)", "", method)
            if not _OF_ODOO.isdisjoint(words_in(method)):
                return False
    return isinstance(method, str) and _reads_by_name(method) and not orders(json_pairs(params))


_OF_MODELS: Final = frozenset({"model", "method", "args", "kwargs"})


def _reads_by_name(method: str) -> bool:
    """True if the first or the last word of a method's name is a reading verb: ``items.list``, ``eth_getBalance``."""
    if method.lower() in RPC_READS:
        return True
    own = _OF_SPACE.sub("", re.split(r"[./:]", method)[-1])
    words = words_in(own) or [""]
    if not _RPC_METHOD.fullmatch(method) or writes(method) or words[0] in WRITING_NOUNS:
        return False
    if not (CLEAR | CHANGING | WEAK).isdisjoint(words) or words[:2] in (["check", "in"], ["check", "out"]):
        return False
    return words[0] in READING_VERBS - _READ_OR_NOT or words[-1] in READING_ENDS


_OF_ODOO: Final = word_set("compute validate calculate fetch next")
"""Verbs with which methods of Odoo act, although they read elsewhere (``validate_picking``, ``get_next_by_id``)."""
_OF_SPACE: Final = re.compile(r"[a-z]{2,12}_(?=(?:get|list|estimate)[A-Z])")
"""The namespace before a method's name, as in ``eth_getLogs``."""
_READ_OR_NOT: Final = word_set("call complete select load")
"""Verbs that read elsewhere, but act as the name of a method: ``tools/call``, ``Input.Select``, ``load``."""


_HANDED_OUT: Final = word_set(
    "next or and otp code in for key keys reward rewards bonus coupon coupons ticket verified started token paid email refund "
    "lease url job jobs task view views click clicks download downloads impression impressions sales properties"
)


def calls(last: list[str], pairs: Pairs, asked: Pairs) -> bool:
    """True if one field names the called action, the address is one for such calls, and the action is a reading verb:
    ``action=query``.
    """
    words = words_in(without_extension(last[-1])[0]) if last else []
    if not words or words[-1] not in CALLED or any(map(writes, last)):
        return False
    called = [str(value) for key, value in [*pairs, *asked] if name_of(key) in ACTION_FIELDS | CALLS]
    if len(called) != 1 or not _RPC_METHOD.fullmatch(called[0]) or writes(called[0]):
        return False
    words = words_in(called[0])
    reads = (words[0] in CALLS_THAT_READ and _is_no_event(words)) or (last[-1] == "admin-ajax.php" and _finds(words))
    return reads and not does_more([*pairs, *asked])


def _is_no_event(words: list[str]) -> bool:
    """True if nothing is counted, handed out or suggested: ``count_click``, ``get_next_number``, ``load_fixtures``."""
    return (
        _HANDED_OUT.isdisjoint(words) and words[0] not in ("load", "suggest", "count") and words[:2] != ["list", "item"]
    )


def _finds(words: list[str]) -> bool:
    """True if the action of a WordPress plugin searches; it follows the plugin's name: ``ajaxsearchlite_search``."""
    ends = words[-1] in _FINDING_ENDS or words[-2:] == ["load", "more"]
    return ends and (_NO_FINDING | WRITING_NOUNS | CLEAR | CHANGING | WEAK).isdisjoint(words)


_FINDING_ENDS: Final = word_set("search autocomplete suggestions suggest typeahead livesearch")
_NO_FINDING: Final = word_set(
    "saved history log logs alert alerts index click track event events export hide ignore skip bookmark build regenerate "
    "populate refresh"
)


_LIVEWIRE: Final = frozenset({"_token", "components", "snapshot", "updates", "calls", "path", "method", "params"})
_LIVEWIRE_VERBS: Final = frozenset(["get", "load", "show", "fetch", "find", "search", "filter", "view", "expand"])
"""Without “sort”, because an order made by dragging is stored."""
_LIVEWIRE_PAGES: Final = frozenset(
    ["nextPage", "previousPage", "gotoPage", "setPage", "resetPage", "sortBy", "sortTable", "$refresh", "__lazyLoad"]
)


def is_livewire(value: Any, last: list[str]) -> bool:
    """True if all calls to Livewire components read, by reading verbs or by the verbs of Livewire's lists, and no property is
    set.
    """
    if last[:1] + last[-1:] != ["livewire", "update"] or not isinstance(value, dict) or set(value) - _LIVEWIRE:
        return False
    components = value.get("components")
    if not isinstance(components, list) or not components or not all(isinstance(each, dict) for each in components):
        return False
    if any(set(each) - _LIVEWIRE or not _only_filters(each.get("updates") or {}) for each in components):
        return False
    if not all(isinstance(each.get("calls"), list) and (each["calls"] or each.get("updates")) for each in components):
        return False
    calls = [call for each in components for call in each["calls"]]
    return all(isinstance(call, dict) and not set(call) - _LIVEWIRE and _reads_list(call) for call in calls)


def _only_filters(updates: Any) -> bool:
    return isinstance(updates, dict) and set(updates) <= _FILTERS


_FILTERS: Final = frozenset(
    {"search", "tableSearch", "query", "perPage", "tableRecordsPerPage", "sortField", "sortDirection"}
)
"""Properties of a Livewire or Filament list that select the shown rows."""


def _reads_list(call: dict[str, Any]) -> bool:
    method = call.get("method")
    if not isinstance(method, str) or not re.fullmatch(r"\$?\w{1,64}", method):
        return False
    words = words_in(method)
    return method in _LIVEWIRE_PAGES or (bool(words) and words[0] in _LIVEWIRE_VERBS and not writes(method))
