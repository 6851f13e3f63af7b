"""Opens browsers and pages, performs actions in them and records the actions. Also keeps live sessions.

``browsers`` provides contexts and pages from a ``pool`` of browsers, within limits and with a queue. ``acting`` finds an element,
judges the risk and performs the action. ``recording`` turns performed actions into a signed session; it is in this room because
live sessions use it as well as the room of sessions. ``sessions`` holds live sessions: ``live_session`` is one browser session
that outlives a call, and ``live_sessions`` holds all of them. The room of sessions passes in the parser for the steps of live
sessions.

Owns every running browser of this node, and the live sessions. Never performs an action that the gate did not admit.
"""
