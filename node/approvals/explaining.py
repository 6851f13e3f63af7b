"""Finds the rule that decides about a request or an action, and the place where it is set."""

from __future__ import annotations

import re

from node.approvals.questions import Approvals
from node.config import PolicyConfig
from node.live.acting import judged, seek
from node.live.browsers import guard_for
from node.verbs import Bound, current_caller
from node.verbs.nodes import policy as verbs
from node.verbs.nodes.policy import Explained, ExplainParams
from protocol.approval.forms import action_words
from protocol.errors import MeshError
from protocol.page.actions.action import Click, Locator
from protocol.page.secrets.secrets import NO_SECRETS
from protocol.page.seen.observation import Element, Observation
from protocol.page.seen.web_address import require_web
from protocol.risk.requests.allowed import allows
from protocol.risk.requests.refused import meaning
from protocol.risk.requests.requests import GuardPolicy, judge_request
from protocol.risk.requests.sites import REFUSED, judge_site, rule_at

_ELEMENT = re.compile(r"""([a-z]+)(?: +["“'](.*)["”'])?""", re.DOTALL)
_GUARD, _GATE = "the network guard (docs/risk.md)", "the gate (docs/risk.md)"
_PRIVATE = ("private address", "address of no site")


class Explaining:
    """Explains the policy of this node."""

    def __init__(self, policy: PolicyConfig, approvals: Approvals) -> None:
        self._policy, self._approvals = policy, approvals
        self.bound: Bound = {verbs.EXPLAIN: lambda params, tell: self.explain(params)}

    async def explain(self, asked: ExplainParams) -> Explained:
        """The rule that decides about a request or a click. Errors: ``input.invalid``, ``browser.scheme``, ``policy.refused``."""
        require_web(asked.url)
        if asked.element:
            return await self._action(asked.url, asked.element)
        return self._request(asked.url, asked.method.upper())

    def _request(self, url: str, method: str) -> Explained:
        guard = guard_for(self._policy)
        rule = judge_request(method, url, "document" if method == "GET" else "fetch", method == "GET", None, guard)
        told, where, why = self._allowed(url, method, guard) if rule is None else self._refused(url, rule)
        return Explained(what=f"{method} {url}", allowed=rule is None, rule=told, where=where, why=why, risk=0)

    def _allowed(self, url: str, method: str, guard: GuardPolicy) -> tuple[str, str, str]:
        entry = next((at for at, each in enumerate(self._policy.allow_requests) if allows(each, method, url)), None)
        if entry is not None:
            return self._policy.allow_requests[entry], f"policy.allow_requests[{entry}]", ""
        index = rule_at(guard.sites, url)
        if index is not None:
            rule = guard.sites[index]
            sent = judge_site(guard.sites, method, url, "document") == ""
            if sent or rule.read:
                return f"the rule of {rule.site} lists it", f"policy.sites[{index}]", rule.why
        return "reads are allowed", _GUARD, ""

    def _refused(self, url: str, rule: str) -> tuple[str, str, str]:
        told = meaning(rule)
        index = rule_at(self._policy.sites, url)
        if rule == REFUSED and index is not None:
            found = self._policy.sites[index]
            return f"the rule of {found.site} does not list it", f"policy.sites[{index}]", found.why
        if rule == "origin" or rule in _PRIVATE:
            return told, "policy.origins", ""
        if index is not None:
            found = self._policy.sites[index]
            return f"{told}, and the rule of {found.site} does not list it", f"policy.sites[{index}]", found.why
        return f"{told}, and no entry allows it", _GUARD, ""

    async def _action(self, url: str, text: str) -> Explained:
        match = _ELEMENT.fullmatch(text.strip())
        if match is None:
            raise MeshError("input.invalid", "--element needs a role and a name, such as 'button \"Add to cart\"'")
        role, name = match[1], match[2] or ""
        element = Element(ref="e1", role=role, name=name)
        page = Observation(url=url, title="", text="", elements=(element,))
        action = Click(target=Locator(role=role, name=name))
        risk = judged(action, element, page)
        sought = seek(action, element, page, risk, NO_SECRETS)
        free = risk.level <= self._policy.risk_class_max
        answer = "" if free else self._approvals.answered(sought, current_caller())
        told = f"class {risk.level}: {risk.reason}"
        if role == "link":
            told += " (where it leads is not known here: one that only opens a page is class 1)"
        where = answer or ("policy.risk_class_max" if risk.level <= 3 else _GATE)
        allowed = free or bool(answer)
        return Explained(
            what=action_words(sought.form), allowed=allowed, rule=told, where=where, why="", risk=risk.level
        )
