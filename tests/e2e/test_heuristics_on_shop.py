"""The heuristics alone find their way through the shop, in a real Chromium and without any effect on the shop."""

from __future__ import annotations

import pytest

from adapters.ports.browser import Browser
from protocol.goal.condition import parse
from tests.e2e.greedy import walk
from trailmesh.shop.app import make_app, serve_shop
from trailmesh.shop.catalogue import cheapest_blue_mug_over_four
from trailmesh.shop.config import ShopConfig
from trailmesh.shop.effects import EFFECTS

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

MUG = f"/products/{cheapest_blue_mug_over_four(ShopConfig()).slug}"


@pytest.mark.parametrize(
    ("goal", "path", "steps_max"),
    [
        ("Find the cheapest blue mug with a rating over 4", MUG, 10),
        ("Open the delivery and returns help page", "/help/returns", 4),
        ('Show the product "Linden Plate, Red"', "/products/linden-plate-red", 6),
        ("How do I care for and clean stoneware?", "/help/care", 6),
    ],
)
async def test_the_best_candidates_lead_to_the_goal_and_change_nothing(
    browser: Browser, goal: str, path: str, steps_max: int
) -> None:
    config = ShopConfig()
    app = make_app(config)
    async with serve_shop(config, app) as url:
        await walk(browser, f"{url}/", goal, parse({"url": f"{url}{path}*"}), steps_max=steps_max)
    assert app[EFFECTS] == []


@pytest.mark.field
async def test_other_wordings_and_markup_do_not_lead_it_astray(browser: Browser) -> None:
    async with serve_shop(ShopConfig(seed=6, drift=1.0)) as url:
        goal = "Find the cheapest blue mug with a rating over 4"
        await walk(browser, f"{url}/", goal, parse({"url": f"{url}{MUG}"}), steps_max=15)
