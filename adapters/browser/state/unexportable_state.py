"""Data of pages that the state of a context silently leaves out: keys that cannot be exported, files, caches of answers."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Any, Final

from playwright.async_api import Error, Page

from adapters.ports.browser import UnexportableState
from protocol import limits
from protocol.trust.origin import origin_of

_WAIT_S: Final = 3
_STORES_MAX: Final = 32
_RECORDS_MAX: Final = 256
WHAT: Final = re.compile(r"(?:crypto-key|blob) in [^\x00-\x1f\x7f]{1,200}|cache-storage")
_FIND: Final = """async ({stores, records}) => {
  const found = new Set();
  const kindOf = value => Object.prototype.toString.call(value).slice(8, -1);
  const look = (value, place, depth) => {
    if (!value || typeof value !== 'object' || depth > 8) return;
    const kind = kindOf(value);
    if (kind === 'CryptoKey') found.add('crypto-key in ' + place);
    else if (kind === 'Blob' || kind === 'File') found.add('blob in ' + place);
    else if (kind === 'Map' || kind === 'Set') for (const each of value) look(each, place, depth + 1);
    else if (kind === 'Object' || kind === 'Array') for (const each of Object.values(value)) look(each, place, depth + 1);
  };
  const answered = asked => new Promise(done => {
    asked.onsuccess = () => done(asked.result);
    asked.onerror = asked.onblocked = () => done(null);
  });
  for (const {name} of (await indexedDB.databases()).slice(0, stores)) {
    const base = await answered(indexedDB.open(name));
    if (!base) continue;
    for (const store of [...base.objectStoreNames].slice(0, stores)) {
      const values = await answered(base.transaction(store).objectStore(store).getAll(null, records)) || [];
      for (const value of values) look(value, (name + '/' + store).slice(0, 200), 0);
    }
    base.close();
  }
  if ((await caches.keys()).length) found.add('cache-storage');
  return [...found].slice(0, stores);
}"""


async def untaken(pages: Sequence[Page]) -> tuple[UnexportableState, ...]:
    """The omitted data of the origins of these pages, each once. Never raises: a page that does not answer in time adds nothing.

    A page can hide such data, or report data that it does not have. Then its login does not work elsewhere, or is reported so.
    """
    told = await asyncio.gather(*map(_of, pages[: limits.LIVE_PAGES_MAX]))
    return tuple(dict.fromkeys(each for found in told for each in found))


async def _of(page: Page) -> list[UnexportableState]:
    origin = origin_of(page.url)
    if not origin:
        return []
    try:
        asked = page.evaluate(_FIND, {"stores": _STORES_MAX, "records": _RECORDS_MAX})
        found: Any = await asyncio.wait_for(asked, _WAIT_S)
    except (Error, TimeoutError):
        return []
    if not isinstance(found, list):
        return []
    named = [each for each in found[:_STORES_MAX] if isinstance(each, str) and WHAT.fullmatch(each)]
    return [UnexportableState(origin=origin, what=each) for each in named]
