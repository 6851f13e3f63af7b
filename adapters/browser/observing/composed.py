"""Composes the text of an element as it is shown: with open shadow trees in place, and with text of style sheets.

``innerText`` includes neither. So if an element has one of them, or no word at all, its text is composed here by the rules of
``innerText``. The text of an element without words consists of the states of its boxes and the alternative texts of its pictures.
"""

from __future__ import annotations

from typing import Final

COMPOSED: Final = r"""
const shadowOf = of => own(Element, 'shadowRoot', of);
const GENERATING = /^(?:"|attr\()/;
// The words of ::before and ::after: no glyphs of icon fonts, and no counters, whose numbers a script cannot read.
const generatedBy = (of, where) => {
  const style = getComputedStyle(of, where);
  if (!GENERATING.test(style.content) || style.display === 'none' || style.visibility !== 'visible') return '';
  let text = '';
  for (const [whole, quoted, name] of style.content.matchAll(/"((?:[^"\\]|\\.)*)"|attr\(\s*([\w-]+)[^)]*\)|\s\/\s/g)) {
    if (quoted === undefined && !name) break;  // behind it stands what is read aloud in its place
    text += name ? attribute(of, name) || '' : quoted.replace(/\\(.)/g, '$1');
  }
  return text.replace(/\p{Co}/gu, '');
};
const generates = of => Boolean(generatedBy(of, '::before').trim() || generatedBy(of, '::after').trim());
const everyIn = of => {
  const found = [of];
  for (let at = 0; at < found.length; at++) {
    const root = shadowOf(found[at]);
    found.push(...(root ? root.children : []), ...own(Element, 'children', found[at]));
  }
  return found;
};
const isComposed = (of, generated) => everyIn(of).some(part => shadowOf(part) || (generated && generates(part)));
const NO_TEXT = /^(script|style|noscript|template|textarea|input|iframe|object|video|audio|canvas)$/;
const CASES = {uppercase: text => text.toUpperCase(), lowercase: text => text.toLowerCase(),
  capitalize: text => text.replace(/(?<![\p{L}\p{N}])\p{L}/gu, letter => letter.toUpperCase())};
const composed = (top, generated) => {
  const parts = [];
  const put = (of, text) => {
    const style = getComputedStyle(of);
    if (style.visibility !== 'visible') return;
    const spaced = /^(pre|break-spaces)/.test(style.whiteSpace) ? text : text.replace(/\s+/g, ' ');
    parts.push((CASES[style.textTransform] || (same => same))(spaced));
  };
  const made = (of, where) => { if (generated) parts.push(generatedBy(of, where)); };
  const held = of => {
    const root = shadowOf(of);
    if (root) return own(Node, 'childNodes', root);
    const slotted = of instanceof HTMLSlotElement ? of.assignedNodes({flatten: true}) : [];
    if (slotted.length) return slotted;
    const isShut = of instanceof HTMLDetailsElement && !own(HTMLDetailsElement, 'open', of);
    return isShut ? inside(of, ':scope > summary') : own(Node, 'childNodes', of);
  };
  const wordless = !said(top).trim();
  const walk = of => {
    const display = getComputedStyle(of).display, instead = wordless && of !== top ? box(of) || (isPicture(of) && picture(of)) : '';
    if (instead) return void parts.push(`\n${instead}\n`);
    if (NO_TEXT.test(own(Element, 'localName', of)) || display === 'none') return;
    if (of instanceof HTMLBRElement) return void parts.push('\n');
    if (of instanceof HTMLSelectElement) return void parts.push(isOpen(of) ? said(of) : picked(of));
    const edge = /^(inline|contents|ruby)/.test(display) ? '' : display === 'table-cell' ? '\t' : '\n';
    parts.push(edge);
    made(of, '::before');
    for (const node of held(of)) {
      if (node instanceof Text) put(of, own(CharacterData, 'data', node));
      else if (node instanceof Element) walk(node);
    }
    made(of, '::after');
    parts.push(edge);
  };
  walk(top);
  return parts.join('').replace(/[^\S\n]+/g, ' ').replace(/ ?\n\s*/g, '\n').trim();
};
"""
"""Needs the parts of ``fields``. ``generated``: also includes text of style sheets."""
