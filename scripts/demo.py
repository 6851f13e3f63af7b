"""``make demo``: the whole journey on the bundled demo shop, through the public commands."""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from scripts.journey import Journey, Task, finish, interrupted
from tests.sites.shop import ShopConfig, cheapest_blue_mug_over_four

GOAL = "find the cheapest blue mug with a rating over 4"


@contextlib.contextmanager
def shop(effects: Path, latency_ms: int) -> Iterator[str]:
    """The demo shop in a process of its own; its address."""
    command = [
        sys.executable,
        "-m",
        "tests.sites.shop",
        "--port",
        "0",
        "--latency-ms",
        str(latency_ms),
        "--effects-log",
        str(effects),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"]
    finally:
        process.terminate()
        process.wait(timeout=10)


def count_effects(effects: Path) -> int:
    """State changes the shop has noticed."""
    return len(effects.read_text().splitlines()) if effects.exists() else 0


def main() -> int:
    """Run the demo; the exit code says whether every promise held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo-out"), help="where results go (emptied first)")
    parser.add_argument("--latency-ms", type=int, default=150, help="median latency of the shop's answers")
    parser.add_argument("--seconds", type=int, default=180, help="time limit of the search")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    directory = options.out.absolute()
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    effects = directory / "shop-effects.jsonl"
    try:
        with shop(effects, options.latency_ms) as url:
            mug = cheapest_blue_mug_over_four(ShopConfig())
            task = Task(
                title="the demo shop",
                goal=GOAL,
                start_url=f"{url}/",
                until={"url": f"*/products/{mug.slug}", "element": {"role": "heading", "name": mug.name}},
                seconds=options.seconds,
                unsafe_effects=lambda: count_effects(effects),
                far=True,
            )
            journey = Journey(directory, task)
            journey.run()
            return finish(journey)
    except KeyboardInterrupt:
        return interrupted()


if __name__ == "__main__":
    sys.exit(main())
