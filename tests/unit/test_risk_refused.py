"""What is told of a request that the guard refused."""

from __future__ import annotations

from protocol.errors import CODES
from protocol.page.secrets.redaction import redact_address
from protocol.risk.requests.refused import (
    SOCKET,
    WINDOW,
    may_be_allowed,
    navigation_refused,
    refused,
    request_line,
    what_helps,
)
from protocol.risk.requests.requests import GuardPolicy, judge_request
from tests.tables import each

PAGE = "https://shop.example/basket?id=7"


@each(
    ("method", "url", "line"),
    [
        ("POST", "https://shop.example/buy?token=1#x", "POST /buy"),
        ("GET", "https://shop.example:443", "GET https://shop.example:443/"),
        ("GET", "http://169.254.169.254/x", "GET http://169.254.169.254/x"),
        ("GET", "http://shop.example/x", "GET http://shop.example/x"),
        ("GET", "https://shop.example:8443/x", "GET https://shop.example:8443/x"),
        ("GET", "http://[::1]:8080/x", "GET http://[::1]:8080/x"),
        ("GET", "https://user:hunter2@other.example/x", "GET https://other.example/x"),
        ("WS", "wss://shop.example/socket", "WS /socket"),
        ("WS", "ws://shop.example/socket", "WS ws://shop.example/socket"),
        ("WS", "wss://other.example/socket?key=1", "WS wss://other.example/socket"),
        ("GET", "file:///etc/passwd", "GET file:///etc/passwd"),
        ("GET", "http://[", "GET /"),
        ("GET", "http://other.example:99999/x", "GET /x"),
    ],
)
def test_a_refused_request_is_recorded_with_its_site_unless_it_is_that_of_the_page(
    method: str, url: str, line: str
) -> None:
    """Guard: protocol/risk/requests/refused.py, request_line."""
    assert request_line(refused(method, url, "origin"), PAGE) == line


def test_a_request_of_a_page_without_a_site_is_recorded_with_its_own() -> None:
    assert request_line(refused("GET", "https://a.example/x", "origin"), "about:blank") == "GET https://a.example/x"
    assert request_line(refused("GET", "https://a.example/x", "origin")) == "GET https://a.example/x"


def test_secrets_are_redacted_behind_the_site_of_a_refused_request() -> None:
    line = request_line(
        refused("GET", "http://169.254.169.254/a/hunter2/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.x", "origin")
    )
    told = redact_address(line, {"password": "hunter2"})
    assert told == "GET http://169.254.169.254/a/‹secret:password›/REDACTED"


@each(
    ("policy", "url", "rule", "words"),
    [
        (GuardPolicy(origins=("https://a.example",)), PAGE, "origin", "not among the origins"),
        (
            GuardPolicy(private=()),
            "http://127.0.0.1:80/x/y?z",
            "private address",
            "on this machine or in a private network",
        ),
        (GuardPolicy(), "http://169.254.169.254/x", "address of no site", "cloud metadata"),
        (
            GuardPolicy(),
            "https://shop.example/account/delete",
            "address: delete",
            "its address says “delete”",
        ),
        (GuardPolicy(), "ftp://shop.example/x", "scheme", "only http and https"),
        (GuardPolicy(), "http://[", "address", "cannot be read"),
    ],
)
def test_a_refused_navigation_names_site_and_rule_and_no_path_and_is_not_to_be_repeated(
    policy: GuardPolicy, url: str, rule: str, words: str
) -> None:
    assert judge_request("GET", url, "document", True, None, policy) == rule
    error = navigation_refused(refused("GET", url, rule))
    assert (error.code, CODES[error.code].retryable, error.detail["rule"]) == ("browser.refused", False, rule)
    assert words in error.message
    assert "/x" not in error.message + error.detail["origin"]


def test_allow_is_named_where_it_helps_and_to_the_owner_alone() -> None:
    said = "allow it with --allow 'POST URL'"
    for rule in ("method", "address: delete"):
        assert what_helps(["WS /a", "POST /b"], [SOCKET, rule], owner=True) == said
        assert what_helps(["WS /a", "POST /b"], [SOCKET, rule], owner=False) == ""
    assert what_helps(["GET /a", "POST /b"], ["origin", "method"], owner=True) == said
    for owner in (True, False):
        assert what_helps([], [], owner=owner) == ""
        for rule in (WINDOW, "scheme", "address"):
            assert what_helps(["GET /a"], [rule], owner=owner) == ""
        for rule, words in [
            ("origin", "not among the origins"),
            ("private address", "in a private network"),
            ("address of no site", "of no site"),
        ]:
            told = what_helps(["WS /s", "GET http://a.example/x"], [SOCKET, rule], owner=owner)
            assert words in told and told.endswith("; --allow does not change that")


def test_what_is_to_be_allowed_can_be_pasted_unless_a_shell_or_the_list_would_read_more_in_it() -> None:
    for request, page, said in [
        ("POST /a/b", "http://a.example:81/x?y", "POST http://a.example:81/a/b"),
        ("PUT https://b.example/c", "http://a.example/", "PUT https://b.example/c"),
        ("POST /a'$(x)", "http://a.example/", "POST URL"),
        ("POST /a*", "http://a.example/", "POST URL"),
        ("POST /a/..", "http://a.example/", "POST URL"),
        ("POST /a", "about:blank", "POST URL"),
    ]:
        assert what_helps([request], ["method"], owner=True, page_url=page) == f"allow it with --allow '{said}'"


def test_a_websocket_is_allowed_by_the_address_that_a_page_would_have() -> None:
    page = "https://a.example/x"
    for request, said in [("WS /s", "https://a.example/s"), ("WS ws://b.example/s", "http://b.example/s")]:
        assert what_helps([request], [SOCKET], owner=True, page_url=page) == f"allow it with --allow 'WS {said}'"


@each(
    ("rule", "allowable"),
    [("method", True), ("address: delete", True), ("address", False), ("address of no site", False), ("origin", False)],
)
def test_an_option_allows_what_method_or_a_word_in_the_address_decides_and_nothing_else(
    rule: str, allowable: bool
) -> None:
    assert may_be_allowed(rule) is allowable
