"""A WebSocket is opened where the owner has named its address, and nowhere else."""

from __future__ import annotations

from protocol.risk.requests.requests import GuardPolicy
from protocol.risk.requests.sites import SiteRule
from protocol.risk.requests.sockets import TrafficCount, judge_socket
from tests.tables import each

FEED = "wss://shop.example/feed?last=7"
NAMED = "WS https://shop.example/feed"


@each(
    ("policy", "rule"),
    [
        (GuardPolicy(), "socket"),
        (GuardPolicy(allow=(NAMED,)), None),
        (GuardPolicy(allow=("ws https://*.example/*",)), None),
        (GuardPolicy(allow=("WS http://shop.example/feed",)), "socket"),
        (GuardPolicy(allow=("WS https://shop.example/feed/**",)), "socket"),
        (GuardPolicy(allow=("GET https://shop.example/feed", "POST *")), "socket"),
        (GuardPolicy(allow=(NAMED,), origins=("https://other.example",)), "origin"),
        (GuardPolicy(sites=(SiteRule(site="https://shop.example", why="prices", connect=("/feed",)),)), None),
        (GuardPolicy(sites=(SiteRule(site="https://shop.example", why="prices", connect=("/x",)),)), "socket"),
        (GuardPolicy(read_only=False), None),
    ],
)
def test_a_socket_is_opened_where_an_entry_or_the_rule_of_its_site_names_it(
    policy: GuardPolicy, rule: str | None
) -> None:
    """Guard: protocol/risk/requests/sockets.py, judge_socket."""
    assert judge_socket(FEED, policy) == rule


@each(
    ("url", "rule"),
    [
        ("ws://169.254.169.254/x", "address of no site"),
        ("ws://[fd00:ec2::254]/x", "address of no site"),
        ("ws://100.100.100.200/x", "address of no site"),
        ("ws://127.0.0.1/x", "private address"),
        ("ftp://shop.example/x", "scheme"),
    ],
)
def test_an_entry_allows_no_socket_to_where_no_site_is(url: str, rule: str) -> None:
    policy = GuardPolicy(allow=(f"WS http{url[2:]}",), private=())
    assert judge_socket(url, policy) == rule


def test_messages_and_bytes_over_a_socket_are_counted() -> None:
    flow = TrafficCount(2, 5)
    assert [flow.takes("a"), flow.takes(b"a"), flow.takes("a")] == [True, True, False]
    assert TrafficCount(2, 5).takes("a" * 6) is False
