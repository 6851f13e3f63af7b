"""The tools of this node for clients of the Model Context Protocol (MCP), made from the declarations of its verbs.

Each profile is a list of tools. Every tool that works in a browser takes the ``session`` it works in and says it in its result.
A result has one copy of what it tells: text for a model, as a person reads it, or a picture.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any, Final, Literal

from mcp.types import CallToolResult, ImageContent, TextContent, Tool, ToolAnnotations

from node.base.terminal import json_text, one_lined
from node.doors.tools import params as tool_params
from node.doors.tools.aliases import ALIASES, Alias
from node.doors.tools.words import TOOLS, description, in_tools, remedy, without_commands
from node.verbs import CallerKind, Verb
from node.verbs.catalogue import CATALOGUE
from node.verbs.live import live as verbs
from node.verbs.nodes import approve
from node.verbs.written import text_of
from protocol import limits
from protocol.errors import MeshError

Profile = Literal["default", "full"]

_DEFAULT: Final = (
    verbs.NAVIGATE,
    verbs.SNAPSHOT,
    verbs.FIND,
    verbs.CLICK,
    verbs.TYPE,
    verbs.FILL,
    verbs.PRESS,
    verbs.ACT,
    verbs.WAIT,
    verbs.SCREENSHOT,
    verbs.CLOSE,
    approve.STATE,
)
_ABROAD: Final = frozenset({"live", "explore", "schedule", "session", "capsule"})
"""Groups of verbs that may talk to sites or to other nodes."""
_AT_HOME: Final = frozenset({verbs.LIST, verbs.SHOW})


@dataclass(frozen=True, kw_only=True)
class NamedTool:
    """One tool: a verb under a name."""

    name: str
    verb: Verb
    alias: Alias | None = None

    @property
    def told(self) -> Tool:
        """Its description for clients."""
        return Tool(
            name=self.name,
            description=(self.alias.told if self.alias else "") or description(self.verb),
            input_schema=_alias_schema(self.alias) if self.alias else tool_params.schema_of(self.verb),
            annotations=_annotations(self.verb),
        )

    def in_its_names(self, error: MeshError) -> MeshError:
        """``error``, with the parameters that it names called as this tool calls them."""
        if self.alias is not None or error.code != "input.invalid":
            return error
        told = in_tools(error.message)
        for field, name in tool_params.NAMES.get(self.verb, {}).items():
            told = told.replace(f"`{field}`", f"`{name}`")
        return MeshError(error.code, told, **error.detail)

    def read(self, given: Mapping[str, Any]) -> tuple[Verb, dict[str, Any], str]:
        """The verb of a call with its parameters, and its key. Errors: ``input.invalid``."""
        verb, params = self.verb, dict(given)
        if self.alias is not None:
            if missing := [name for name in self.alias.needs if name not in given]:
                raise MeshError("input.invalid", f"`{missing[0]}` is missing")
            if unknown := set(given) - set(self.alias.takes) - {tool_params.SESSION, tool_params.KEY}:
                raise MeshError("input.invalid", f"{self.name} has no parameter {', '.join(sorted(unknown))[:200]}")
            params = {
                name: given[name] for name in (tool_params.SESSION, tool_params.KEY) if name in given
            } | self.alias.read(given)
        params, key = tool_params.read(verb, params)
        if verb is verbs.NAVIGATE and not params.get(tool_params.SESSION):
            params.pop(tool_params.SESSION, None)
            if early := sorted(set(params) - {"url"}):
                raise MeshError("input.invalid", f"`{early[0]}` needs a `session`")
            return verbs.OPEN, params, key
        return verb, params, key


def _profile(profile: Profile) -> dict[str, NamedTool]:
    if profile == "default":
        return {verb.tool: NamedTool(name=verb.tool, verb=verb) for verb in _DEFAULT}
    own = [NamedTool(name=name, verb=verb) for name, verb in TOOLS.items()]
    aliases = [NamedTool(name=name, verb=alias.verb, alias=alias) for name, alias in ALIASES.items()]
    others = [
        NamedTool(name=verb.name.replace(".", "_"), verb=verb)
        for verb in CATALOGUE.values()
        if CallerKind.AGENT in verb.callers and not verb.tool
    ]
    return {each.name: each for each in (*own, *others, *aliases)}


PROFILES: Final[Mapping[Profile, Mapping[str, NamedTool]]] = {"default": _profile("default"), "full": _profile("full")}


def only_in_full(name: str) -> str:
    """Where a tool is that the default profile does not have, and what does the same; empty for one that there is not."""
    tool = PROFILES["full"].get(name)
    if tool is None:
        return ""
    acts = "; `browser_act` does it here" if tool.verb.gives is verbs.Acted else ""
    return f" in this profile: it is one of `/mcp/full` and `trailmesh mcp --full`{acts}"


def offered(profile: Profile, verbs_allowed: Set[str]) -> list[Tool]:
    """The tools of ``profile`` whose verbs the caller may call."""
    return [each.told for each in PROFILES[profile].values() if each.verb.name in verbs_allowed]


def _annotations(verb: Verb) -> ToolAnnotations:
    acts = "approve_class" in verb.owner_fields or verb is verbs.ACT
    return ToolAnnotations(
        read_only_hint=verb.read_only,
        destructive_hint=not verb.read_only and (acts or not verb.name.startswith("live.")),
        open_world_hint=verb.name.partition(".")[0] in _ABROAD and verb not in _AT_HOME,
    )


def _alias_schema(alias: Alias) -> dict[str, Any]:
    own = tool_params.schema_of(alias.verb)
    shared = {
        name: own["properties"][name] for name in (tool_params.SESSION, tool_params.KEY) if name in own["properties"]
    }
    needs = [*alias.needs, *(name for name in (tool_params.SESSION,) if name in own["required"])]
    return {"type": "object", "properties": {**alias.takes, **shared}, "required": needs, "additionalProperties": False}


# --- results of a call -----------------------------------------------------------------------------------------------


def given_of(verb: Verb, result: Mapping[str, Any]) -> CallToolResult:
    """``result`` as text for a model, or as a picture. Its first line is the session in which the verb worked."""
    handle = _handle(verb, str(result.get(tool_params.SESSION, "")))
    if image := result.get("png"):
        picture = ImageContent(type="image", data=image, mime_type="image/png")
        return CallToolResult(content=[picture, TextContent(type="text", text="\n".join(handle))])
    shown = one_lined(result)
    # A record whose fields are for programs only is written as JSON.
    text = without_commands(text_of(verb.kinds, shown)) or json_text(shown, indent=None)
    return CallToolResult(content=[TextContent(type="text", text=_bounded([*handle, text]))])


def refused(verb: Verb, error: MeshError, session: str = "") -> CallToolResult:
    """``error`` as text for a model: code, message and remedy."""
    shown = error.shown
    lines = [*_handle(verb, session), f"{shown.code}: {shown.message}", remedy(shown)]
    recorded = ", ".join(shown.detail.get("sessions", ())) or shown.detail.get(tool_params.SESSION, "")
    if recorded and recorded != session:
        lines.append(f"The actions so far are stored as {recorded}.")
    text = _bounded([one_lined(line) for line in lines])
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


def _handle(verb: Verb, session: str) -> list[str]:
    return [f"session {one_lined(session)[:64]}"] if session and verb.name.startswith("live.") else []


def _bounded(lines: list[str]) -> str:
    text = "\n".join(filter(None, lines))
    most = limits.TOOL_TEXT_BYTES_MAX
    data = text.encode(errors="replace")
    if len(data) <= most:
        return text
    kept, _, _ = data[:most].decode(errors="ignore").rpartition("\n")
    return f"{kept}\n… {len(data) - len(kept.encode())} more bytes: ask for less, or for a `part`"
