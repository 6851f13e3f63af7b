"""What the network guard lets through."""

from __future__ import annotations

import json

import pytest

from protocol.risk.addresses.addresses import destructive_url
from protocol.risk.graphql import is_query
from protocol.risk.requests.requests import GuardPolicy, judge_request
from tests.tables import each

READ_ONLY = GuardPolicy()


def judge(
    method: str, url: str, body: str | None = None, policy: GuardPolicy = READ_ONLY, kind: str = "fetch"
) -> str | None:
    return judge_request(method, url, kind, kind == "document", body, policy)


@each("method", ["PROPFIND", "REPORT", "SEARCH", "QUERY", "OPTIONS"])
def test_methods_that_the_registry_of_http_calls_safe_are_judged_as_reads(method: str) -> None:
    assert judge(method, "https://a.example/calendars/ann/", "<propfind/>") is None
    assert (judge(method, "https://a.example/items/3/delete") or "").startswith("address: ")
    assert judge("LOCK", "https://a.example/calendars/ann/") == "method"


@each(
    "url",
    [
        "https://a.example/items/3/delete",
        "https://a.example/deleteItem?id=3",
        "https://a.example/delete.php?id=3",
        "https://a.example/account/close",
        "https://a.example/%64elete/3",
        "https://a.example/log-out",
        "https://a.example/sign_out",
        "https://a.example/users/unsubscribe",
        "https://a.example/x?op=remove",
        "https://a.example/x?_method=DELETE",
        "https://a.example/x?delete=3",
        "https://a.example/cart/clear",
        "https://a.example/deleteitem/7",
        "https://a.example/items/delete_old_entries_of_this_list",
        "https://a.example/items/7/delete.png",
        "https://a.example/x?func=delete",
        "https://a.example/x?a=delete",
        "https://a.example/graphql?query=mutation{deleteItem(id:7){id}}",
    ],
)
def test_a_get_to_a_destructive_address_is_refused(url: str) -> None:
    """Guard: protocol/risk/requests/requests.py, judge_request."""
    assert destructive_url(url)
    assert judge("GET", url)
    assert judge("GET", url, kind="document")
    assert judge("GET", url, kind="image")


@each(
    "url",
    [
        "https://a.example/",
        "https://a.example/items?q=delete",
        "https://a.example/wiki/how-to-remove-stains",
        "https://a.example/closed-captions",
        "https://a.example/undeleted",
        "https://a.example/x?confirm=0",
        "https://a.example/list?sort=price&order=asc",
        "data:text/plain,delete",
        "blob:https://a.example/delete",
        "DATA:text/plain,x",
        "about:blank",
        "about:srcdoc",
    ],
)
def test_reading_is_let_through(url: str) -> None:
    assert judge("GET", url) is None


def test_a_file_of_a_page_may_be_called_delete() -> None:
    assert judge("GET", "https://a.example/icons/delete.svg", kind="image") is None
    assert judge("GET", "https://a.example/icons/delete.svg?id=3", kind="image")
    assert judge("GET", "https://a.example/delete.svg", kind="document")
    assert judge("GET", "https://a.example/items/3/delete.svg", kind="image")


@each("method", ["POST", "PUT", "PATCH", "DELETE", "post"])
def test_what_is_not_reading_is_refused(method: str) -> None:
    assert judge(method, "https://a.example/x") == "method"


@each(
    "url",
    [
        "file:///etc/passwd",
        "ftp://a.example/",
        "chrome://settings",
        "ws://a.example/",
        "about:settings",
        "about:",
        "blank:blank",
        "srcdoc",
    ],
)
def test_other_schemes_are_refused(url: str) -> None:
    assert judge("GET", url) == "scheme"


@pytest.mark.parametrize("url", ["http://[bad", "https://a]b/x.css", "http://[::1/delete.svg"])
@pytest.mark.parametrize("policy", [READ_ONLY, GuardPolicy(read_only=False), GuardPolicy(allow=("GET *",))])
def test_an_address_that_cannot_be_read_is_refused(url: str, policy: GuardPolicy) -> None:
    assert judge("GET", url, policy=policy, kind="image") == "address"


