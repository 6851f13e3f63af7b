"""What Chromium itself lists as features of pages, and which of them can send something past the requests of a page.

A new version of Chromium that lists one more has to be looked at: it gets a row, a reason, or a place among the quiet ones.
"""

from __future__ import annotations

from typing import Final

ASKED: Final = """() => [
  ...document.featurePolicy.features().filter(name => !name.startsWith('ch-')),
  ...Object.getOwnPropertyNames(Navigator.prototype).map(name => 'navigator.' + name),
  ...Object.getOwnPropertyNames(window).filter(name => /^[a-z]/.test(name) && typeof window[name] === 'function')
    .map(name => 'window.' + name),
]"""
"""What a page answers with the names: policy-controlled features but for client hints, members of ``navigator``, functions."""

SENDS: Final = {
    "attribution-reporting": "Attribution Reporting (attributionsrc)",
    "browsing-topics": "Topics",
    "deferred-fetch": "fetchLater",
    "deferred-fetch-minimal": "fetchLater",
    "digital-credentials-create": "digital credentials",
    "digital-credentials-get": "digital credentials",
    "identity-credentials-get": "FedCM after a click",
    "interest-cohort": "Topics",
    "language-detector": "language models, translation and summaries",
    "language-model": "language models, translation and summaries",
    "local-network": "fetch",
    "local-network-access": "fetch",
    "loopback-network": "fetch",
    "on-device-speech-recognition": "speech recognition",
    "otp-credentials": "WebOTP",
    "payment": "PaymentRequest",
    "private-state-token-issuance": "private state tokens",
    "private-state-token-redemption": "private state tokens",
    "publickey-credentials-create": "passkeys of another site (/.well-known/webauthn)",
    "publickey-credentials-get": "passkeys of another site (/.well-known/webauthn)",
    "summarizer": "language models, translation and summaries",
    "sync-xhr": "XHR at once",
    "translator": "language models, translation and summaries",
    "navigator.adAuctionComponents": "fenced frames",
    "navigator.canLoadAdAuctionFencedFrame": "fenced frames",
    "navigator.credentials": "FedCM after a click",
    "navigator.deprecatedReplaceInURN": "fenced frames",
    "navigator.deprecatedURNToURL": "fenced frames",
    "navigator.getInstalledRelatedApps": "manifest of related applications",
    "navigator.mediaSession": "pictures of a media session",
    "navigator.presentation": "presentation and remote playback",
    "navigator.registerProtocolHandler": "protocol handlers",
    "navigator.sendBeacon": "beacon",
    "navigator.serviceWorker": "background fetch",
    **dict.fromkeys(
        (
            "navigator.clearOriginJoinedAdInterestGroups",
            "navigator.createAuctionNonce",
            "navigator.deprecatedRunAdAuctionEnforcesKAnonymity",
            "navigator.getInterestGroupAdAuctionData",
            "navigator.joinAdInterestGroup",
            "navigator.leaveAdInterestGroup",
            "navigator.protectedAudience",
            "navigator.runAdAuction",
            "navigator.updateAdInterestGroups",
        ),
        "Protected Audience (joinAdInterestGroup, updateAdInterestGroups, runAdAuction, getInterestGroupAdAuctionData)",
    ),
    "window.fetch": "fetch",
    "window.fetchLater": "fetchLater",
    "window.open": "window.open",
    "window.webkitRTCPeerConnection": "WebRTC STUN",
    "window.webkitSpeechRecognition": "speech recognition",
}
"""Features that can, and the row that tries them or the entry of ``LEFT_OUT`` that says why there is none."""

QUIET: Final = frozenset(
    """
    accelerometer aria-notify autoplay camera captured-surface-control clipboard-read clipboard-write compute-pressure
    cross-origin-isolated display-capture encrypted-media fullscreen gamepad geolocation gyroscope hid idle-detection
    keyboard-map local-fonts magnetometer media-playback-while-not-visible microphone midi picture-in-picture
    screen-wake-lock serial speaker-selection storage-access unload usb window-management xr-spatial-tracking
    navigator.appCodeName navigator.appName navigator.appVersion navigator.clearAppBadge navigator.clipboard
    navigator.connection navigator.constructor navigator.cookieEnabled navigator.cpuPerformance navigator.deviceMemory
    navigator.devicePosture navigator.doNotTrack navigator.geolocation navigator.getBattery navigator.getGamepads
    navigator.getUserMedia navigator.gpu navigator.hardwareConcurrency navigator.hid navigator.ink navigator.javaEnabled
    navigator.keyboard navigator.language navigator.languages navigator.locks navigator.login navigator.managed
    navigator.maxTouchPoints navigator.mediaCapabilities navigator.mediaDevices navigator.mimeTypes navigator.onLine
    navigator.pdfViewerEnabled navigator.permissions navigator.platform navigator.plugins navigator.product
    navigator.productSub navigator.requestMIDIAccess navigator.requestMediaKeySystemAccess navigator.scheduling
    navigator.serial navigator.setAppBadge navigator.storage navigator.storageBuckets navigator.unregisterProtocolHandler
    navigator.usb navigator.userActivation navigator.userAgent navigator.userAgentData navigator.vendor navigator.vendorSub
    navigator.vibrate navigator.virtualKeyboard navigator.wakeLock navigator.webdriver navigator.webkitGetUserMedia
    navigator.webkitPersistentStorage navigator.webkitTemporaryStorage navigator.windowControlsOverlay navigator.xr
    window.alert window.atob window.blur window.btoa window.cancelAnimationFrame window.cancelIdleCallback
    window.captureEvents window.clearInterval window.clearTimeout window.close window.confirm window.createImageBitmap
    window.decodeURI window.decodeURIComponent window.encodeURI window.encodeURIComponent window.escape window.eval
    window.find window.focus window.getComputedStyle window.getScreenDetails window.getSelection window.isFinite
    window.isNaN window.matchMedia window.moveBy window.moveTo window.parseFloat window.parseInt window.postMessage
    window.print window.prompt window.queryLocalFonts window.queueMicrotask window.releaseEvents window.reportError
    window.requestAnimationFrame window.requestIdleCallback window.requestResize window.resizeBy window.resizeTo
    window.scroll window.scrollBy window.scrollTo window.setInterval window.setTimeout window.showDirectoryPicker
    window.showOpenFilePicker window.showSaveFilePicker window.stop window.structuredClone window.unescape
    window.webkitCancelAnimationFrame window.webkitMediaStream window.webkitRequestAnimationFrame
    window.webkitRequestFileSystem window.webkitResolveLocalFileSystemURL window.webkitSpeechGrammar
    window.webkitSpeechGrammarList window.webkitSpeechRecognitionError window.webkitSpeechRecognitionEvent window.webkitURL
    """.split()  # noqa: SIM905  (as a list they are four pages)
)
"""Features that send nothing, or only by what else a page sends."""
