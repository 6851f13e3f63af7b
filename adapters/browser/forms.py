"""Tells what became of the forms of a page while an action was performed: whether one was about to be sent, and whether anything
was missing in it.

A script may prevent that a form is sent, and a browser refuses to send one whose fields it takes for wrong. No request tells of
either.
"""

from __future__ import annotations

from typing import Final

from adapters.browser.worlds import Worlds
from adapters.ports import FormFate
from protocol.page.observation import Element

_WATCH: Final = r"""(() => {
  const getter = (p, n) => Object.getOwnPropertyDescriptor(p, n).get;
  const told = globalThis.__forms ??= {sent: 0, missing: 0, roots: new WeakSet()};
  told.sent = told.missing = 0;
  const controls = getter(HTMLFormElement.prototype, 'elements'), shadow = getter(Element.prototype, 'shadowRoot');
  const value = e => e instanceof HTMLInputElement ? getter(HTMLInputElement.prototype, 'value').call(e)
    : e instanceof HTMLTextAreaElement ? getter(HTMLTextAreaElement.prototype, 'value').call(e)
    : e instanceof HTMLSelectElement ? getter(HTMLSelectElement.prototype, 'value').call(e) : '-';
  const type = e => e instanceof HTMLInputElement ? getter(HTMLInputElement.prototype, 'type').call(e) : '';
  const lacks = form => {
    const shown = Array.prototype.filter.call(controls.call(form),
      e => Element.prototype.getClientRects.call(e).length > 0 && !Element.prototype.matches.call(e, ':disabled'));
    const boxes = shown.filter(e => /^(checkbox|radio)$/.test(type(e)));
    const chosen = boxes.some(e => Element.prototype.matches.call(e, ':checked'));
    return shown.some(e => value(e) === '') || (boxes.length > 0 && !chosen);
  };
  const pressed = event => {
    const e = event.target instanceof Element && Element.prototype.closest.call(event.target, 'button,input');
    const kind = !e ? null : e instanceof HTMLInputElement ? HTMLInputElement : HTMLButtonElement;
    return kind && /^(submit|image)$/.test(getter(kind.prototype, 'type').call(e)) ? getter(kind.prototype, 'form').call(e) : null;
  };
  const listen = (root, name, told_of) => EventTarget.prototype.addEventListener.call(root, name, told_of, true);
  const watch = (root, kind) => {
    if (!told.roots.has(root)) {
      told.roots.add(root);
      listen(root, 'submit', event => { told.sent += 1; if (lacks(event.target)) told.missing += 1; });
      listen(root, 'invalid', () => { told.missing += 1; });
      // A script may look through the fields as the button is pressed, and complain. Enter presses the button too.
      listen(root, 'click', event => { const form = pressed(event); if (form && lacks(form)) told.missing += 1; });
    }
    for (const e of kind.prototype.querySelectorAll.call(root === window ? document : root, '*')) {
      const inner = shadow.call(e);
      if (inner) watch(inner, ShadowRoot);
    }
  };
  watch(window, Document);
  return true;
})()"""
"""Listens in the document and in open shadow trees: an event of a form leaves none of them."""
_TOLD: Final = "globalThis.__forms ? [__forms.sent, __forms.missing] : null"


class Forms:
    """The forms of one page."""

    def __init__(self, worlds: Worlds) -> None:
        self._worlds = worlds
        self._within_reach = False

    async def begin(self, element: Element | None) -> None:
        """Look from now on, as ``element`` is about to be acted on."""
        # A frame of another site is out of reach, and nothing would be seen of its forms.
        self._within_reach = element is not None and not element.frame
        await self._worlds.everywhere(_WATCH)

    async def fate(self) -> FormFate:
        """What became of them since then; empty if that is not known: in a frame, or where another document has come."""
        if not self._within_reach or await self._worlds.main(_TOLD) is None:
            return ""
        counts = await self._worlds.everywhere(_TOLD)
        sent, missing = (sum(each[place] for each in counts) for place in (0, 1))
        return "missing" if missing else "complete" if sent else "untouched"
