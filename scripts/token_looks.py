"""Learns how tokens in addresses look, and measures it: ``python -m scripts.token_looks WORDS… [--write]``.

WORDS: directories with message catalogues (``.po``), whose words make slugs and identifiers of the benign set. Both sets are
generated from a fixed seed. Part of the forms are held out: nothing of them is seen in training. ``--write`` writes
``protocol/page/secrets/token_weights.py``. See docs/adr/0043.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import itertools
import json
import random
import re
import string
import textwrap
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

import numpy as np

from protocol.page.secrets import token_looks, token_weights
from protocol.page.secrets.redaction import REDACTED, redact_url

ROOT: Final = Path(__file__).resolve().parent.parent
Form = Callable[[random.Random], str]
_LANGUAGES: Final = ("de", "fr", "es", "it", "nl", "pl", "sv", "pt", "fi", "tr", "cs", "hu", "id", "ro", "da")
_B62: Final = string.ascii_letters + string.digits
_B58: Final = "".join(char for char in _B62 if char not in "0OIl")
_EACH: Final = 150


def words_of(folders: Sequence[Path], most: int = 60_000) -> list[str]:
    """Words of message catalogues: of the originals, and of translations into languages with Latin letters."""
    found: Counter[str] = Counter()
    for folder in folders:
        for file in sorted(folder.rglob("*.po"))[:4_000]:
            if not ({file.stem[:2], file.parent.parent.name[:2]} & set(_LANGUAGES)):
                continue
            text = file.read_text("utf-8", "replace")[:200_000]
            for line in re.findall(r'^(?:msgid|msgstr) "(.*)"$', text, re.MULTILINE):
                found.update(word for word in re.findall(r"[^\W\d_]{2,14}", line.lower()) if word.isascii())
    return sorted(word for word, count in found.most_common(most) if count > 1)


def _chars(alphabet: str, size: int) -> Form:
    return lambda r: "".join(r.choices(alphabet, k=size))


def _urlsafe(size: int) -> Form:
    return lambda r: base64.urlsafe_b64encode(r.randbytes(size)).decode().rstrip("=")


def _standard(size: int) -> Form:
    return lambda r: base64.b64encode(r.randbytes(size)).decode()


def _web_token(r: random.Random) -> str:
    parts = (
        b'{"alg":"HS256","typ":"JWT"}',
        json.dumps({"sub": r.randrange(10**9), "iat": r.randrange(10**9)}).encode(),
    )
    head = ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)
    return f"{head}.{_urlsafe(32)(r)}"


HEX: Final = "0123456789abcdef"
TOKENS: Final[Mapping[str, Form]] = {
    "PHP session id": _chars("0123456789abcdefghijklmnopqrstuv", 26),
    "ASP.NET session id": _chars("0123456789abcdefghijklmnopqrstuvwxyz", 24),
    "Java session id": lambda r: _chars("0123456789ABCDEF", 32)(r) + ".node" + str(r.randrange(9)),
    "JSON web token": _web_token,
    "16 bytes, URL-safe base64": _urlsafe(16),
    "24 bytes, URL-safe base64": _urlsafe(24),
    "32 bytes, URL-safe base64": _urlsafe(32),
    "48 bytes, URL-safe base64": _urlsafe(48),
    "18 bytes, base64": _standard(18),
    "24 bytes, base64": _standard(24),
    "32 bytes, base64": _standard(32),
    "Rails reset token": _urlsafe(15),
    "Django reset token": lambda r: f"{_chars(HEX + 'ghijklmnop', 6)(r)}-{_chars(HEX, 32)(r)}",
    "magic link, 22 of base 62": _chars(_B62, 22),
    "magic link, 32 of base 62": _chars(_B62, 32),
    "magic link, 43 of base 62": _chars(_B62, 43),
    "invitation, 22 of base 58": _chars(_B58, 22),
    "key, 44 of base 58": _chars(_B58, 44),
    "nanoid": _chars(_B62 + "_-", 21),
    "GitHub": lambda r: "ghp_" + _chars(_B62, 36)(r),
    "GitLab": lambda r: "glpat-" + _chars(_B62 + "_-", 20)(r),
    "Stripe": lambda r: "sk_live_" + _chars(_B62, 24)(r),
    "Slack": lambda r: f"xoxb-{r.randrange(10**11, 10**12)}-{_chars(_B62, 24)(r)}",
    "AWS key id": lambda r: "AKIA" + _chars(string.ascii_uppercase + "234567", 16)(r),
    "AWS secret": _standard(30),
    "Google API": lambda r: "AIza" + _chars(_B62 + "_-", 35)(r),
    "SendGrid": lambda r: f"SG.{_urlsafe(16)(r)}.{_urlsafe(32)(r)}",
    "npm": lambda r: "npm_" + _chars(_B62, 36)(r),
    "TOTP secret": _chars(string.ascii_uppercase + "234567", 32),
    "OAuth code": lambda r: "4/0A" + _chars(_B62 + "_-", 60)(r),
    "lower case and digits, 20": _chars(string.ascii_lowercase + string.digits, 20),
    "lower case and digits, 40": _chars(string.ascii_lowercase + string.digits, 40),
    "upper case and digits, 24": _chars(string.ascii_uppercase + string.digits, 24),
    "hex, 48": _chars(HEX, 48),
    "hex, 20": _chars(HEX, 20),
    "hex, 128": _chars(HEX, 128),
}
HELD_OUT_TOKENS: Final = (
    "ASP.NET session id",
    "24 bytes, base64",
    "magic link, 32 of base 62",
    "nanoid",
    "OAuth code",
    "hex, 48",
    "key, 44 of base 58",
    "Slack",
    "Rails reset token",
)


def benign(words: Sequence[str]) -> Mapping[str, Form]:
    """What stands in addresses and is no token. UUIDs, object ids and hashes are among it: they name things."""

    def slug(r: random.Random, low: int = 2, high: int = 9, mark: str = "-") -> str:
        return mark.join(r.choices(words, k=r.randint(low, high)))

    def camel(r: random.Random) -> str:
        first, *rest = r.choices(words, k=r.randint(2, 5))
        return first + "".join(word.capitalize() for word in rest)

    def day(r: random.Random) -> str:
        return f"20{r.randrange(10, 30)}-{r.randrange(1, 13):02}-{r.randrange(1, 29):02}"

    return {
        "slug": slug,
        "slug with id": lambda r: f"{slug(r)}-{r.randrange(10 ** r.randint(3, 11))}",
        "id with slug": lambda r: f"{r.randrange(10**7)}-{slug(r)}",
        "slug with underscores": lambda r: slug(r, mark="_"),
        "slug with plus": lambda r: slug(r, mark="+"),
        "capitalised slug": lambda r: "-".join(w.capitalize() for w in r.choices(words, k=r.randint(2, 6))),
        "identifier": camel,
        "type": lambda r: camel(r).capitalize() + r.choice(("Controller", "Id", "View2", "V2")),
        "constant": lambda r: slug(r, 2, 5, "_").upper(),
        "compound": lambda r: "".join(r.choices(words, k=r.randint(2, 4))),
        "number": lambda r: str(r.randrange(10**15, 10**20)),
        "date and time": lambda r: f"{day(r)}T{r.randrange(24):02}:{r.randrange(60):02}:{r.randrange(60):02}.000Z",
        "range of dates": lambda r: f"{day(r)}_{day(r)}",
        "picture": lambda r: f"IMG_{day(r).replace('-', '')}_{r.randrange(10**6):06}-{r.choice(words)}.jpg",
        "asset with hash": lambda r: f"{r.choice(words)}.{_chars(HEX, r.choice((8, 16, 20, 32)))(r)}.js",
        "asset with short hash": lambda r: f"{r.choice(words)}-{r.choice(words)}-{_chars(_B62, 8)(r)}.css",
        "chunk": lambda r: f"chunk-{_chars(string.ascii_uppercase + '234567', 8)(r)}.js",
        "class of a module": lambda r: f"{r.choice(words)}_{r.choice(words)}__{_chars(_B62, 5)(r)}",
        "product": lambda r: f"SKU-{r.randrange(10**6):06}-{_chars(string.ascii_uppercase, 2)(r)}-{r.choice(words)}",
        "model": lambda r: (
            f"{_chars(string.ascii_uppercase, 3)(r)}-{r.randrange(10**4)}{_chars(string.ascii_uppercase, 2)(r)}-{slug(r, 1, 3)}"
        ),
        "EAN": lambda r: str(r.randrange(10**12, 10**13)) + "-" + r.choice(words),
        "version": lambda r: (
            f"v{r.randrange(30)}.{r.randrange(30)}.{r.randrange(99)}-{r.choice(('beta', 'rc'))}.{r.randrange(9)}+build"
        ),
        "coordinates": lambda r: f"{r.uniform(-90, 90):.6f},{r.uniform(-180, 180):.6f},15z",
        "UUID": lambda r: str(uuid.UUID(bytes=r.randbytes(16), version=4)),
        "object id": _chars(HEX, 24),
        "MD5": lambda r: hashlib.md5(r.randbytes(8), usedforsecurity=False).hexdigest(),
        "SHA-1": lambda r: hashlib.sha1(r.randbytes(8), usedforsecurity=False).hexdigest(),
        "SHA-256": lambda r: hashlib.sha256(r.randbytes(8)).hexdigest(),
        "ULID": lambda r: "01" + _chars("0123456789ABCDEFGHJKMNPQRSTVWXYZ", 24)(r),
        "page with id": lambda r: f"{slug(r, 2, 4)}-{_chars(HEX, 32)(r)}",
        "campaign": lambda r: (
            f"{r.choice(words)}_{r.choice(words)}_20{r.randrange(10, 30)}_{r.choice(('email', 'banner'))}_v{r.randrange(9)}"
        ),
        "locale and path": lambda r: f"en-US/{slug(r, 1, 2)}/{slug(r, 1, 3)}",
        "DOI": lambda r: f"10.{r.randrange(1000, 9999)}/{r.choice(words)}.{day(r)[:4]}.{r.randrange(10**6)}",
        "branch": lambda r: f"feature/{_chars(string.ascii_uppercase, 4)(r)}-{r.randrange(9999)}-{slug(r, 2, 5)}",
        "sort order": lambda r: f"orderBy{r.choice(words).capitalize()}{r.choice(('Desc', 'Asc', 'Key'))}",
        "video id": _chars(_B62 + "_-", 11),
        "short id": _chars(_B62, 8),
    }


HELD_OUT_BENIGN: Final = (
    "capitalised slug",
    "constant",
    "campaign",
    "branch",
    "model",
    "asset with short hash",
    "DOI",
    "page with id",
)


def sample(forms: Mapping[str, Form], seed: int, each: int = _EACH) -> list[tuple[str, str]]:
    r = random.Random(seed)  # noqa: S311 - generated examples, no keys
    return [(name, form(r)) for name, form in forms.items() for _ in range(each)]


def bigrams(words: Sequence[str]) -> str:
    """Of each pair of letters how seldom it is in ``words``, 0 to 9, in a row."""
    counted: Counter[str] = Counter()
    for word in words:
        counted.update(one + other for one, other in itertools.pairwise(word))
    total = sum(counted.values()) + 26 * 26
    pairs = (one + other for one in string.ascii_lowercase for other in string.ascii_lowercase)
    rare = [-np.log2((counted[pair] + 1) / total) for pair in pairs]
    return "".join(str(min(9, max(0, round((one - 6) * 9 / 10)))) for one in rare)


def train(good: Sequence[str], bad: Sequence[str]) -> np.ndarray:
    """Weights of a logistic regression, both sets counting alike."""
    x = np.array([token_looks.features(piece) for piece in (*good, *bad)])
    y = np.array([0.0] * len(good) + [1.0] * len(bad))
    balance = np.where(y == 1, len(y) / len(bad) / 2, len(y) / len(good) / 2)
    weights = np.zeros(x.shape[1])
    for _ in range(60):  # Newton's method; converges in ten
        p = 1 / (1 + np.exp(-x @ weights))
        gradient = x.T @ (balance * (p - y)) + 0.02 * weights
        hessian = (x * (balance * p * (1 - p))[:, None]).T @ x + 0.02 * np.eye(len(weights))
        weights -= np.linalg.solve(hessian, gradient)
    return weights


def scored(pieces: Sequence[str]) -> list[str]:
    """Those of which a score decides: hexadecimal is judged by its length and place."""
    found = (piece for whole in pieces if not whole.endswith(".js") for piece in token_looks.scored_pieces(whole))
    return [piece for piece in found if not re.fullmatch("[0-9a-f]+", piece)]


PLACES: Final = {
    "query": "https://shop.example/list?page=2&x={}&sort=name",
    "path": "https://shop.example/items/{}/view",
    "fragment": "https://shop.example/list#{}",
}


def is_redacted(piece: str, place: str, *, token: bool) -> bool:
    """A hash or an id is put under a key that says so: so sites do."""
    url = PLACES[place].format(quote(piece, safe="/:,"))
    return REDACTED in redact_url(url.replace("x=", "ref=") if token_looks.names_a_thing(piece) and not token else url)


def report(name: str, good: Sequence[tuple[str, str]], bad: Sequence[tuple[str, str]]) -> None:
    for place in PLACES:
        missed = Counter(form for form, piece in bad if not is_redacted(piece, place, token=True))
        wrong = Counter(form for form, piece in good if is_redacted(piece, place, token=False))
        found, taken = len(bad) - missed.total(), wrong.total()
        precision, recall = found / max(found + taken, 1), found / max(len(bad), 1)
        print(f"{name} {place}: precision {precision:.4f} recall {recall:.4f} ({len(bad)} tokens, {len(good)} others)")
        print(f"   missed {dict(missed.most_common(5))} wrong {dict(wrong.most_common(5))}")


def write(table: str, weights: Sequence[float], limit: float, words: Sequence[str]) -> None:
    lines = "\n".join(f'    "{line}"' for line in textwrap.wrap(table, 104))
    digest = hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]
    numbers = ", ".join(f"{one:.3f}" for one in weights)
    (ROOT / "protocol/page/secrets/token_weights.py").write_text(
        f'"""Written by ``scripts/token_looks.py`` from {len(words)} words (SHA-256 {digest}…). See docs/adr/0043."""\n\n'
        f"BIGRAMS = (\n{lines}\n)\n"
        f"WEIGHTS: tuple[float, ...] = ({numbers})\n"
        f"LIMIT = {limit:.3f}\n",
        encoding="utf-8",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="+", type=Path)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    words = words_of(given.words)
    shuffled = sorted(words, key=lambda word: hashlib.sha256(word.encode()).digest())
    seen, unseen = shuffled[: len(words) * 7 // 10], shuffled[len(words) * 7 // 10 :]
    develop = (
        sample({name: form for name, form in benign(seen).items() if name not in HELD_OUT_BENIGN}, 1),
        sample({name: form for name, form in TOKENS.items() if name not in HELD_OUT_TOKENS}, 2),
    )
    if given.write:
        token_weights.BIGRAMS = bigrams(seen)
        good, bad = (scored([piece for _, piece in part]) for part in develop)
        weights = train(good, bad)
        token_weights.WEIGHTS = tuple(round(float(one), 3) for one in weights)
        # What is lost by a wrong token is an address that cannot be opened again: so the limit is that of one in 500.
        limit = float(np.quantile([token_looks.score(piece) for piece in good], 0.998))
        token_weights.LIMIT = max(limit, 0.0)
        write(token_weights.BIGRAMS, token_weights.WEIGHTS, token_weights.LIMIT, seen)
    report("develop", *develop)
    report("test: all forms, other words", sample(benign(unseen), 3, 200), sample(TOKENS, 4, 200))
    report(
        "test: forms held out",
        sample({name: benign(unseen)[name] for name in HELD_OUT_BENIGN}, 5, 400),
        sample({name: TOKENS[name] for name in HELD_OUT_TOKENS}, 6, 400),
    )


if __name__ == "__main__":
    main()
