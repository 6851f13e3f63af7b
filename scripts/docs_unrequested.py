"""``docs/unrequested.md``, from ``adapters/browser/base/unrequested.py``."""

from __future__ import annotations

from adapters.browser.base.unrequested import DEEDS

_HEAD = """# What acts without a request

The [network guard](guard.md) judges each request of a page. Some things that a page can do send none, or send it past
the guard. One table says how each is kept. A test tries every row in Chromium.

- **off**: it is not there, or refused at once
- **asked**: not without an approval, or without what was given for it
- **noted**: it happens, and is told with the step

Frames of other sites can run in a process of their own. What is off is off there too. Notes do not speak of them, nor of a page
that has written its document anew (`document.open`).

In an attached browser (`browser.cdp_url`) a script takes the interfaces away before the scripts of the page run; permissions are
refused as in a launched one. The last column says what does not hold there.

| what | kept | how | why | in an attached browser |
|---|---|---|---|---|
"""


def unrequested_page(notice: str) -> str:
    """The page. notice: its first line."""
    rows = [f"| {deed.name} | {deed.kept} | {deed.how} | {deed.why} | {deed.attached or 'holds'} |\n" for deed in DEEDS]
    return f"{notice}{_HEAD}{''.join(rows)}"
