# Written by `make client` from node/verbs/; change the declarations instead.
"""Every verb of a node as a method, by group: ``node.verbs.session.replay(…)``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trailmesh.client.calling import BlockingVerbGroups, VerbGroups

if TYPE_CHECKING:
    from trailmesh.calls.agent import AgentVerbs, BlockingAgentVerbs
    from trailmesh.calls.approve import ApproveVerbs, BlockingApproveVerbs
    from trailmesh.calls.audit import AuditVerbs, BlockingAuditVerbs
    from trailmesh.calls.capsule import BlockingCapsuleVerbs, CapsuleVerbs
    from trailmesh.calls.events import BlockingEventsVerbs, EventsVerbs
    from trailmesh.calls.explore import BlockingExploreVerbs, ExploreVerbs
    from trailmesh.calls.live import BlockingLiveVerbs, LiveVerbs
    from trailmesh.calls.log import BlockingLogVerbs, LogVerbs
    from trailmesh.calls.node import BlockingNodeVerbs, NodeVerbs
    from trailmesh.calls.owner import BlockingOwnerVerbs, OwnerVerbs
    from trailmesh.calls.page import BlockingPageVerbs, PageVerbs
    from trailmesh.calls.passkey import BlockingPasskeyVerbs, PasskeyVerbs
    from trailmesh.calls.policy import BlockingPolicyVerbs, PolicyVerbs
    from trailmesh.calls.schedule import BlockingScheduleVerbs, ScheduleVerbs
    from trailmesh.calls.session import BlockingSessionVerbs, SessionVerbs
    from trailmesh.calls.site import BlockingSiteVerbs, SiteVerbs
    from trailmesh.calls.task import BlockingTaskVerbs, TaskVerbs
    from trailmesh.calls.ui import BlockingUiVerbs, UiVerbs


class Verbs(VerbGroups):
    """Every verb, by group."""

    @property
    def node(self) -> NodeVerbs:
        """The verbs ``node.*``."""
        from trailmesh.calls.node import NodeVerbs

        return self._group(NodeVerbs)

    @property
    def agent(self) -> AgentVerbs:
        """The verbs ``agent.*``."""
        from trailmesh.calls.agent import AgentVerbs

        return self._group(AgentVerbs)

    @property
    def owner(self) -> OwnerVerbs:
        """The verbs ``owner.*``."""
        from trailmesh.calls.owner import OwnerVerbs

        return self._group(OwnerVerbs)

    @property
    def approve(self) -> ApproveVerbs:
        """The verbs ``approve.*``."""
        from trailmesh.calls.approve import ApproveVerbs

        return self._group(ApproveVerbs)

    @property
    def policy(self) -> PolicyVerbs:
        """The verbs ``policy.*``."""
        from trailmesh.calls.policy import PolicyVerbs

        return self._group(PolicyVerbs)

    @property
    def session(self) -> SessionVerbs:
        """The verbs ``session.*``."""
        from trailmesh.calls.session import SessionVerbs

        return self._group(SessionVerbs)

    @property
    def capsule(self) -> CapsuleVerbs:
        """The verbs ``capsule.*``."""
        from trailmesh.calls.capsule import CapsuleVerbs

        return self._group(CapsuleVerbs)

    @property
    def passkey(self) -> PasskeyVerbs:
        """The verbs ``passkey.*``."""
        from trailmesh.calls.passkey import PasskeyVerbs

        return self._group(PasskeyVerbs)

    @property
    def live(self) -> LiveVerbs:
        """The verbs ``live.*``."""
        from trailmesh.calls.live import LiveVerbs

        return self._group(LiveVerbs)

    @property
    def page(self) -> PageVerbs:
        """The verbs ``page.*``."""
        from trailmesh.calls.page import PageVerbs

        return self._group(PageVerbs)

    @property
    def explore(self) -> ExploreVerbs:
        """The verbs ``explore.*``."""
        from trailmesh.calls.explore import ExploreVerbs

        return self._group(ExploreVerbs)

    @property
    def schedule(self) -> ScheduleVerbs:
        """The verbs ``schedule.*``."""
        from trailmesh.calls.schedule import ScheduleVerbs

        return self._group(ScheduleVerbs)

    @property
    def site(self) -> SiteVerbs:
        """The verbs ``site.*``."""
        from trailmesh.calls.site import SiteVerbs

        return self._group(SiteVerbs)

    @property
    def task(self) -> TaskVerbs:
        """The verbs ``task.*``."""
        from trailmesh.calls.task import TaskVerbs

        return self._group(TaskVerbs)

    @property
    def log(self) -> LogVerbs:
        """The verbs ``log.*``."""
        from trailmesh.calls.log import LogVerbs

        return self._group(LogVerbs)

    @property
    def audit(self) -> AuditVerbs:
        """The verbs ``audit.*``."""
        from trailmesh.calls.audit import AuditVerbs

        return self._group(AuditVerbs)

    @property
    def events(self) -> EventsVerbs:
        """The verbs ``events.*``."""
        from trailmesh.calls.events import EventsVerbs

        return self._group(EventsVerbs)

    @property
    def ui(self) -> UiVerbs:
        """The verbs ``ui.*``."""
        from trailmesh.calls.ui import UiVerbs

        return self._group(UiVerbs)


class BlockingVerbs(BlockingVerbGroups):
    """Every verb, by group."""

    @property
    def node(self) -> BlockingNodeVerbs:
        """The verbs ``node.*``."""
        from trailmesh.calls.node import BlockingNodeVerbs

        return self._group(BlockingNodeVerbs)

    @property
    def agent(self) -> BlockingAgentVerbs:
        """The verbs ``agent.*``."""
        from trailmesh.calls.agent import BlockingAgentVerbs

        return self._group(BlockingAgentVerbs)

    @property
    def owner(self) -> BlockingOwnerVerbs:
        """The verbs ``owner.*``."""
        from trailmesh.calls.owner import BlockingOwnerVerbs

        return self._group(BlockingOwnerVerbs)

    @property
    def approve(self) -> BlockingApproveVerbs:
        """The verbs ``approve.*``."""
        from trailmesh.calls.approve import BlockingApproveVerbs

        return self._group(BlockingApproveVerbs)

    @property
    def policy(self) -> BlockingPolicyVerbs:
        """The verbs ``policy.*``."""
        from trailmesh.calls.policy import BlockingPolicyVerbs

        return self._group(BlockingPolicyVerbs)

    @property
    def session(self) -> BlockingSessionVerbs:
        """The verbs ``session.*``."""
        from trailmesh.calls.session import BlockingSessionVerbs

        return self._group(BlockingSessionVerbs)

    @property
    def capsule(self) -> BlockingCapsuleVerbs:
        """The verbs ``capsule.*``."""
        from trailmesh.calls.capsule import BlockingCapsuleVerbs

        return self._group(BlockingCapsuleVerbs)

    @property
    def passkey(self) -> BlockingPasskeyVerbs:
        """The verbs ``passkey.*``."""
        from trailmesh.calls.passkey import BlockingPasskeyVerbs

        return self._group(BlockingPasskeyVerbs)

    @property
    def live(self) -> BlockingLiveVerbs:
        """The verbs ``live.*``."""
        from trailmesh.calls.live import BlockingLiveVerbs

        return self._group(BlockingLiveVerbs)

    @property
    def page(self) -> BlockingPageVerbs:
        """The verbs ``page.*``."""
        from trailmesh.calls.page import BlockingPageVerbs

        return self._group(BlockingPageVerbs)

    @property
    def explore(self) -> BlockingExploreVerbs:
        """The verbs ``explore.*``."""
        from trailmesh.calls.explore import BlockingExploreVerbs

        return self._group(BlockingExploreVerbs)

    @property
    def schedule(self) -> BlockingScheduleVerbs:
        """The verbs ``schedule.*``."""
        from trailmesh.calls.schedule import BlockingScheduleVerbs

        return self._group(BlockingScheduleVerbs)

    @property
    def site(self) -> BlockingSiteVerbs:
        """The verbs ``site.*``."""
        from trailmesh.calls.site import BlockingSiteVerbs

        return self._group(BlockingSiteVerbs)

    @property
    def task(self) -> BlockingTaskVerbs:
        """The verbs ``task.*``."""
        from trailmesh.calls.task import BlockingTaskVerbs

        return self._group(BlockingTaskVerbs)

    @property
    def log(self) -> BlockingLogVerbs:
        """The verbs ``log.*``."""
        from trailmesh.calls.log import BlockingLogVerbs

        return self._group(BlockingLogVerbs)

    @property
    def audit(self) -> BlockingAuditVerbs:
        """The verbs ``audit.*``."""
        from trailmesh.calls.audit import BlockingAuditVerbs

        return self._group(BlockingAuditVerbs)

    @property
    def events(self) -> BlockingEventsVerbs:
        """The verbs ``events.*``."""
        from trailmesh.calls.events import BlockingEventsVerbs

        return self._group(BlockingEventsVerbs)

    @property
    def ui(self) -> BlockingUiVerbs:
        """The verbs ``ui.*``."""
        from trailmesh.calls.ui import BlockingUiVerbs

        return self._group(BlockingUiVerbs)
