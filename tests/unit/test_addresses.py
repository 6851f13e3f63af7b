"""Queries of GraphQL, the words of labels, and what a guard says of a request."""

from __future__ import annotations

from typing import Any

import msgspec

from protocol.risk.reads import reads_by_form
from protocol.risk.requests.destinations import judge_destination, literal_address
from protocol.risk.requests.requests import GuardPolicy, judge_request
from tests.tables import each

SITE = "https://shop.example"


def body(*queries: Any, **more: Any) -> str:
    entries = [{"query": query} | more for query in queries]
    return msgspec.json.encode(entries if len(entries) != 1 else entries[0]).decode()


@each(
    ("text", "query"),
    [
        (body("{a}"), True),
        (body("query Q($a: Int) {a}"), True),
        (body("# note\n{a}"), True),
        (body("{a}", variables={}, operationName="Q", extensions={}), True),
        (body("{a}", id=1), False),
        (body("{a} mutation"), False),
        (body("{a} mutation {b}"), False),
        (body("mutation {a}"), False),
        (body('{a(b: "} mutation {")}'), True),
        (body("# mutation\n{a}"), True),
        (body("# a\u2028mutation {b}\n{a}"), False),
        (body("{deleteItem(id: 7)}"), False),
        (body("{a(b: {c: [1]}) ... on T {d}} fragment F on T {e}"), True),
        (body("fragment F on T {e}"), False),
        (body("{a}}"), False),
        (body("{a(}"), False),
        (body('{a(b: """"}mutation{a}""")}'), True),
        (body("{" * 200 + "a" + "}" * 200), False),
        ('{"query": "{a}", "query": "mutation {b}"}', False),
        ('{"query": "{a}", "Query": "mutation {b}"}', False),
        (body("{a"), False),
        (body("queryX {a}"), False),
        (body(7), False),
        (body(None), False),
        (body("{a}", "{b}"), True),
        (body("{a}", "mutation {b}"), False),
        (body(*["{a}"] * 64), True),
        (body(*["{a}"] * 65), False),
        ("[]", False),
        ("[7]", False),
        ("{}", False),
        ("", False),
        (None, False),
        ("[" * 100_000, False),
        ("\ud800", False),
    ],
)
def test_a_body_is_a_query_if_each_of_its_documents_is(text: str | None, query: bool) -> None:
    assert (reads_by_form("POST", f"{SITE}/graphql", "application/json", text) == "a GraphQL query") is query


# --- requests --------------------------------------------------------------------------------------------------------


def judged(
    method: str = "GET",
    url: str = f"{SITE}/mugs",
    kind: str = "fetch",
    navigates: bool = False,
    text: str | None = None,
    announced: str = "",
    replaced_by: str = "",
    commanded: bool = False,
    **policy: Any,
) -> str | None:
    given = GuardPolicy(**policy)
    heads: Any = {"announced": announced, "replaced_by": replaced_by, "commanded": commanded}
    return judge_request(method, url, kind, navigates, text, given, **heads)


