"""Files that a page loads under names that are verbs elsewhere: modules, built files, pictures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from protocol.risk.address_words import word_set
from protocol.risk.parameters import Parameters
from protocol.risk.segments import is_id, order_of, without_extension

ASSET_TYPES: Final = frozenset({"image", "script", "stylesheet", "font", "media", "manifest"})
"""What a page loads by itself."""
_MODULES: Final = frozenset({"tsx", "jsx", "vue", "svelte"})
_OF_MODULES: Final = word_set("t v import vue type index lang lang.ts lang.css lang.scss src setup scoped")
"""What a server that builds as one develops (Vite) writes beside a module."""
_BUILT: Final = frozenset({"js", "mjs", "css", "map", "woff", "woff2"})
_BUILT_TYPES: Final = frozenset({"script", "stylesheet", "font"})
_BUILD_FOLDERS: Final = word_set("_next _nuxt static assets dist build chunks bundles")
_OF_BUILDS: Final = word_set("v ver t hash")
_BUILT_NAME: Final = re.compile(
    r"page|layout|index|main|route|template|loading|error|.*[-._](?=[0-9a-zA-Z]*\d)[0-9a-zA-Z]{6,64}"
)
"""How builders call a file: by its part in a page, or with a hash of what is in it."""
_OF_MANIFEST: Final = word_set("p paths version")
_OF_PICTURES: Final = word_set("v ver w h width height size color q quality format fit t ts dpr")
_LOOKS: Final = re.compile(
    r"\d{1,4}(?:\.\d)?|#?[0-9a-fA-F]{3,6}|webp|avif|png|jpe?g|auto|cover|contain|crop|fill|max|min"
)
_VERSION: Final = re.compile(r"\d{1,13}|\d+(?:\.\d+){1,3}")
_VERSIONED: Final = word_set("v ver t ts")


def is_module(segments: Sequence[str], parameters: Parameters, kind: str) -> bool:
    """Whether a page that is being developed loads a module: ``/src/pages/Logout.tsx``."""
    loads = kind == "script" and bool(segments) and segments[-1].rpartition(".")[2] in _MODULES
    return loads and parameters.keys <= _OF_MODULES and not any(map(is_id, segments))


def is_manifest(segments: Sequence[str], parameters: Parameters, kind: str) -> bool:
    """Whether React Router asks what belongs to the pages that a page links to: ``/__manifest?p=/logout&version=ab12``."""
    asks = list(segments) == ["__manifest"] and kind not in ("", "document")
    return asks and "version" in parameters.keys <= _OF_MANIFEST


def built_below(segments: Sequence[str], names: Sequence[str], parameters: Parameters, kind: str) -> int:
    """Behind which segment all others are those of a built file, as in ``/_next/static/chunks/app/logout/page-4f5a6b7c.js``; the
    number of segments if it is none.
    """
    stem, extension = without_extension(segments[-1]) if segments else ("", "")
    if kind not in _BUILT_TYPES or extension not in _BUILT or not _BUILT_NAME.fullmatch(stem) or order_of(stem):
        return len(segments)
    if not parameters.keys <= _OF_BUILDS or any(map(is_id, segments)):
        return len(segments)
    return next((index for index, name in enumerate(names) if name in _BUILD_FOLDERS), len(segments))


def is_picture(name: str, parameters: Parameters, kind: str) -> bool:
    """Whether a picture is loaded, and all parameters say how it is to look: ``/icons/delete.svg?v=3``. A GIF may be there to be
    counted (``/unsubscribe.gif?t=1``).
    """
    return (
        kind == "image"
        and not name.lower().endswith(".gif")
        and all(
            key in _OF_PICTURES and (_VERSION if key in _VERSIONED else _LOOKS).fullmatch(value)
            for key, value in parameters.pairs
        )
    )
