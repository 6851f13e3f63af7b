"""``python -m scripts.fuzz TARGET --seconds N``: coverage-guided fuzzing of one decoder, or of all in turn.

Runs in the environment of ``make fuzz``, which has atheris. An input that breaks its target is kept under
``tests/fuzz/crashers/<target>/``; ``make test`` replays it from then on.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
CRASHERS = ROOT / "tests" / "fuzz" / "crashers"
INSTRUMENTED = (
    "protocol",
    "adapters.browser.observing.aria",
    "adapters.transport.tls.answers",
    "node.sessions.actions.action_files",
    "node.sessions.actions.yaml_asserts",
    "node.sessions.actions.yaml_forms",
    "node.sessions.actions.yaml_steps",
)
INPUT_BYTES_MAX = 4_096
INPUT_SECONDS_MAX = 5
MEMORY_MB_MAX = 2_048
GRACE_SECONDS = 60


def write_seeds(directory: Path, seeds: Sequence[bytes]) -> None:
    """A corpus to begin with."""
    for seed in seeds:
        (directory / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)


def work(name: str, arguments: Sequence[str]) -> None:
    """Fuzz inside this process; ends with it."""
    import atheris

    with atheris.instrument_imports(include=list(INSTRUMENTED)):
        from tests.fuzz.targets import TARGETS, survives
    target = TARGETS[name]
    write_seeds(Path(arguments[-1]), target.seeds)
    atheris.Setup([sys.argv[0], *arguments], lambda data: survives(target, data) and None)
    atheris.Fuzz()


def fuzz(name: str, seconds: int) -> bool:
    """Whether ``name`` stood ``seconds`` of fuzzing."""
    kept = CRASHERS / name
    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as corpus:
        limits = [
            f"-max_total_time={seconds}",
            f"-max_len={INPUT_BYTES_MAX}",
            f"-timeout={INPUT_SECONDS_MAX}",
            f"-rss_limit_mb={MEMORY_MB_MAX}",
            f"-artifact_prefix={kept}/",
            "-print_final_stats=1",
        ]
        done = subprocess.run(
            [sys.executable, "-m", "scripts.fuzz", name, "--work", *limits, corpus],
            cwd=ROOT,
            check=False,
            timeout=seconds + GRACE_SECONDS,
        )
    if not any(kept.iterdir()):
        kept.rmdir()
    return done.returncode == 0


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m scripts.fuzz", description="Fuzz the decoders of outside bytes.")
    parser.add_argument("target", nargs="?", default="all", help="name of a target, `all`, or `list`")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--work", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.work is not None:
        work(chosen.target, chosen.work)
        return 0
    from tests.fuzz.targets import TARGETS

    if chosen.target == "list":
        print("\n".join(TARGETS))
        return 0
    if chosen.target != "all" and chosen.target not in TARGETS:
        parser.error(f"no target {chosen.target}; `list` names them")
    names = list(TARGETS) if chosen.target == "all" else [chosen.target]
    broken = [name for name in names if not fuzz(name, chosen.seconds)]
    print(f"{len(names) - len(broken)} of {len(names)} targets stood {chosen.seconds} s", *broken, sep="\n  ")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
