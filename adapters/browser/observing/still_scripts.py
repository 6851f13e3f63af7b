"""Scripts that determine when a frame is still, and hold it still for a picture (docs/adr/0065-when-a-page-is-still.md).

Like those of ``scripts`` they run in an isolated world. Pages cannot see or change the data that they share (``__trailmesh_…``).
"""

from __future__ import annotations

from typing import Final

from adapters.browser.base.dom import DOM
from adapters.browser.observing.scripts import BUSY, COMING

_LEFT: Final = r"""
// Changes of colours do not affect reading.
const left = animation => {
  if (animation.playState !== 'running' || !animation.effect
    || /color|shadow|fill|stroke|outline|background|filter|decoration/.test(animation.transitionProperty || '')) return 0;
  const end = animation.effect.getComputedTiming().endTime;
  return end < 2000 ? Math.max(0, end - (animation.currentTime ?? 0)) : 0;
};
"""
"""The milliseconds for which an animation will still move something; 0 for an endless animation, or one of 2 s or more."""

_EMPTY: Final = r"""
const empty = () => !/[\p{L}\p{N}]/u.test(prop(prop(document, 'body') ?? document, 'innerText') ?? '')
  && !Array.prototype.some.call(
    all(document, 'img,svg,canvas,video,audio,input,textarea,select,button,iframe,frame,object,embed'), shown);
"""
"""True if a frame shows nothing: no text, no picture, no control."""

SHOWS: Final = (
    r"""new Promise(done => {
  const attribute = (e, n) => Element.prototype.getAttribute.call(e, n) || '';
"""
    + DOM
    + BUSY
    + _EMPTY
    + r"""
  // A page is not drawn, and runs no frame callback, until the style sheets in its head have come.
  requestAnimationFrame(() => done(!empty()));
})"""
)
"""Resolves once a frame is drawn: to true if it shows something, else to false."""

UNDER_WAY: Final = "(() => {" + DOM + COMING + "return coming(); })()"
"""As ``COMING``."""

_ANSWERS: Final = r"""
  const answers = globalThis.__trailmesh_answers ??= (() => {
    const found = {last: 0, endless: false};
    // Scripts in the document are there when it has loaded.
    const loaded = () => performance.getEntriesByType('navigation')[0]?.loadEventStart || Infinity;
    // The size of other sites' scripts is unknown.
    const late = e => e.initiatorType === 'script' && e.startTime > loaded();
    const data = e => (e.initiatorType === 'fetch' || e.initiatorType === 'xmlhttprequest') && e.encodedBodySize > 0;
    const note = entries => { for (const e of entries) if (data(e) || late(e)) found.last = Math.max(found.last, e.responseEnd); };
    const told = new PerformanceObserver(list => note(list.getEntries()));
    told.observe({type: 'resource', buffered: true});
    found.read = () => { note(told.takeRecords()); return found.last; };
    return found;
  })();"""
"""The time of the last answer to a script of a document. Recorded from the document's beginning, because browsers keep only the
first 250 entries.
"""

QUIET: Final = (
    r"""new Promise(done => {
  const attribute = (e, n) => Element.prototype.getAttribute.call(e, n) || '';
"""
    + DOM
    + BUSY
    + _LEFT
    + _EMPTY
    + r"""
  const began = performance.now(), roots = []; let timer = 0, changes = 0, ended = false;
  const tagOf = e => e ? prop(e, 'tagName') : '';
  const trees = (root, found = []) => {
    found.push(root);
    for (const e of all(root, '*')) {
      const inner = prop(e, 'shadowRoot');
      if (inner) trees(inner, found);
    }
    return found;
  };
  const rules = sheet => { try { return sheet.cssRules.length; } catch { return 0; } };  // sheets of other sites cannot be read
  // A picture may be taken meanwhile, which hides the caret by a sheet of its own.
  const isOfPage = sheet => sheet !== globalThis.__trailmesh_still?.sheet;
  // State that is read or seen, but whose changes cause no mutation record.
  const held = () => JSON.stringify([scrollX, scrollY, trees(document).map(root => [
    tagOf(prop(root, 'activeElement')), all(root, ':popover-open').length,
    ['styleSheets', 'adoptedStyleSheets'].map(name => Array.from(prop(root, name) || []).filter(isOfPage)
      .map(sheet => [sheet.disabled, rules(sheet)])),
    Array.from(all(root, 'input,textarea,select'), e => [
      e.value, e.checked, e.indeterminate, Array.from(e.selectedOptions || [], o => o.index), e === prop(root, 'activeElement')]),
  ])]);
  // A document that loads without end is used as it is.
  const came = () => (UNFINISHED && parent === window) || prop(document, 'readyState') === 'complete';
  const works = () => performance.now() - began < BUSY_MS && roots.some(isBusy);
  const arm = (ms = 0) => { clearTimeout(timer); timer = setTimeout(end, ms + QUIET_MS); };
  // An element that fades or slides away is often removed by a timer at the end.
  const moving = () => performance.now() - began > 2000 ? 0 : Math.max(0,
    (globalThis.__trailmesh_moves_until ?? 0) - performance.now(), ...Document.prototype.getAnimations.call(document).map(left));
  // A young page that has scripts and shows nothing will show something: scripts that it requests late may still be loading.
  const looked = globalThis.__trailmesh_looked ??= began;
  const blank = () => performance.now() - looked < BLANK_MS
    && parent === window && prop(document, 'scripts').length > 0 && roots.length === 1 && empty();
  // Many pages send one request after another, and nothing changes between an answer and the next request. While scripts build a
  // page, the only change is often a spinner. Requests that count clicks get answers without a body. For a page that was served
  // with text, only answers that come while it is watched count (ADR 65).
  const shell = globalThis.__trailmesh_shell ?? true;
"""
    + _ANSWERS
    + r"""
  answers.metAt ??= RESTS;
  let changed = globalThis.__trailmesh_watch?.changed() ?? (shell ? 0 : began);
  const considers = () => {
    const last = answers.read(), now = performance.now();
    const building = shell && answers.metAt === RESTS;
    if (!last || answers.endless || (last <= changed && !building)) return 0;
    const ms = Math.max(0, last + ANSWER_MS - now), tooLong = ms > 0 && now - began > BUSY_MS;
    // A page that sends requests for long after it is built will never stop.
    if (tooLong && !building) answers.endless = true;
    return tooLong ? 0 : ms;
  };
  const end = () => {
    const considered = considers();
    if (considered) return arm(considered - QUIET_MS);
    const ms = moving();
    if (!came() || works() || ms || blank()) {
      changes++;  // a moving element looks different at its end
      return arm(ms);
    }
    ended = true; done(told());
  };
  const observer = new MutationObserver(records => {
    const styled = records.every(r => r.type === 'attributes' && r.attributeName === 'style');
    if (!styled) changed = performance.now();
    if (ended) { changes++; return; }
    if (styled && performance.now() - began > 1000) return;
    changes++; arm();
  });
  const options = {subtree: true, childList: true, characterData: true, attributes: true};
  for (const root of trees(document)) { roots.push(root); observer.observe(root, options); }
  // The page may have reacted to an action before it was watched.
  arm(Math.max(FIRST_MS - QUIET_MS, Math.min(0, changed - began)));
  const before = held(), told = () => changes + (held() !== before);
  globalThis.__trailmesh_watch?.end();
  // The watch goes on, so that a later caller learns without reading the page that nothing has changed.
  globalThis.__trailmesh_watch = {told, changed: () => changed, end: () => {
    observer.disconnect(); clearTimeout(timer); ended = true; done(told());
  }};
})"""
)
"""The number of changes in a frame until it stood still for a while. Contents of fields, scrolling and focus count as a change but
are not waited for.
"""

