"""Writes ``docs/configuration.md``, every key of ``config.yaml``, from the records in ``node/config/settings.py``."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import inspect as types

from node.config import CONFIG_FILE, Config
from node.config.forms import form_in_words
from scripts.docs_records import default_of, field_notes, sentences

_INTRODUCTION = f"""\
# Configuration

Every key of `{CONFIG_FILE}` in the data directory of a node. `trailmesh node init` writes the file, from the
file that is given with `--config`, which can be the name of an example in `configs/` (`solo`, `mesh`, `ci`, `hardened`). A
node reads it when it starts. A key that is left out has its default, and a key that is not listed here is refused
(`config.invalid`), as is an empty file.

```yaml
name: shop
policy:
  origins: [https://shop.example]
  risk_class_max: 2
```
"""


def configuration_page(notice: str) -> str:
    """The page, below ``notice``."""
    lines = [notice, _INTRODUCTION, *_section("", Config)]
    return "\n".join(lines).rstrip() + "\n"


def _section(path: str, record: type[msgspec.Struct]) -> Iterator[str]:
    """The keys of ``record``, which stands at ``path``, then those of the records in it."""
    told = types.type_info(record)
    assert isinstance(told, types.StructType)
    notes = field_notes(record)
    inner = {
        field.name: found.cls for field in told.fields if isinstance(found := _plain(field.type), types.StructType)
    }
    if path:
        yield from (f"## {path}", "", sentences(record), "")
    plain = [field for field in told.fields if field.name not in inner]
    yield from ("| key | value | default | |", "|---|---|---|---|")
    for field in plain:
        note = notes.get(field.name, "")
        yield f"| `{path}{'.' if path else ''}{field.encode_name}` | {_words(field.type)} | {default_of(field)} | {note} |"
    yield ""
    for name, each in inner.items():
        yield from _section(f"{path}{'.' if path else ''}{name}", each)
    for field in plain:
        listed = _plain(field.type)
        item = _plain(listed.item_type) if isinstance(listed, types.VarTupleType) else listed
        if isinstance(item, types.StructType):
            yield from _section(f"{path}{'.' if path else ''}{field.encode_name}[]", item.cls)


def _plain(found: types.Type) -> types.Type:
    return _plain(found.type) if isinstance(found, types.Metadata) else found


def _words(found: types.Type) -> str:
    found = _plain(found)
    if isinstance(found, types.VarTupleType):
        return f"list, each {_words(found.item_type)}"
    return form_in_words(found).replace("|", "\\|").replace("*", "\\*")
