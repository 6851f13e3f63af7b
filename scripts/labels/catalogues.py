"""Reads message catalogues of applications: pairs of an English text and the same text in another language.

Read are gettext's ``.po`` and ``.mo``, JSON, YAML, PHP arrays and JavaScript modules. In those without the English text beside each
translation, the file of the same folder or place whose language is English gives it.
"""

from __future__ import annotations

import gettext
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import yaml


class Message(NamedTuple):
    """One text of an application in one language."""

    language: str
    english: str
    said: str


_CODE: Final = re.compile(
    r"^(?:lang[-_])?([a-z]{2,3}(?:[-_](?:[A-Z]{2}|[A-Za-z]{2,4}|[a-z]{2}|[a-z]{4,8}|419|latin|cyrl))?)(?:@(\w+))?(?:-[0-9a-f]{8,})?$"
)
_SKIPPED: Final = frozenset(
    {"js", "css", "src", "lib", "web", "app", "api", "doc", "img", "min", "mod", "map", "log", "md", "qqq", "qqx"}
)
_PHP: Final = re.compile(
    r"""\$(?:labels|messages|lang)((?:\[['"][^'"\]]+['"]\])+)\s*=\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
)
_JS: Final = re.compile(
    r"""(?:"((?:[^"\\\n]|\\.)+)"|'((?:[^'\\\n]|\\.)+)'|([\w$]+))\s*:\s*\[?\s*("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
)
_FILE_BYTES_MAX: Final = 8_000_000


def messages(folder: Path) -> Iterator[Message]:
    """Every message of the application unpacked below ``folder``, each pair once a language."""
    seen: set[Message] = set()
    for message in _all(folder):
        if message.said.strip() and message not in seen:
            seen.add(message)
            yield message


def _all(folder: Path) -> Iterator[Message]:
    keyed: dict[tuple[str, str], dict[str, dict[str, str]]] = defaultdict(dict)
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.stat().st_size > _FILE_BYTES_MAX:
            continue
        if path.suffix in (".po", ".mo"):
            language = _language(path, folder)[0]
            if language:
                yield from (Message(language, *pair) for pair in (_po(path) if path.suffix == ".po" else _mo(path)))
        elif path.suffix in _READERS:
            language, place = _language(path, folder)
            if language:
                keyed[place, path.suffix].setdefault(language, {}).update(_READERS[path.suffix](path))
    for by_language in keyed.values():
        yield from _beside_english(by_language)


def _beside_english(by_language: dict[str, dict[str, str]]) -> Iterator[Message]:
    names = [name for name in ("en", "en_us", "en_gb", "en_en") if by_language.get(name)]
    if not names or len(by_language) < 2:
        return
    english = by_language[names[0]]
    for language, texts in by_language.items():
        for key, said in texts.items():
            original = english.get(key, key if " " in key else "")
            if original:
                yield Message(language, original, said)


def _language(path: Path, folder: Path) -> tuple[str, str]:
    """The language of a file, and its path with the language left out; empty if its path names none."""
    parts = list(path.relative_to(folder).parts)
    stem = path.name.split(".")[0]
    parts[-1] = stem
    rest = path.name[len(stem) :]
    for place in range(len(parts) - 1, -1, -1):
        found = _CODE.match(parts[place])
        if found and parts[place] not in _SKIPPED:
            code = found[1].replace("-", "_").lower() + (f"@{found[2]}" if found[2] else "")
            return code, "/".join([*parts[:place], "*", *parts[place + 1 :]]) + rest
    return "", ""


def _mo(path: Path) -> Iterator[tuple[str, str]]:
    try:
        with path.open("rb") as file:
            known = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
    except (OSError, UnicodeDecodeError, ValueError, IndexError):
        return
    for key, said in known.items():
        english = key[0] if isinstance(key, tuple) else key
        if english and isinstance(said, str):
            yield english.rpartition("\x04")[2], said


def _po(path: Path) -> Iterator[tuple[str, str]]:
    text = path.read_text("utf-8", "replace")
    for entry in re.split(r"\n\s*\n", text):
        if "#, fuzzy" in entry or "\n#~" in entry or entry.startswith("#~"):
            continue
        default = re.search(r'^#\. Default: ?"((?:[^"\\]|\\.)*)"', entry, re.MULTILINE)
        ids = _po_text(entry, "msgid")
        said = _po_text(entry, "msgstr") or _po_text(entry, r"msgstr\[0\]")
        english = _unescaped(default[1]) if default else ids
        if english and said:
            yield english, said


def _po_text(entry: str, key: str) -> str:
    found = re.search(rf'^{key} ((?:"(?:[^"\\]|\\.)*"\s*)+)', entry, re.MULTILINE)
    return _unescaped("".join(re.findall(r'"((?:[^"\\]|\\.)*)"', found[1]))) if found else ""


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t"}.get(match[1], match[1]), text)


def _json(path: Path) -> dict[str, str]:
    try:
        return dict(_flat("", json.loads(path.read_text("utf-8-sig"))))
    except (ValueError, RecursionError):
        return {}


def _yaml(path: Path) -> dict[str, str]:
    try:
        loaded = yaml.safe_load(path.read_text("utf-8"))
    except (yaml.YAMLError, ValueError):
        return {}
    if isinstance(loaded, dict) and len(loaded) == 1:
        loaded = next(iter(loaded.values()))  # the language, as Rails has it
    return dict(_flat("", loaded))


def _flat(before: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(f"{before}/{key}" if before else str(key), inner)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _flat(f"{before}/{place}", inner)
    elif isinstance(value, str) and value:
        yield before, value


def _php(path: Path) -> dict[str, str]:
    text = path.read_text("utf-8", "replace")
    return {match[1]: _unescaped(match[2][1:-1]) for match in _PHP.finditer(text)}


def _js(path: Path) -> dict[str, str]:
    """Keys with a text; of a key that stands in several objects, the first, second … of its name."""
    counted: dict[str, int] = defaultdict(int)
    found = {}
    for match in _JS.finditer(path.read_text("utf-8", "replace")):
        key = next(group for group in match.groups()[:3] if group)
        counted[key] += 1
        raw = match[4]
        try:
            said = json.loads(raw) if raw[0] == '"' else _unescaped(raw[1:-1])
        except ValueError:
            continue
        found[key if counted[key] == 1 else f"{key}#{counted[key]}"] = said
    return found


_READERS: Final = {
    ".json": _json,
    ".yml": _yaml,
    ".yaml": _yaml,
    ".php": _php,
    ".js": _js,
    ".mjs": _js,
    ".ts": _js,
}
