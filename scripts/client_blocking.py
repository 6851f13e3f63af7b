"""Makes the blocking twin of the client from its source: the same classes, without ``async`` and ``await``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

_PARTS: Final = ("page.py", "node.py")
_NOTICE: Final = "# Written by `make client` from trailmesh/client/page.py and node.py; change those instead."
_WORDS: Final = {
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "AsyncIterator": "Iterator",
    "Awaited": "BlockingAwaited",
    "Connection": "BlockingConnection",
    "Running": "BlockingRunning",
    "trailmesh.connect": "trailmesh.sync.connect",
}
_BEGUN: Final = "verbs: Verbs, progress: Progress"
"""The parameters of work that begins: it runs in the event loop of the connection, with the verbs of that."""


def blocking_module(folder: Path) -> str:
    """``trailmesh/sync.py``, made of the modules in ``folder``."""
    heads: list[str] = []
    bodies: list[str] = []
    for name in _PARTS:
        source = (folder / name).read_text(encoding="utf-8")
        _, _, rest = source.partition("from __future__ import annotations\n")
        cut = re.search(r"^(?!from |import |\s|\)|$)", rest, re.MULTILINE)
        assert cut is not None, f"{name} has nothing below its imports"
        heads.append(rest[: cut.start()])
        bodies.append(rest[cut.start() :])
    imports = "".join(heads).replace("from trailmesh.client.page import Page\n", "")
    imports = imports.replace("from trailmesh.calls import Verbs\n", "", 1).replace(
        "import Verbs", "import BlockingVerbs, Verbs"
    )
    return "\n".join([_NOTICE, _DOC, "", "from __future__ import annotations", _twin(imports), *map(_twin, bodies)])


_DOC: Final = '''"""The client for programs without an event loop: ``with trailmesh.sync.connect() as node``.

The same names as those of ``trailmesh``, and each call waits until it is done.
"""'''


def _twin(source: str) -> str:
    source = re.sub(r"\basync (def|with|for)\b", r"\1", source)
    source = re.sub(r"``async with``", "``with``", source)
    source = re.sub(r"\bawait ", "", source)
    for word, other in _WORDS.items():
        source = re.sub(rf"\b{re.escape(word)}\b", other, source)
    source = source.replace(_BEGUN, "\0")
    source = re.sub(r"(?<!import )(?<!, )\bVerbs\b", "BlockingVerbs", source)
    return source.replace("\0", _BEGUN)
