"""Ways that a Chromium without a guard does not take either on the site of these tests: of them a canary shows nothing.

They stay among the rows, for the day on which a version of Chromium takes them.
"""

from __future__ import annotations

from typing import Final

UNSHOWN: Final = {
    "Chromium sends reports only for pages over TLS, and after a minute": (
        "COEP report",
        "COOP report",
        "CSP report-to",
        "Document-Policy report",
        "Integrity-Policy report",
        "NEL",
        "Permissions-Policy report",
        "Report-To",
        "deprecation report",
    ),
    "needs an enrolled site, or is being withdrawn": (
        "ad auction",
        "ad interest group",
        "attributionsrc of a link",
        "attributionsrc of a picture",
        "fenced frame",
        "selectURL of shared storage",
        "shared storage worklet",
    ),
    "needs a gesture, a permission, a device or an installed application": (
        "FedCM active",
        "PaymentRequest.show",
        "background fetch",
        "intent:",
        "media session artwork",
        "notification icon",
        "passkey of another site",
        "presentation",
        "protocol handler",
    ),
    "Chromium without a window does not do it": (
        "link apple-touch-icon",
        "link dns-prefetch",
        "link manifest",
        "link prerender",
        "link search",
    ),
    "Chromium does not do it any more, or not for this kind of page": (
        "Early Hints",
        "FedCM",
        "Link preconnect",
        "Link stylesheet",
        "XML with a transformation",
        "XSLT",
        "ftp:",
        "link preconnect",
        "view-source of the page",
        "view-source:",
    ),
    "happens now and then, by what Chromium has to do beside": (
        "PaymentRequest",
        "fetchLater",
        "fetchLater POST",
        "link compression-dictionary",
        "speculation of links",
        "speculation prefetch",
        "speculation prerender",
    ),
}
"""Names of rows, by the reason."""
