"""One table of everything that a page can do without a request, and how each effect is contained.

The launch arguments, the script for attached browsers, the notes beside a step and the table of docs/unrequested.md are derived
from it.
"""

from __future__ import annotations

import json
from typing import Final, Literal, NamedTuple

Kept = Literal["off", "asked", "noted"]
"""``off``: absent or refused. ``asked``: needs a yes or a given means. ``noted``: happens, and is reported with the action."""


class UnrequestedEffect(NamedTuple):
    """One row of the table."""

    name: str
    kept: Kept
    how: str
    why: str
    features: tuple[str, ...] = ()
    """Features of Chromium that are switched off."""
    blink: tuple[str, ...] = ()
    """Features of its engine that are switched off, even for a site with a token for an origin trial."""
    arguments: tuple[str, ...] = ()
    """Further launch arguments."""
    removed: tuple[str, ...] = ()
    """Properties removed from each document of an attached browser, whose launch arguments its owner chose."""
    events: tuple[str, ...] = ()
    """Events of a document that report the effect."""
    note: str = ""
    """The note for these events."""
    attached: str = ""
    """The limits of this row in an attached browser; empty if there are none."""


_NOT_GRANTED: Final = "a context is granted no permission, so it is refused at once"
_WITHOUT_WORKER: Final = "service workers are refused, and the permission with them"

