"""How fast pages pass the gates: given secrets, personal data, and text that speaks to models."""

from __future__ import annotations

import random
import string
import time
from pathlib import Path

from benchmarks.registry import benchmark
from protocol import limits
from protocol.page.instructions.instructions import instructions_in
from protocol.page.secrets.personal import Tokens
from protocol.page.secrets.redaction import redact_text
from protocol.page.secrets.secrets import GivenSecret, Secrets

_PAGE_BYTES = 1_000_000
_ROUNDS = 5
_DOCS = Path(__file__).resolve().parent.parent / "docs"


def _page() -> str:
    """A snapshot of 1 MB: the words of our documents in rows of customers, of whom one in five has an e-mail address."""
    words = sorted(
        {word for file in sorted(_DOCS.glob("*.md")) for word in file.read_text("utf-8").split() if word.isalpha()}
    )
    rng = random.Random(1)
    lines: list[str] = []
    size = 0
    while size < _PAGE_BYTES:
        said = " ".join(rng.choices(words, k=8))
        mail = f" c{rng.randrange(10**4)}@shop.example" if rng.random() < 0.2 else ""
        role = rng.choice(("link", "cell", "listitem", "heading", "button"))
        lines.append(f'{"  " * rng.randrange(6)}- {role} "{said}{mail}" [level=2]: {rng.randrange(10**6)}')
        size += len(lines[-1]) + 1
    return "\n".join(lines)


@benchmark("gates.mb_per_s", unit="MB/s", target=2, direction="at least")
def mb_per_s() -> float:
    """A page of 1 MB through all three gates, with ``SECRETS_MAX`` secrets: the fastest of five rounds, in processor time."""
    page, rng = _page(), random.Random(2)
    values = (
        "".join(rng.choices(string.ascii_letters + string.digits + "!$%&", k=size)) for size in (4, 8, 12, 24) * 8
    )
    given = {
        f"n{place}": GivenSecret(value=value, origins=("https://a.example",)) for place, value in enumerate(values)
    }
    assert len(given) == limits.SECRETS_MAX
    stored = Secrets(given).keyed(Tokens(bytes(32))).stored
    fastest = float("inf")
    for _ in range(_ROUNDS):
        began = time.process_time()
        assert "‹email:" in redact_text(page, stored)
        instructions_in(page)
        fastest = min(fastest, time.process_time() - began)
    return len(page.encode()) / 1e6 / fastest
