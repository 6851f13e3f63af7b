"""Replaces the content of editors: elements that are edited in place, and code editors that read a hidden text area.

Editors keep a selection of their own, which follows keys and ignores scripts. So the key for it selects everything, and the new
text is inserted as one input. Then the text that the editor shows is read back.
"""

from __future__ import annotations

from typing import Final

from playwright.async_api import Locator, Page

from protocol.errors import MeshError

_SURFACES: Final = "textarea, [contenteditable=''], [contenteditable=true], [contenteditable=plaintext-only]"
_KNOWN: Final = ".CodeMirror,.cm-editor,.monaco-editor,.ace_editor"
# An invisible text area takes keys for another purpose.
_KIND: Final = f"""e => {{
  const box = e.getBoundingClientRect(), hidden = box.width < 10 || box.height < 10 || getComputedStyle(e).opacity === '0';
  if (e.isContentEditable) return 'content';
  if (e.closest('{_KNOWN}')) return e.matches('textarea') ? 'surrogate' : '';
  return e.matches('textarea') ? (hidden ? 'surrogate' : 'field') : '';
}}"""
# Two frames: an editor adopts a new selection in the next one.
_NEXT: Final = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))"
_SHOWN: Final = f"""e => {{
  if (e.isContentEditable) return e.innerText;
  for (let around = e.closest('{_KNOWN}') || e.parentElement; around; around = around.parentElement)
    if (around.innerText.trim()) return around.innerText;
  return '';
}}"""
_LINES_READ: Final = 5  # an editor draws only the lines in view


async def replace(page: Page, target: Locator, value: str, limit: int) -> None:
    """Make ``value`` the content of ``target``: a text area, an editor, or an element that holds one.

    Errors: ``action.not_possible``, and those of Playwright.
    """
    kind = await target.evaluate(_KIND, timeout=limit)
    if not kind:
        inside = target.locator(_SURFACES)
        if await inside.count() != 1:
            await target.fill(value, timeout=limit)  # its error names the kind of element
            return
        target = inside
        kind = await target.evaluate(_KIND, timeout=limit)
    if kind == "field":
        await target.fill(value, timeout=limit)
        return
    before = await target.evaluate(_SHOWN, timeout=limit)
    await target.focus(timeout=limit)
    await page.keyboard.press("ControlOrMeta+a")
    await target.evaluate(_NEXT)
    if value:
        await page.keyboard.insert_text(value)
    else:
        await page.keyboard.press("Delete")
    await target.evaluate(_NEXT)
    if not _replaced(before, await target.evaluate(_SHOWN, timeout=limit), value):
        raise MeshError("action.not_possible", "the editor did not take the text in place of its content")


def _replaced(before: str, after: str, value: str) -> bool:
    """True if an editor shows ``value`` and no earlier line outside of it. It may show line numbers too."""
    shown = _lines(after)
    wanted = [line for line in _lines(value) if line]
    old = [line for line in _lines(before) if any(map(str.isalpha, line)) and not any(line in each for each in wanted)]
    return all(any(line in each for each in shown) for line in wanted[:_LINES_READ]) and not any(
        line in shown for line in old
    )


def _lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.replace("\u200b", "").split("\n")]
