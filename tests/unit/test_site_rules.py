"""What the owner has said of single sites: which rule decides, what it allows and narrows, and how that is explained."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from node.config.settings import Config, PolicyConfig, parse
from node.live.browsers import guard_for
from node.process.setup import init_home
from node.process.wiring import open_node
from node.verbs.nodes.policy import ExplainParams
from protocol.errors import MeshError
from protocol.risk.requests.requests import judge_request
from protocol.risk.requests.sites import SiteRule, judge_site, path_fits, rule_at
from tests.tables import each

SHOP = "https://shop.example"
RULES = (
    SiteRule(site="https://*.example", why="known", read=("/public/**",)),
    SiteRule(
        site="https://*.shop.example", why="prices are public", read=("/products/**", "/search"), post=("POST /search",)
    ),
    SiteRule(site=SHOP, why="ours", post=("POST /cart/*", "PUT /**")),
)


def judged(method: str, url: str, kind: str = "fetch", **policy: Any) -> str | None:
    guard = guard_for(PolicyConfig(sites=RULES, **policy))
    return judge_request(method, url, kind, kind == "document", None, guard)


@each(
    ("pattern", "path", "fits"),
    [
        ("/a/*", "/a/b", True),
        ("/a/*", "/a/", True),
        ("/a/*", "/a/b/c", False),
        ("/a/**", "/a/b/c", True),
        ("/a/**", "/ab", False),
        ("/a/**/z", "/a/b/c/z", True),
        ("/a/**/z", "/a/b/c/zz", False),
        ("/*/x/*", "/q/w/x/y", False),
        ("/**/d*/e", "/a/b/dx/e", True),
        ("/a*b*c", "/aXbY/c", False),
        ("/a.c", "/abc", False),
        ("/a?c", "/abc", False),
        ("/[ab]", "/a", False),
        ("/**", "/a%2fb", False),
        ("/**", "/a%2E%2e/b", False),
        ("/a/**", "/a/../b", False),
        ("/**", "/a\\b", False),
    ],
)
def test_a_star_stays_within_a_segment_and_two_cross_it(pattern: str, path: str, fits: bool) -> None:
    """Guard: protocol/risk/requests/sites.py, path_fits."""
    assert path_fits(pattern, path) is fits


@each(("pattern", "path"), [("/" + "*a" * 200, "/" + "a" * 900 + "/"), ("/" + "**a" * 60 + "b", "/" + "a" * 900)])
def test_a_pattern_of_many_stars_is_decided_in_time(pattern: str, path: str) -> None:
    began = time.monotonic()
    assert not path_fits(pattern, path)
    assert time.monotonic() - began < 5


def test_the_most_specific_rule_decides_alone() -> None:
    """Guard: protocol/risk/requests/sites.py, rule_at."""
    found = [
        rule_at(RULES, f"https://{host}/x")
        for host in ("shop.example", "a.shop.example", "b.a.shop.example", "other.example", "shop.test")
    ]
    assert found == [2, 1, 1, 0, None]
    assert rule_at(RULES, "https://shop.example:444/x") is None
    assert rule_at(RULES, "http://shop.example/x") is None
    assert rule_at(RULES, "not an address") is None


def test_what_a_rule_does_not_list_is_not_read_but_pictures_and_styles_are() -> None:
    """Guard: protocol/risk/requests/sites.py, judge_site."""
    assert judged("GET", "https://a.shop.example/products/7", "document") is None
    assert judged("GET", "https://a.shop.example/admin", "document") == "site"
    assert judged("GET", "https://a.shop.example/api/users") == "site"
    assert judged("GET", "https://a.shop.example/logo.png", "image") is None
    assert judged("GET", f"{SHOP}/anything", "document") is None, "a rule without `read` narrows nothing"
    assert (
        judged("GET", "https://a.shop.example/admin", "document", allow_requests=("GET https://a.shop.example/admin",))
        is None
    )


def test_a_rule_allows_the_requests_it_lists_and_no_others() -> None:
    assert judged("POST", "https://a.shop.example/search?q=mug") is None
    assert judged("POST", f"{SHOP}/cart/7") is None
    for method, url in (
        ("POST", "https://a.shop.example/search/all"),
        ("PUT", "https://a.shop.example/search"),
        ("POST", f"{SHOP}/cart/7/delete"),
        ("POST", f"{SHOP}/cart/%2e%2e/admin"),
        ("DELETE", f"{SHOP}/cart/7"),
        ("POST", "https://shop.example.evil.test/cart/7"),
        ("POST", "http://shop.example/cart/7"),
    ):
        assert judged(method, url) == "method", url


def test_a_rule_lifts_neither_origins_nor_destinations_nor_the_words_of_an_address() -> None:
    wide = (SiteRule(site="*", why="everything", post=("POST /**",)),)
    guard = guard_for(PolicyConfig(sites=wide, origins=(SHOP,)))
    assert judge_request("POST", "https://other.example/x", "fetch", False, None, guard) == "origin"
    guard = guard_for(PolicyConfig(sites=wide))
    assert judge_request("POST", "http://169.254.169.254/x", "fetch", False, None, guard) == "address of no site"
    assert judge_request("GET", f"{SHOP}/items/7/delete", "document", True, None, guard) is not None
    assert judge_site(wide, "POST", f"{SHOP}/x", "fetch") == ""


@each(
    ("rule", "says"),
    [
        ({"site": "https://shop.example"}, "why"),
        ({"site": "https://shop.example", "why": ""}, "why"),
        ({"site": "https://Shop.example", "why": "x"}, "write the site as https://shop.example"),
        ({"site": "https://shop.example/", "why": "x"}, "write the site as https://shop.example"),
        ({"site": "shop.example", "why": "x"}, "names no origins"),
        ({"site": "https://shop.example", "why": "x", "post": ["GET /x"]}, "post"),
        ({"site": "https://shop.example", "why": "x", "post": ["POST x"]}, "post"),
        ({"site": "https://shop.example", "why": "x", "read": ["products"]}, "read"),
        ({"site": "https://shop.example", "why": "x", "connect": ["live"]}, "connect"),
        ({"site": "https://shop.example", "why": "x", "other": 1}, "unknown field"),
    ],
)
def test_a_rule_that_would_not_count_as_written_is_refused(rule: dict[str, Any], says: str) -> None:
    with pytest.raises(MeshError) as caught:
        parse(yaml.safe_dump({"policy": {"sites": [rule]}}))
    assert caught.value.code == "config.invalid"
    assert says in caught.value.message


def test_two_rules_for_one_site_are_refused() -> None:
    """Guard: node/config/site_rules.py, check_sites."""
    rule = {"site": "https://shop.example", "why": "x"}
    with pytest.raises(MeshError, match="has a rule already"):
        parse(yaml.safe_dump({"policy": {"sites": [rule, dict(rule)]}}))


async def test_the_policy_is_explained_by_the_rule_that_decides(tmp_path: Path) -> None:
    home = tmp_path / "home"
    init_home(home, name="anna", listen="127.0.0.1:0", config_file=None, recovery_out=str(tmp_path / "r.txt"))
    config = msgspec.structs.replace(
        Config(), policy=PolicyConfig(sites=RULES, allow_requests=("POST https://mail.test/*",))
    )
    (home / "config.yaml").write_text(yaml.safe_dump(msgspec.to_builtins(config)))
    async with open_node(home) as node:

        async def explained(url: str, **more: Any) -> tuple[bool, str, str]:
            params = msgspec.json.encode(ExplainParams(url=url, **more))
            found = await node.dispatch("policy.explain", params, lambda event: None)
            return found.allowed, found.where, found.why

        assert await explained("https://a.shop.example/products/7") == (True, "policy.sites[1]", "prices are public")
        assert await explained("https://a.shop.example/admin") == (False, "policy.sites[1]", "prices are public")
        assert await explained(f"{SHOP}/cart/1", method="POST") == (True, "policy.sites[2]", "ours")
        assert await explained("https://mail.test/x", method="post") == (True, "policy.allow_requests[0]", "")
        assert (await explained("https://mail.test/x"))[0]
        assert await explained("https://mail.test/x", method="PUT") == (False, "the network guard (docs/risk.md)", "")
        assert await explained("http://169.254.169.254/") == (False, "policy.origins", "")
        assert (await explained(SHOP, element='button "Delete account"'))[:2] == (False, "the gate (docs/risk.md)")
        assert (await explained(SHOP, element='tab "Details"'))[:2] == (True, "policy.risk_class_max")
        for element, unsure in (('link "Rooms"', True), ('button "Wug"', False)):
            params = msgspec.json.encode(ExplainParams(url=SHOP, element=element))
            found = await node.dispatch("policy.explain", params, lambda event: None)
            assert ("where it leads is not known" in found.rule, found.allowed) == (unsure, False)
        with pytest.raises(MeshError, match="a role and a name"):
            await explained(SHOP, element="???")
