"""Lets scripts read the DOM through the prototypes, so that no name in the page can hide a property.

A form exposes its fields as own properties, and a document exposes its forms and pictures: ``<input name=parentNode>`` hides
``form.parentNode``, and any property can be hidden in this way. So no script reads a property directly from a form, a document, or
an element that may be one.
"""

from __future__ import annotations

from typing import Final

DOM: Final = r"""
const described = new Map();
const describe = (o, n) => {
  const proto = Object.getPrototypeOf(o);
  let known = described.get(proto);
  if (!known) described.set(proto, known = Object.create(null));
  if (!(n in known)) {
    let at = proto;
    while (at && !Object.getOwnPropertyDescriptor(at, n)) at = Object.getPrototypeOf(at);
    known[n] = at && Object.getOwnPropertyDescriptor(at, n);
  }
  return known[n];
};
// The property `n` of `o`, and the result of its method `n`.
const prop = (o, n) => { const d = describe(o, n); return d ? d.get ? d.get.call(o) : d.value : undefined; };
const invoke = (o, n, ...given) => describe(o, n).value.apply(o, given);
const all = (root, selector) => invoke(root, 'querySelectorAll', selector);
"""
"""``prop``, ``invoke`` and ``all``, to be put at the beginning of a script."""