@each(
    ("request_", "said"),
    [
        ({}, None),
        ({"method": "head"}, None),
        ({"method": "POST"}, "method"),
        ({"method": "OPTIONS"}, None),
        ({"method": "LOCK"}, "method"),
        ({"method": "POST", "read_only": False}, None),
        ({"url": "data:text/html,delete"}, None),
        ({"url": "BLOB:x"}, None),
        ({"url": "about:blank"}, None),
        ({"url": "about:srcdoc"}, None),
        ({"url": "about:config"}, "scheme"),
        ({"url": "blank:blank"}, "scheme"),
        ({"url": "ftp://shop.example/"}, "scheme"),
        ({"url": "HTTPS://shop.example/"}, None),
        ({"url": "http://[broken", "read_only": False}, "address"),
        ({"origins": ("https://other.example",)}, "origin"),
        ({"origins": (SITE,)}, None),
        ({"origins": ("https://other.example",), "read_only": False}, "origin"),
        ({"url": "http://10.0.0.7/"}, None),
        ({"url": "http://10.0.0.7/", "private": (), "read_only": False}, "private address"),
        ({"url": "http://8.8.8.8/", "private": ()}, None),
        ({"url": f"{SITE}/delete"}, "address: delete"),
        ({"url": f"{SITE}/delete", "method": "HEAD"}, "address: delete"),
        ({"url": f"{SITE}/delete", "read_only": False}, None),
        ({"url": f"{SITE}/delete.svg"}, "address: delete"),
        ({"url": f"{SITE}/delete.svg", "kind": "image"}, None),
        # what is allowed
        ({"method": "POST", "allow": (f"POST {SITE}/mugs",)}, None),
        ({"method": "post", "allow": (f"post   {SITE}/mugs",)}, None),
        ({"method": "POST", "url": f"{SITE}/mugs#a", "allow": (f"POST {SITE}/mugs",)}, None),
        ({"method": "POST", "allow": (f"PUT {SITE}/mugs",)}, "method"),
        ({"method": "POST", "allow": ("POST",)}, "method"),
        ({"method": "POST", "allow": ("POST ",)}, "method"),
        ({"method": "POST", "url": f"{SITE}/cups", "allow": (f"POST {SITE}/mugs", f"POST {SITE}/c*")}, None),
        ({"method": "POST", "url": f"{SITE}/cups/7", "allow": (f"POST {SITE}/c*",)}, "method"),
        ({"url": f"{SITE}/delete", "allow": (f"GET {SITE}/*",)}, None),
        # methods that a header replaces
        ({"replaced_by": "DELETE"}, "method"),
        ({"replaced_by": "get"}, None),
        ({"replaced_by": "GET,DELETE"}, "method"),
        ({"replaced_by": "DELETE", "allow": (f"GET {SITE}/mugs",)}, "method"),
        ({"replaced_by": "DELETE", "allow": (f"GET {SITE}/mugs", f"DELETE {SITE}/mugs")}, None),
        ({"method": "POST", "text": body("{a}"), "replaced_by": "DELETE"}, "method"),
        ({"method": "POST", "text": body("{a}")}, None),
        ({"method": "POST", "text": body("{a}"), "commanded": True}, "method"),
        ({"method": "POST", "text": body("{a}"), "commanded": True, "allow": (f"POST {SITE}/mugs",)}, None),
        ({"commanded": True}, None),
        ({"method": "POST", "text": body("{a}"), "replaced_by": "GET"}, "method"),
        # queries
        ({"method": "POST", "text": body("{a}")}, None),
        ({"method": "POST", "text": body("mutation {a}")}, "method"),
        ({"method": "PUT", "text": body("{a}")}, "method"),
        ({"method": "POST", "text": body("{a}"), "navigates": True}, "method"),
        ({"method": "POST", "text": body("{a}"), "url": f"{SITE}/delete"}, "method"),
        # preflights
        ({"method": "OPTIONS", "announced": "POST"}, None),
        ({"method": "OPTIONS", "announced": "post"}, None),
        ({"method": "OPTIONS", "announced": "POST", "url": f"{SITE}/delete"}, "method"),
        ({"method": "OPTIONS", "announced": "PUT"}, "method"),
        ({"method": "OPTIONS", "announced": "GET"}, None),
        ({"method": "OPTIONS", "announced": "GET", "url": f"{SITE}/delete"}, "address: delete"),
        ({"method": "OPTIONS", "announced": "PUT", "allow": (f"PUT {SITE}/*",)}, None),
    ],
)
def test_a_request_is_refused_for_the_first_reason_there_is(request_: dict[str, Any], said: str | None) -> None:
    assert judged(**request_) == said


@each(
    ("url", "address"),
    [
        ("http://10.0.0.7:80/", "10.0.0.7"),
        ("http://[::1]/", "::1"),
        ("http://localhost/", "127.0.0.1"),
        ("http://a.localhost./", "127.0.0.1"),
        ("http://notlocalhost/", ""),
        ("http://shop.example/", ""),
        ("http:///", ""),
    ],
)
def test_a_host_that_is_written_as_an_address_needs_no_resolver(url: str, address: str) -> None:
    assert literal_address(url) == address


@each(
    ("url", "address", "private", "said"),
    [
        ("http://a.example/", "8.8.8.8", (), None),
        ("http://a.example/", "10.0.0.7", (), "private address"),
        ("http://a.example/", "10.0.0.7", ("http://a.example",), None),
        ("http://a.example/", "10.0.0.7", ("*",), None),
        ("http://a.example/", "10.0.0.7", ("https://a.example",), "private address"),
    ],
)
def test_a_private_place_is_for_the_origins_that_are_named(
    url: str, address: str, private: tuple[str, ...], said: str | None
) -> None:
    assert judge_destination(url, address, private) == said
