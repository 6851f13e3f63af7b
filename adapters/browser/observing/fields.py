"""Reads the content of fields and lists: the shown choice or text, and the values that their form would send.

Built-ins are called through their prototypes, because a form can have fields with the names of properties.
"""

from __future__ import annotations

from typing import Final

from adapters.browser.observing.composed import COMPOSED

_PARTS: Final = (
    r"""
const own = (kind, name, of) => Object.getOwnPropertyDescriptor(kind.prototype, name).get.call(of);
const attribute = (of, name) => Element.prototype.getAttribute.call(of, name);
const inside = (of, selector) => [...Element.prototype.querySelectorAll.call(of, selector)];
const said = of => of instanceof HTMLElement ? own(HTMLElement, 'innerText', of) : own(Node, 'textContent', of);
const BUTTONS = /^(button|submit|reset|image|hidden)$/, BOXES = /^(checkbox|radio)$/;
const type = of => of instanceof HTMLInputElement ? own(HTMLInputElement, 'type', of) : '';
const roleOf = of => (attribute(of, 'role') || '').trim().split(/\s+/)[0];
const box = of => {
  if (BOXES.test(type(of)))
    return own(HTMLInputElement, 'indeterminate', of) ? 'mixed' : own(HTMLInputElement, 'checked', of) ? 'checked' : 'unchecked';
  if (!/^(checkbox|switch|radio|menuitemcheckbox|menuitemradio)$/.test(roleOf(of))) return '';
  return {true: 'checked', mixed: 'mixed'}[attribute(of, 'aria-checked')] || 'unchecked';
};
const isPicture = of => of instanceof HTMLImageElement || type(of) === 'image' || /^(img|image)$/.test(roleOf(of));
const picture = of => attribute(of, 'aria-label') || attribute(of, 'alt') || attribute(of, 'title') || '';
const lines = (list, text) => list.map(item => text(item).replace(/\s+/g, ' ').trim()).join('\n');
const picked = list => lines([...own(HTMLSelectElement, 'selectedOptions', list)], item => item.label);
// The text around closed lists includes all their options, but only the chosen one of each is shown.
const isOpen = list => own(HTMLSelectElement, 'multiple', list) || own(HTMLSelectElement, 'size', list) > 1;
const around = of => {
  const text = said(of), parts = [];
  let from = 0;
  for (const list of inside(of, 'select')) {
    const isSeen = Element.prototype.getClientRects.call(list).length > 0;
    const all = isSeen ? said(list) : '', at = all ? text.indexOf(all, from) : -1;
    if (at < 0) continue;
    parts.push(text.slice(from, at), isOpen(list) ? all : picked(list));
    from = at + all.length;
  }
  return parts.join('') + text.slice(from);
};
"""
    + COMPOSED
)