SHELL: Final = (
    r"""(() => {
"""
    + DOM
    + _ANSWERS
    + r"""
  // The document has been parsed, and scripts that wait for that have not run.
  invoke(document, 'addEventListener', 'readystatechange', () => {
    const texts = Document.prototype.createTreeWalker.call(document, document, NodeFilter.SHOW_TEXT);
    let letters = 0;
    while (letters < LETTERS && texts.nextNode()) {
      const text = texts.currentNode;
      if (/^(title|script|style|noscript)$/.test(prop(prop(text, 'parentNode'), 'localName'))) continue;
      letters += (text.data.match(/[\p{L}\p{N}]/gu) ?? []).length;
    }
    globalThis.__trailmesh_shell = letters < LETTERS;
  }, {once: true});
})()"""
)
"""Notes, before the first script of a document, the times of answers to its scripts, and whether it was served almost without
text, so that scripts build the page.
"""

CHANGES: Final = "globalThis.__trailmesh_watch?.told()"
"""How often a frame has changed since the last ``QUIET`` began; undefined for a frame that was not watched."""

HOLD_STILL: Final = (
    r"""(async () => {
"""
    + DOM
    + _LEFT
    + r"""
  const roots = [];
  const collect = root => {
    roots.push(root);
    for (const e of all(root, '*')) {
      const inner = prop(e, 'shadowRoot');
      if (inner) collect(inner);
    }
  };
  collect(document);
  const still = globalThis.__trailmesh_still = {undo: []};
  const focusedIn = root => prop(root, 'activeElement');
  let focused = focusedIn(document);
  for (let inner = focused; inner; inner = prop(inner, 'shadowRoot') && focusedIn(prop(inner, 'shadowRoot'))) focused = inner;
  if (focused && (prop(focused, 'isContentEditable') || /^(input|textarea)$/i.test(prop(focused, 'tagName')))) {
    const sheet = still.sheet = new CSSStyleSheet(), root = invoke(focused, 'getRootNode');  // a sheet changes no element
    sheet.replaceSync('* {caret-color: transparent !important}');
    const sheets = prop(root, 'adoptedStyleSheets');
    sheets.push(sheet);
    still.undo.push(() => { if (sheets.includes(sheet)) sheets.splice(sheets.indexOf(sheet), 1); });
  }
  const endless = new Set();
  for (const root of roots) {
    const end = () => {
      for (const animation of invoke(root, 'getAnimations')) {
        if (!animation.effect || animation.playbackRate === 0 || endless.has(animation)) continue;
        try {
          // The page's own timer ends it later: ``QUIET`` must not mistake the end that a picture causes for that one.
          const until = performance.now() + left(animation);
          if (until > (globalThis.__trailmesh_moves_until ?? 0)) globalThis.__trailmesh_moves_until = until;
          if (Number.isFinite(animation.effect.getComputedTiming().endTime)) animation.finish();
          else { animation.cancel(); endless.add(animation); }
        } catch {}
      }
    };
    end();
    for (const name of ['transitionrun', 'animationstart']) {
      invoke(root, 'addEventListener', name, end);
      still.undo.push(() => invoke(root, 'removeEventListener', name, end));
    }
  }
  still.undo.push(() => { for (const animation of endless) try { animation.play(); } catch {} });
  await prop(document, 'fonts').ready;
  return roots.some(root => all(root, 'input[type=password]').length > 0);
})()"""
)
"""Hold a frame still for a picture, as Playwright does before a screenshot. True if it has a password field."""

GO_ON: Final = r"""(() => {
  for (const undo of globalThis.__trailmesh_still?.undo ?? []) undo();
  delete globalThis.__trailmesh_still;
})()"""
"""End what ``HOLD_STILL`` began."""
