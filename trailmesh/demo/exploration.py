"""``trailmesh demo mesh``: three nodes explore the shop, prove what they found, and an auditor replays it."""

from __future__ import annotations

import json
from pathlib import Path

from trailmesh.demo.journey import Journey, Task, finish
from trailmesh.demo.login import Account
from trailmesh.demo.site import shop
from trailmesh.shop import ShopConfig, cheapest_blue_mug_over_four

GOAL = "find the cheapest blue mug with a rating over 4"


def count_effects(effects: Path) -> int:
    """State changes the shop has noticed, but for the logins, which the demo asks for."""
    lines = effects.read_text().splitlines() if effects.exists() else []
    return sum(json.loads(line)["kind"] != "login" for line in lines)


def explore(directory: Path, *, latency_ms: int, seconds: int, as_json: bool = False) -> bool:
    """Run the demo in an empty directory; whether every promise held. seconds: time limit of the search."""
    effects = directory / "shop-effects.jsonl"
    with shop("--latency-ms", str(latency_ms), "--effects-log", str(effects)) as url:
        known = ShopConfig()
        mug = cheapest_blue_mug_over_four(known)
        task = Task(
            title="the demo shop",
            goal=GOAL,
            start_url=f"{url}/",
            until={"url": f"*/products/{mug.slug}", "element": {"role": "heading", "name": mug.name}},
            seconds=seconds,
            unsafe_effects=lambda: count_effects(effects),
            far=True,
            account=Account(url=url, email=known.user_email, password=known.password),
        )
        journey = Journey(directory, task)
        journey.run()
        return finish(journey, as_json=as_json)