DEEDS: Final = (
    UnrequestedEffect(
        name="payment",
        kept="off",
        how="`PaymentRequest` is not there",
        why="It pays. Chromium's browser process itself sends its requests, past every interception.",
        features=("WebPayments",),
        removed=("PaymentRequest",),
    ),
    UnrequestedEffect(
        name="signing in by the browser (FedCM)",
        kept="off",
        how="`navigator.credentials` refuses it",
        why="It signs in. Chromium's browser process itself sends its requests, past every interception.",
        features=("FedCm",),
        removed=(
            "IdentityCredential",
            "IdentityProvider",
            "CredentialsContainer",
            # ``get`` reads its options several times: a page could give a wrapper other options than the real function.
            "Navigator.prototype.credentials",
        ),
    ),
    UnrequestedEffect(
        name="digital credentials, codes by text message",
        kept="off",
        how="`navigator.credentials` refuses them",
        why="They prove who a person is. Without a window the question keeps the page from going on.",
        blink=("WebIdentityDigitalCredentials", "WebIdentityDigitalCredentialsCreation", "WebOTP"),
        removed=("Navigator.prototype.credentials",),
    ),
    UnrequestedEffect(
        name="passkeys and security keys (WebAuthn)",
        kept="asked",
        how="none answers but those of a mounted [capsule](capsules.md); a security key of this machine wants to be touched",
        why="They sign in.",
        removed=("Navigator.prototype.credentials",),
    ),
    UnrequestedEffect(
        name="devices: USB, HID, serial, Bluetooth, NFC, headsets",
        kept="off",
        how="the interfaces are not there",
        why="What goes to a device is no request.",
        blink=("WebUSB", "WebHID", "Serial", "WebBluetooth", "WebNFC", "SmartCard", "WebXR"),
        removed=tuple(f"Navigator.prototype.{each}" for each in ("usb", "hid", "serial", "bluetooth", "xr")),
    ),
    UnrequestedEffect(
        name="files of this machine (file system access)",
        kept="off",
        how="the pickers are not there; sites fall back to a file field",
        why="A page could read and write files.",
        blink=("FileSystemAccessLocal",),
        removed=("showOpenFilePicker", "showSaveFilePicker", "showDirectoryPicker"),
    ),
    UnrequestedEffect(
        name="file chooser",
        kept="noted",
        how="it gets no file",
        why="What a page may have is what an upload hands over.",
    ),
    UnrequestedEffect(
        name="upload",
        kept="noted",
        how="files of `browser.upload_folders` only; what carries one away is judged, and nothing that holds its content is a read",
        why="A script can read a file before anything is sent.",
    ),
    UnrequestedEffect(
        name="download",
        kept="noted",
        how="hashed, told with the step, deleted",
        why="What came is part of what the step led to.",
    ),
    UnrequestedEffect(
        name="dialogs: alert, confirm, prompt, leaving a page",
        kept="asked",
        how="dismissed and told; accepting one has the class of what it says, and one that asks for more is dismissed",
        why="A script can do anything once it hears yes.",
    ),
    UnrequestedEffect(
        name="typing a secret",
        kept="asked",
        how="class 6, into fields of the sites it is for",
        why="A script can read it before anything is sent.",
    ),
    UnrequestedEffect(
        name="print",
        kept="noted",
        how="there is no printer in a browser without a window; with one a person is asked",
        why="Nobody asked for paper.",
        events=("beforeprint",),
        note="the page asked to print",
    ),
    UnrequestedEffect(
        name="share, contacts",
        kept="off",
        how="`navigator.share` and `navigator.contacts` are not there",
        why="They hand something to another program.",
        blink=("WebShare", "ContactsManager"),
        removed=("Navigator.prototype.share", "Navigator.prototype.canShare", "Navigator.prototype.contacts"),
    ),
    UnrequestedEffect(
        name="clipboard",
        kept="off",
        how=_NOT_GRANTED,
        why="All sessions of a browser share one.",
    ),
    UnrequestedEffect(
        name="copying by a command of the page",
        kept="noted",
        how="the command of old (`execCommand`) needs no permission; pasting by it is refused",
        why="All sessions of a browser share one clipboard. Keys that copy or paste are never pressed.",
        events=("copy", "cut"),
        note="the page put something on the clipboard",
    ),
    UnrequestedEffect(
        name="location, camera, microphone, notifications, MIDI, idle detection, windows and screens, fonts, sensors",
        kept="off",
        how=_NOT_GRANTED,
        why="They tell of the person and of the machine.",
        blink=("GeolocationElement", "UserMediaElement"),
    ),
    UnrequestedEffect(
        name="storage that is kept, storage of another site",
        kept="off",
        how=_NOT_GRANTED,
        why="A frame would become the person that its site knows.",
    ),
    UnrequestedEffect(
        name="screen capture",
        kept="off",
        how="`getDisplayMedia` is not there",
        why="A page would see other windows.",
        blink=("GetDisplayMedia",),
        removed=("MediaDevices.prototype.getDisplayMedia",),
    ),
    UnrequestedEffect(
        name="speech recognition",
        kept="off",
        how="it ends with `not-allowed`",
        why="It sends what is heard to a service of the vendor.",
        arguments=("--disable-speech-api",),
        removed=("SpeechRecognition", "webkitSpeechRecognition"),
    ),
    UnrequestedEffect(
        name="push, background sync and fetch",
        kept="off",
        how=_WITHOUT_WORKER,
        why="They act when no page is open.",
    ),
    UnrequestedEffect(
        name="WebRTC",
        kept="off",
        how="it finds no way to anybody: no datagram leaves, and no name is looked up for it",
        why="Datagrams pass no guard.",
        arguments=("--webrtc-ip-handling-policy=disable_non_proxied_udp",),
        removed=("RTCPeerConnection", "webkitRTCPeerConnection", "WebTransport"),
    ),
    UnrequestedEffect(
        name="becoming the program for a kind of address",
        kept="off",
        how="`registerProtocolHandler` is not there",
        why="Later links would lead to the site.",
        blink=("NavigatorContentUtils",),
        removed=("Navigator.prototype.registerProtocolHandler", "Navigator.prototype.unregisterProtocolHandler"),
    ),
    UnrequestedEffect(
        name="other programs: `mailto:`, `tel:` and their like",
        kept="noted",
        how="none is started on Linux; elsewhere `mailto:` starts the mail program with a draft",
        why="Chromium starts the mail program without asking anybody, also without a window.",
        note="the page wanted another program for an address",
        attached="the browser of its owner starts the mail program",
    ),
    UnrequestedEffect(
        name="tools for agents of the browser (`WebMCP`)",
        kept="off",
        how="`modelContext` is not there, also for a site with a token for its trial",
        why="A page would offer actions that nothing here has judged.",
        blink=("WebMCP", "WebMCPTesting"),
        removed=("Navigator.prototype.modelContext", "Document.prototype.modelContext"),
        attached="a site with a token has it",
    ),
    UnrequestedEffect(
        name="language models of the browser",
        kept="off",
        how="the interfaces are not there",
        why="They load models from the vendor.",
        blink=(
            "AIPromptAPI",
            "AISummarizationAPI",
            "AIWriterAPI",
            "AIRewriterAPI",
            "TranslationAPI",
            "LanguageDetectionAPI",
        ),
        removed=("LanguageModel", "Summarizer", "Writer", "Rewriter", "Translator", "LanguageDetector"),
    ),
    UnrequestedEffect(
        name="presentation, casting",
        kept="off",
        how="the interfaces are not there",
        why="They show something on other devices.",
        features=("MediaRouter",),
        blink=("Presentation", "RemotePlayback"),
        removed=("PresentationRequest", "Navigator.prototype.presentation", "HTMLMediaElement.prototype.remote"),
    ),
    UnrequestedEffect(
        name="installing a web application",
        kept="off",
        how="`navigator.install` is not there",
        why="It stays when the page is closed.",
        blink=("WebAppInstallation",),
        removed=("Navigator.prototype.install",),
    ),
    UnrequestedEffect(
        name="windows over others, picking a colour of the screen",
        kept="off",
        how="the interfaces are not there",
        why="They are for a person in front of the window.",
        blink=("DocumentPictureInPictureAPI", "EyeDropperAPI"),
        removed=("documentPictureInPicture", "EyeDropper"),
    ),
    UnrequestedEffect(
        name="wake lock",
        kept="off",
        how=_NOT_GRANTED,
        why="It keeps the machine awake.",
    ),
    UnrequestedEffect(
        name="full screen, lock of pointer and keys",
        kept="noted",
        how="it lasts as long as the page",
        why="With a window it takes the screen or the pointer of the person in front.",
        events=("fullscreenchange", "pointerlockchange"),
        note="the page took the full screen or the pointer",
    ),
)
"""The table. ``browser.context_options`` refuses permissions, and ``profile_directory.environment`` other programs."""

