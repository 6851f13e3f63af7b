"""Browsers and pages: opens them, performs actions in them, and records the actions. Also live sessions.

``browsers`` provides contexts and pages from a ``pool`` of browsers, within limits and with a queue. ``acting``
finds an element, judges the risk and performs the action. ``recorder`` also makes a signed session of it; it is in this
room and not in ``sessions`` because live sessions use it too. ``live_session`` is one browser session that outlives a call,
with its ``live_pages`` and ``endings``; ``live_sessions`` are all of them. The room of sessions passes in the parser for their
steps.

Owns every running browser of this node, and the live sessions. Never performs an action that the gate did not admit.
"""