def test_an_allowed_request_is_let_through_by_method_and_glob() -> None:
    policy = GuardPolicy(allow=("POST https://a.example/login*", "GET https://a.example/logout"))
    assert judge("POST", "https://a.example/login?next=/", policy=policy) is None
    assert judge("GET", "https://a.example/logout", policy=policy) is None
    assert judge("PUT", "https://a.example/login", policy=policy) == "method"
    assert judge("POST", "https://b.example/login", policy=policy) == "method"


def test_a_name_and_a_password_in_the_address_do_not_change_what_is_allowed() -> None:
    policy = GuardPolicy(allow=("PUT https://a.example/*",))
    assert judge_request("PUT", "https://ann:s3cret@a.example/put", "xhr", False, None, policy) is None
    for other in ("https://a.example@b.example/put", "https://ann:a.example/@b.example/put"):
        assert judge_request("PUT", other, "xhr", False, None, policy) == "method", other


def test_origins_bind_every_request_whatever_else_is_allowed() -> None:
    policy = GuardPolicy(origins=("https://a.example",), allow=("POST https://b.example/*",), read_only=False)
    assert judge("GET", "https://a.example/x", policy=policy) is None
    assert judge("POST", "https://a.example/x", policy=policy) is None
    assert judge("GET", "https://b.example/x", policy=policy) == "origin"
    assert judge("POST", "https://b.example/x", policy=policy) == "origin"
    assert judge("GET", "https://a.example:444/x", policy=policy) == "origin"
    assert judge("GET", "https://user@a.example/x", policy=policy) == "origin"


@each(
    ("document", "reads"),
    [
        ("{ me { name } }", True),
        ("query Me($a: Int) { me(a: $a) { name } }", True),
        ("# a mutation is not used here\nquery { me }", True),
        ("mutation { drop }", False),
        ("query A { a } mutation B { b }", False),
        ("subscription { ticks }", False),
        ("fragment F on T { a } query { ...F }", True),
        ("shoes", False),
        ("", False),
    ],
)
def test_only_a_plain_graphql_query_may_be_posted(document: str, reads: bool) -> None:
    body = json.dumps({"query": document, "variables": {}})
    assert is_query(document) is reads
    assert (judge("POST", "https://a.example/graphql", body) is None) is reads
    assert judge("POST", "https://a.example/graphql", body, kind="document") == "method"


@each(
    "url",
    [
        "https://shop.example/account/delete-my-account-now",
        "https://shop.example/cart?action=remove_item_from_the_cart",
    ],
)
def test_a_long_command_in_an_address_is_still_a_command(url: str) -> None:
    assert judge_request("GET", url, "document", True, None, GuardPolicy()) is not None


def test_an_allowed_request_may_name_an_ipv6_host() -> None:
    policy = GuardPolicy(allow=("POST https://[::1]:7443/login*",))
    assert judge_request("POST", "https://[::1]:7443/login?next=1", "document", True, None, policy) is None
    assert judge_request("POST", "https://[::1]:7443/other", "document", True, None, policy) is not None


@each(
    ("announced", "url", "allowed"),
    [
        ("GET", "https://a.example/items", True),
        ("POST", "https://a.example/graphql", True),  # whether it is a query shows when it comes
        ("PUT", "https://a.example/put", True),
        ("PUT", "https://a.example/items", False),
        ("DELETE", "https://a.example/items/3", False),
        ("GET", "https://a.example/items/3/delete", False),
        ("POST", "https://a.example/items/3/delete", False),
        ("GET", "https://b.example/items", False),
        ("", "https://a.example/items", True),  # a script asks by OPTIONS, which changes nothing
        ("", "https://a.example/items/3/delete", False),
    ],
)
def test_a_preflight_may_be_sent_where_what_it_announces_may(announced: str, url: str, allowed: bool) -> None:
    policy = GuardPolicy(origins=("https://a.example",), allow=("PUT https://a.example/put",))
    refused = judge_request("OPTIONS", url, "fetch", False, None, policy, announced=announced)
    assert (refused is None) == allowed
