"""Features that could send something for a page and have no row: without a guard nothing of them gets out of the Chromium of these
tests, so a row would show nothing.
"""

from __future__ import annotations

from typing import Final

LEFT_OUT: Final = {
    "Chromium asks only sites that are enrolled with its vendor": (
        "Attribution Reporting (attributionsrc)",
        "Protected Audience (joinAdInterestGroup, updateAdInterestGroups, runAdAuction, getInterestGroupAdAuctionData)",
        "Topics",
        "fenced frames",
        "private state tokens",
    ),
    "this Chromium has it no more": (
        "FTP",
        "Private Aggregation",
        "Shared Storage",
        "Web Bundles",
        "XSLT by a script",
        "view-source: from a page",
    ),
    "needs a device, a permission that no context grants, or an installed application": (
        "WebOTP",
        "device bound sessions (Secure-Session-Registration)",
        "digital credentials",
        "icons of notifications",
        "intent:",
        "passkeys of another site (/.well-known/webauthn)",
        "periodic sync",
        "pictures of a media session",
        "presentation and remote playback",
        "protocol handlers",
        "push",
    ),
    "only isolated web apps have it, and a page cannot install one": ("Direct Sockets", "Controlled Frame"),
    "asks a service of the vendor, never an address of the page": (
        "language models, translation and summaries",
        "speech recognition",
    ),
    "needs a window of the site that a report is about": ("reports of Cross-Origin-Opener-Policy",),
    "Chromium without a window, or for an address of loopback, does not do it": (
        "Early Hints",
        "Link: rel=preconnect and rel=stylesheet",
        "apple-touch-icon",
        "link rel=dns-prefetch",
        "link rel=preconnect",
        "link rel=prerender",
        "link rel=search",
    ),
}
"""Features, by the reason."""
