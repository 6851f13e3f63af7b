"""A page with a button for each row of ``adapters.browser.base.unrequested.DEEDS`` that a page can try by itself. A press tries it.

What a button led to stands in the title: ``refused: why``, ``done: value``, or ``waits`` for what is not answered in a while.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

_CREDENTIAL: Final = "challenge: new Uint8Array(16), timeout: 60000"
_FAILS: Final = "throw new Error('it was not granted')"

TRIES: Final = {
    "payment": (
        "new PaymentRequest([{supportedMethods: `${location.origin}/pay`}],"
        " {total: {label: 'x', amount: {currency: 'EUR', value: '1'}}}).show()",
    ),
    "signing in by the browser (FedCM)": (
        "navigator.credentials.get({identity: {providers: [{configURL: `${location.origin}/fed.json`, clientId: '1'}]}})",
    ),
    "digital credentials, codes by text message": (
        "navigator.credentials.get({digital: {requests: [{protocol: 'openid4vp', data: {}}]}})",
        "navigator.credentials.get({otp: {transport: ['sms']}})",
    ),
    "passkeys and security keys (WebAuthn)": (f"navigator.credentials.get({{publicKey: {{{_CREDENTIAL}}}}})",),
    "devices: USB, HID, serial, Bluetooth, NFC, headsets": (
        "navigator.usb.requestDevice({filters: []})",
        "navigator.hid.requestDevice({filters: []})",
        "navigator.serial.requestPort()",
        "navigator.bluetooth.requestDevice({acceptAllDevices: true})",
        "new NDEFReader().scan()",
        "navigator.xr.requestSession('inline')",
    ),
    "files of this machine (file system access)": (
        "showOpenFilePicker()",
        "showSaveFilePicker()",
        "showDirectoryPicker()",
    ),
    "file chooser": ("document.querySelector('input').showPicker()",),
    "download": ("document.querySelector('a').click()",),
    "dialogs: alert, confirm, prompt, leaving a page": (
        f"(() => {{ if (!confirm('Delete the account?')) {_FAILS} }})()",
    ),
    "print": ("print()",),
    "share, contacts": ("navigator.share({title: 'x'})", "navigator.contacts.select(['name'])"),
    "clipboard": ("navigator.clipboard.writeText('x')", "navigator.clipboard.readText()"),
    "copying by a command of the page": ("document.execCommand('copy')",),
    "location, camera, microphone, notifications, MIDI, idle detection, windows and screens, fonts, sensors": (
        "new Promise((done, fail) => navigator.geolocation.getCurrentPosition(done, fail))",
        "navigator.mediaDevices.getUserMedia({video: true})",
        "navigator.mediaDevices.getUserMedia({audio: true})",
        f"Notification.requestPermission().then(said => {{ if (said !== 'granted') {_FAILS} }})",
        "navigator.requestMIDIAccess({sysex: true})",
        f"IdleDetector.requestPermission().then(said => {{ if (said !== 'granted') {_FAILS} }})",
        "getScreenDetails()",
        f"queryLocalFonts().then(all => {{ if (!all.length) {_FAILS} }})",
        "new Promise((done, fail) => { const one = new Accelerometer(); one.onreading = done; one.onerror = fail; one.start() })",
    ),
    "storage that is kept, storage of another site": (
        f"navigator.storage.persist().then(said => {{ if (!said) {_FAILS} }})",
    ),
    "screen capture": ("navigator.mediaDevices.getDisplayMedia()",),
    "speech recognition": (
        "new Promise((done, fail) => { const one = new SpeechRecognition(); one.onstart = done;"
        " one.onerror = said => fail(said.error); one.start() })",
    ),
    "push, background sync and fetch": (
        f"navigator.serviceWorker.register('/sw.js').then(made => {{ if (!made) {_FAILS} }})",
        "ServiceWorkerContainer.prototype.register.call(navigator.serviceWorker, '/sw.js')"
        f".then(made => {{ if (!made) {_FAILS} }})",
    ),
    "WebRTC": (
        "new Promise((done, fail) => { const one = new RTCPeerConnection({iceServers: [{urls: 'stun:127.0.0.1:9'}]});"
        " one.createDataChannel('x'); one.onicecandidate = said => said.candidate ? done(said.candidate.candidate) :"
        " fail('no way'); one.createOffer().then(offer => one.setLocalDescription(offer)) })",
    ),
    "becoming the program for a kind of address": ("navigator.registerProtocolHandler('web+x', '/x?%s')",),
    "other programs: `mailto:`, `tel:` and their like": ("void (location.href = 'mailto:ann@shop.example')",),
    "tools for agents of the browser (`WebMCP`)": (
        "(navigator.modelContext ?? document.modelContext).registerTool({name: 'x', description: 'x', execute() {}})",
    ),
    "language models of the browser": (
        "LanguageModel.create()",
        "Summarizer.create()",
        "Translator.create({sourceLanguage: 'en', targetLanguage: 'de'})",
        "LanguageDetector.create()",
    ),
    "presentation, casting": (
        "new PresentationRequest(['https://cast.example/']).start()",
        "document.querySelector('video').remote.prompt()",
    ),
    "installing a web application": ("navigator.install()",),
    "windows over others, picking a colour of the screen": (
        "documentPictureInPicture.requestWindow()",
        "new EyeDropper().open()",
    ),
    "wake lock": ("navigator.wakeLock.request('screen')",),
    "full screen, lock of pointer and keys": ("document.documentElement.requestFullscreen()",),
}
"""By row, all that is tried for it, one after the other; each must come to the same end."""

_PAGE: Final = """<title>idle</title>TOKENS<a download href=/table.html></a><video></video>
<input type=file hidden>FRAME<script>
const TRIES = {BODIES};
const ends = async work => {
  const late = new Promise(done => setTimeout(() => done('waits'), 1500));
  const made = (async () => `done: ${await work()}`)();
  try { return await Promise.race([made, late]); } catch (error) { return `refused: ${error?.message ?? error}`; }
};
for (const [name, tries] of Object.entries(TRIES)) {
  const button = document.body.appendChild(document.createElement('button'));
  button.textContent = name;
  button.onclick = async () => {
    document.title = 'tries';
    const said = await Promise.all(tries.map(ends));
    document.title = `tried ${said.join(' | ')}`;
  };
}
onmessage = event => { document.title = `tried ${event.data}`; };
</script>"""
IN_FRAME: Final = """<button onclick="document.requestStorageAccess().then(() => 'done', error => `refused: ${error}`)
  .then(said => parent.postMessage(said, '*'))">frame</button>"""
"""The document of a frame of another site, which asks for what its site keeps."""


def deeds_page(tokens: Sequence[str], frame: str) -> str:
    """Its document. tokens: for trials of features (origin trials). frame: the address of ``IN_FRAME`` on another site."""
    bodies = ", ".join(
        f"{json.dumps(name)}: [{', '.join(f'() => {each}' for each in tries)}]" for name, tries in TRIES.items()
    )
    trials = "".join(f'<meta http-equiv=origin-trial content="{token}">' for token in tokens)
    html = _PAGE.replace("TOKENS", trials).replace("FRAME", f"<iframe src={frame}></iframe>")
    return html.replace("{BODIES}", f"{{{bodies}}}")