_SCHEMES: Final = frozenset({"about", "blob", "chrome", "chrome-error", "data", "file", "http", "https", "javascript"})
"""Schemes that Chromium opens itself, or refuses without a message."""

_OTHERS: Final = next(deed for deed in DEEDS if "`mailto:`" in deed.name)
BINDING: Final = "__trailmesh_did"
NOTES: Final = {event: deed.note for deed in DEEDS for event in deed.events}
"""The note for each event of a document."""

NOTES_SCRIPT: Final = f"""(() => {{
  const told = globalThis.{BINDING};
  if (!told) return;
  for (const kind of {json.dumps(sorted(NOTES))})
    EventTarget.prototype.addEventListener.call(globalThis, kind, event => {{ if (event.isTrusted) told(kind); }}, true);
}})()"""
"""Reports the events of ``NOTES``, in an isolated world. It stops when a page rewrites its document (``document.open``), which
removes the listeners."""

REMOVES: Final = f"""
for (const path of {json.dumps(sorted({each for deed in DEEDS for each in deed.removed}))}) {{
  const parts = path.split('.'), name = parts.pop();
  let of = window;
  for (const part of parts) of = of && of[part];
  if (of) delete of[name];
}}
"""
"""Removes from a document of an attached browser, before its scripts run, what launch arguments would switch off. It runs in
the page's own world."""


def features_off() -> tuple[str, ...]:
    """Features of Chromium, for ``--disable-features``."""
    return tuple(each for deed in DEEDS for each in deed.features)


def arguments_off() -> tuple[str, ...]:
    """The launch arguments of the table, without ``--disable-features``: Chromium uses only the last such list."""
    blink = [each for deed in DEEDS for each in deed.blink]
    further = (each for deed in DEEDS for each in deed.arguments)
    # The first cannot override an origin trial token, and the second cannot switch off a default.
    return (
        f"--disable-blink-features={','.join(blink)}",
        f"--origin-trial-disabled-features={'|'.join(blink)}",
        *further,
    )


def other_program(url: str) -> str:
    """The note about an address that another program would open; empty for any other address."""
    scheme = url.partition(":")[0].lower()
    return "" if not scheme or scheme in _SCHEMES else f"{_OTHERS.note}: {scheme}:"
