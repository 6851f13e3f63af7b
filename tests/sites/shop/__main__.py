"""Serve the shop until told to stop: ``python -m tests.sites.shop --port 0 --seed 0``."""

import argparse
import asyncio
import json
import os
import signal
from pathlib import Path

from tests.sites.shop.app import serve_shop
from tests.sites.shop.config import ShopConfig


def _parse() -> tuple[ShopConfig, Path | None]:
    parser = argparse.ArgumentParser(prog="tests.sites.shop", description="Serve the demo shop on 127.0.0.1.")
    parser.add_argument("--port", type=int, default=0, help="port to listen on; 0 takes a free one")
    parser.add_argument("--seed", type=int, default=0, help="version of the markup; 0 is the base version")
    parser.add_argument("--drift", type=float, default=0.0, help="share of the wordings that change, 0.0 to 1.0")
    parser.add_argument("--latency-ms", type=float, default=0.0, help="median delay of a request; 0 for none")
    parser.add_argument("--effects-log", type=Path, help="file that gets one JSON line per effect")
    parser.add_argument("--ready-file", type=Path, help="file that gets the same line as standard output")
    args = parser.parse_args()
    try:
        config = ShopConfig(
            port=args.port,
            seed=args.seed,
            drift=args.drift,
            latency_ms=args.latency_ms,
            effects_log=args.effects_log,
        )
    except ValueError as error:
        parser.error(str(error))
    return config, args.ready_file


async def _serve(config: ShopConfig, ready_file: Path | None) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with serve_shop(config) as url:
        line = json.dumps({"url": url})
        if ready_file is not None:
            # Renamed into place, so that whoever waits for the file never reads half of it.
            partial = ready_file.with_name(ready_file.name + ".part")
            partial.write_text(line + "\n", encoding="utf-8")
            os.replace(partial, ready_file)
        print(line, flush=True)
        await stop.wait()


if __name__ == "__main__":
    asyncio.run(_serve(*_parse()))