SHOWN: Final = (
    "(e, extracts) => {"
    + _PARTS
    + r"""
  const named = of => attribute(of, 'aria-label') || said(of) || attribute(of, 'title') || '';
  const labelled = box => {
    const labels = own(HTMLInputElement, 'labels', box);
    return labels && labels.length ? said(labels[0]).trim() : attribute(box, 'aria-label') || own(HTMLInputElement, 'value', box);
  };
  const chosen = (of, role) => {
    const all = inside(of, `[role=${role}]`);
    return all.filter(item => [attribute(item, 'aria-selected'), attribute(item, 'aria-checked')].includes('true'));
  };
  const chosenBy = (of, role) => {
    const told = (name, word) => ({true: word, false: `not ${word}`, mixed: 'mixed'})[attribute(of, name)] || '';
    return told('aria-pressed', 'pressed') || (/^(tab|option)$/.test(role) ? told('aria-selected', 'selected') : '');
  };
  if (e instanceof HTMLSelectElement) return picked(e);
  if (e instanceof HTMLTextAreaElement) return own(HTMLTextAreaElement, 'value', e);
  if (box(e)) return box(e);
  if (isPicture(e)) return picture(e);
  if (e instanceof HTMLProgressElement) return String(own(HTMLProgressElement, 'value', e));
  if (e instanceof HTMLMeterElement) return String(own(HTMLMeterElement, 'value', e));
  if (e instanceof HTMLInputElement) {
    if (type(e) === 'password') return '';
    if (type(e) === 'file') return [...own(HTMLInputElement, 'files', e)].map(file => file.name).join('\n');
    return own(HTMLInputElement, 'value', e);
  }
  const role = roleOf(e);
  if (role === 'slider' || role === 'spinbutton' || role === 'progressbar' || role === 'meter')
    return attribute(e, 'aria-valuetext') || attribute(e, 'aria-valuenow') || said(e);
  if (role === 'listbox') return lines(chosen(e, 'option'), named);
  if (role === 'combobox') {
    const field = inside(e, 'input,textarea')[0];
    if (field) return own(field instanceof HTMLInputElement ? HTMLInputElement : HTMLTextAreaElement, 'value', field);
    if (inside(e, '[role=option]').length) return lines(chosen(e, 'option'), named);
    const list = attribute(e, 'aria-controls') || attribute(e, 'aria-owns');
    const held = said(e).trim() || !list ? null : document.getElementById(list);
    return held ? lines(chosen(held, 'option'), named) : said(e);
  }
  const boxes = inside(e, 'input,select,textarea,[role=radio],[role=checkbox],[contenteditable]');
  const isRadio = box => type(box) === 'radio' || attribute(box, 'role') === 'radio';
  if (role === 'radiogroup' || (e instanceof HTMLFieldSetElement && boxes.length > 1 && boxes.every(isRadio)
      && new Set(boxes.map(box => attribute(box, 'name'))).size === 1)) {
    const on = boxes.filter(box => type(box) === 'radio' ? own(HTMLInputElement, 'checked', box)
      : attribute(box, 'role') === 'radio' && attribute(box, 'aria-checked') === 'true');
    return lines(on, box => type(box) === 'radio' ? labelled(box) : named(box));
  }
  const text = isComposed(e, extracts) ? composed(e, extracts)
    : inside(e, 'select').length ? around(e).replace(/ *\n */g, '\n').trim() : null;
  const words = text || (said(e).trim() ? null : composed(e, extracts) || null), state = extracts ? chosenBy(e, role) : '';
  return state ? `${words === null ? said(e).trim() : words}\n${state}`.trim() : words;
}"""
)
"""The text shown in a field, or the labels chosen in a list or a group of radio buttons, one on each line. For a box, its state;
for a picture, its alternative text; for an element without words, the texts of the boxes, pictures and components in it. Null
for any other element, whose text is read instead. Password fields are never read. ``extracts``: also includes text of style
sheets, and in a last line the chosen state of a tab, an option or a toggle button.
"""

TEXT: Final = "(e, extracts) => {" + _PARTS + "return isComposed(e, extracts) ? composed(e, extracts) : around(e);}"
"""The text of an element around fields, or of a page: closed lists give only their chosen options. ``extracts``: as in
``SHOWN``."""

FIELD: Final = (
    "e => {"
    + _PARTS
    + r"""
  const kind = e instanceof HTMLTextAreaElement ? HTMLTextAreaElement : HTMLInputElement;
  // The hidden text area of a code editor passes its input on.
  const bounds = Element.prototype.getBoundingClientRect.call(e);
  if (e instanceof HTMLTextAreaElement && (bounds.width < 10 || bounds.height < 10 || getComputedStyle(e).opacity === '0'
      || Element.prototype.closest.call(e, '.CodeMirror,.cm-editor,.monaco-editor,.ace_editor'))) return null;
  if (!(e instanceof kind) || BUTTONS.test(type(e)) || BOXES.test(type(e)) || type(e) === 'file') return null;
  const formed = /^(color|date|datetime-local|month|number|range|time|week)$/.test(type(e)) ? type(e) : '';
  return {value: own(kind, 'value', e), kind: formed, connected: own(Node, 'isConnected', e),
    limits: ['min', 'max', 'step'].map(name => (attribute(e, name) || '').slice(0, 40))};
}"""
)
"""The content of a text field, its type if that has a form of its own, and its limits; null for anything else."""

SENT: Final = (
    "e => {"
    + _PARTS
    + r"""
  if (e instanceof HTMLSelectElement) return [...own(HTMLSelectElement, 'selectedOptions', e)].map(option => option.value);
  if (e instanceof HTMLTextAreaElement) return [own(HTMLTextAreaElement, 'value', e)];
  if (e instanceof HTMLInputElement) return type(e) === 'password' ? null : [own(HTMLInputElement, 'value', e)];
  return null;
}"""
)
"""The values that a form would send for a field or list; null for any other element, and for a password field."""
