"""Session bundles: a recorded session as one signed file that anyone can check, and read in part.

Layout, in this order (``protocol.recording.records.flat_zip``; docs/protocol/bundle.md):

- ``mimetype``: the media type, so that ``file`` and ``head`` show the kind of the file;
- ``manifest.cose``: an artefact envelope of kind ``session`` whose payload is the SHA-256 of
- ``manifest.cbor``: version, session record, path, size and SHA-256 of every element, Merkle root over them;
- the elements, sorted by path: ``blobs/<sha256>`` (screenshots, snapshots) and ``steps/000001.cbor`` ….

Each session has exactly one encoding as a file: writing it again gives the same bytes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, BinaryIO, Final

import msgspec

from protocol import ids, limits
from protocol.capsule.policy import check_policy
from protocol.errors import MeshError
from protocol.kinds import Plain
from protocol.log import merkle
from protocol.recording.records import flat_zip
from protocol.recording.records.session import Session, Step
from protocol.recording.records.verdict import Verdict
from protocol.recording.records.verdicts import judge_recording
from protocol.wire import cbor, envelope, formats

MEDIA_TYPE: Final = b"application/vnd.trailmesh.session+zip"
KIND: Final = "session"
VERSION: Final = formats.version_of("bundle")
_MIMETYPE, _COSE, _CBOR = "mimetype", "manifest.cose", "manifest.cbor"
_HEAD_SIZES_MAX: Final = {
    _MIMETYPE: len(MEDIA_TYPE),
    _COSE: limits.ENVELOPE_BYTES_MAX,
    _CBOR: limits.BUNDLE_MANIFEST_BYTES_MAX,
}
_STEP_PATH: Final = re.compile(r"steps/([0-9]{6})\.cbor", re.ASCII)
_BLOB_PATH: Final = re.compile(r"blobs/([0-9a-f]{64})", re.ASCII)
_BLOB_BYTES_MAX: Final = max(limits.SCREENSHOT_BYTES_MAX, limits.SNAPSHOT_BYTES_MAX)

ReadBlob = Callable[[bytes], bytes]
"""``SHA-256 -> bytes``. Errors: ``blob.missing``."""


class BundleFile(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """One file listed in the manifest. It is encoded as an array, which keeps large manifests within the CBOR limits."""

    path: Annotated[Plain, msgspec.Meta(max_length=limits.BUNDLE_PATH_CHARS_MAX)]
    size: Annotated[int, msgspec.Meta(ge=0, le=_BLOB_BYTES_MAX)]
    """Bytes."""
    sha256: Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The list of files and the session record; the recorder signs its hash."""

    version: int
    session: Session
    elements: Annotated[tuple[BundleFile, ...], msgspec.Meta(max_length=limits.BUNDLE_ELEMENTS_MAX)]
    root: bytes
    """RFC 6962 root over the elements, each leaf the CBOR of one element, 32 bytes."""


def step_path(index: int) -> str:
    """The path of step ``index`` (from 1)."""
    return f"steps/{index:06d}.cbor"


def blob_path(digest: bytes) -> str:
    """The path of the blob with this SHA-256."""
    return f"blobs/{digest.hex()}"


def leaf_of(element: BundleFile) -> bytes:
    """The Merkle leaf hash of an element: with a proof it shows that one step belongs to a signed root."""
    return merkle.leaf_hash(cbor.encode(element))


def blobs_of(steps: Sequence[Step]) -> list[bytes]:
    """The SHA-256 of every blob the steps name, sorted, each once."""
    return sorted({digest for step in steps for digest in (step.snapshot, step.screenshot) if digest})


# --- writing ---------------------------------------------------------------------------------------------------------


def make_manifest(session: Session, steps: Sequence[Step], blob_sizes: Mapping[bytes, int]) -> bytes:
    """``manifest.cbor`` of a finished session; its SHA-256 is the payload to sign as an envelope of kind ``session``.

    blob_sizes: size in bytes of every blob the steps name. Errors: ``input.too_large``, ``session.not_committed``.
    """
    if session.verdict in (Verdict.OPEN, Verdict.INTERRUPTED):
        raise MeshError("session.not_committed")
    assert [step.index for step in steps] == list(range(1, session.steps + 1)), "steps are numbered from 1 without gaps"
    elements = [BundleFile(blob_path(digest), blob_sizes[digest], digest) for digest in blobs_of(steps)]
    for step in steps:
        data = cbor.encode(step)
        elements.append(BundleFile(step_path(step.index), len(data), hashlib.sha256(data).digest()))
    manifest = Manifest(
        version=VERSION,
        session=session,
        elements=tuple(elements),
        root=merkle.root([leaf_of(element) for element in elements]),
    )
    data = cbor.encode(manifest)
    if (
        len(elements) > limits.BUNDLE_ELEMENTS_MAX
        or len(data) > limits.BUNDLE_MANIFEST_BYTES_MAX
        # The rest is reserved for the manifest, its signature and the archive's own headers.
        or sum(element.size for element in elements) > limits.BUNDLE_BYTES_MAX - 2 * limits.MIB
        or any(element.size > _size_max(element.path) for element in elements)
    ):
        raise MeshError("input.too_large", f"the session does not fit a bundle ({len(elements)} elements)")
    return data


def require_steps(manifest: bytes, steps: Sequence[Step]) -> None:
    """Return if ``steps`` are exactly the steps that ``manifest`` lists. Errors: ``bundle.element``."""
    signed = {item.path: item.sha256 for item in _parse_manifest(manifest).elements if step_index(item.path)}
    for step in steps:
        path = step_path(step.index)
        if signed.pop(path, b"") != hashlib.sha256(cbor.encode(step)).digest():
            raise _fault(path)
    for path in signed:
        raise _fault(path)


class BundleWriter:
    """Writes a bundle element by element, so that no more than one of them is held in memory."""

    def __init__(self, out: BinaryIO, *, signature: bytes, manifest: bytes) -> None:
        """signature: the envelope over ``manifest``. Errors: ``bundle.element`` if they do not belong together."""
        if envelope.peek(signature).payload != hashlib.sha256(manifest).digest():
            raise _fault(_CBOR)
        self.elements = _parse_manifest(manifest).elements
        self._next = 0
        self._zip = flat_zip.ZipWriter(out)
        self._zip.add(_MIMETYPE, MEDIA_TYPE)
        self._zip.add(_COSE, signature)
        self._zip.add(_CBOR, manifest)

    def add(self, data: bytes) -> None:
        """Append the content of the next of ``elements``. Errors: ``bundle.element`` if it is not the signed content."""
        element = self.elements[self._next]
        if len(data) != element.size or hashlib.sha256(data).digest() != element.sha256:
            raise _fault(element.path)
        self._zip.add(element.path, data)
        self._next += 1

    def finish(self) -> None:
        """Complete the file."""
        assert self._next == len(self.elements), "elements are missing"
        self._zip.finish()


def write_bundle(
    out: BinaryIO, *, signature: bytes, manifest: bytes, steps: Sequence[Step], read_blob: ReadBlob
) -> None:
    """Write the whole bundle to ``out``. Errors: ``bundle.element``, and those of ``read_blob``."""
    writer = BundleWriter(out, signature=signature, manifest=manifest)
    for element in writer.elements:
        index = step_index(element.path)
        writer.add(cbor.encode(steps[index - 1]) if index else read_blob(element.sha256))
    writer.finish()


# --- reading ---------------------------------------------------------------------------------------------------------


class Bundle:
    """An opened bundle: layout, signature and manifest are verified; each element is verified when it is read."""

    def __init__(
        self, file: BinaryIO, entries: Mapping[str, flat_zip.ZipEntry], signed: envelope.Envelope, manifest: Manifest
    ) -> None:
        self._file = file
        self._entries = entries
        self._elements = {element.path: element for element in manifest.elements}
        self.manifest = manifest
        self.header = signed.header
        """The signer, and the time of signing."""
        self.manifest_digest = signed.payload
        """SHA-256 of ``manifest.cbor``: it identifies this recording."""

    @property
    def session(self) -> Session:
        """The session record."""
        return self.manifest.session

    @property
    def signature(self) -> bytes:
        """The signed envelope, with its bytes in the file."""
        return _content(self._file, self._entries[_COSE])

    @property
    def manifest_bytes(self) -> bytes:
        """``manifest.cbor``, with its bytes in the file."""
        return _content(self._file, self._entries[_CBOR])

    def element(self, path: str) -> bytes:
        """The content of one element, which is read alone and verified.

        Checks, in order: the path is in the manifest; CRC-32; SHA-256. Errors: ``input.not_found``, ``bundle.element``.
        """
        element = self._elements.get(path)
        if element is None:
            raise MeshError("input.not_found", f"the bundle has no {path[:80]}", element=path[:80])
        data = _content(self._file, self._entries[path])
        if hashlib.sha256(data).digest() != element.sha256:
            raise _fault(path)
        return data

    def step(self, index: int) -> Step:
        """Step ``index`` (from 1), which is read alone and verified. Errors: ``input.not_found``, ``bundle.element``."""
        path = step_path(index)
        data = self.element(path)
        try:
            step = cbor.decode_as(data, Step)
        except MeshError as error:
            raise _fault(path, error.message) from error
        if step.index != index or not _plausible(step):
            raise _fault(path, "the step's fields contradict each other or its place")
        return step

    def blob(self, digest: bytes) -> bytes:
        """The blob with this SHA-256, verified. Errors: ``input.not_found``, ``bundle.element``."""
        return self.element(blob_path(digest))

    def steps(self) -> list[Step]:
        """All steps, verified. Errors: ``bundle.element``."""
        return [self.step(index) for index in range(1, self.session.steps + 1)]

    def faults(self) -> Iterator[MeshError]:
        """One error for each bad element; none if the bundle is intact.

        Checks, in order: every step (hash, form, index); every blob (hash), naming the step that shows it; the blobs are exactly
        those that the steps name; the verdict ``pass`` follows from the steps.
        """
        shown_by: dict[str, int] = {}
        complete = True
        against = "steps of the imported file were skipped" if self.session.skipped else ""
        for index in range(1, self.session.steps + 1):
            try:
                step = self.step(index)
            except MeshError as error:
                complete = False
                yield error
            else:
                # The verdict is signed, but by the recorder, so it must follow from the steps.
                against = against or judge_recording([step]).reason
                for digest in blobs_of([step]):
                    shown_by.setdefault(blob_path(digest), index)
        for path in self._elements:
            if step_index(path):
                continue
            try:
                self.element(path)
            except MeshError as error:
                detail = {"index": shown_by[path]} if path in shown_by else {}
                yield MeshError(error.code, error.message, **error.detail, **detail)
            # With a step missing, nobody can tell which blobs belong to it.
            if complete and path not in shown_by:
                yield MeshError("bundle.element", f"{path} does not belong to any step", element=path)
        for path, index in shown_by.items():
            if path not in self._elements:
                yield MeshError("bundle.element", f"{path} is missing", element=path, index=index)
        if complete and self.session.verdict is Verdict.PASS and (against or not self.session.steps):
            told = f"the session says that it passed, and did not: {against or 'it has no step'}"
            yield formats.by_its_rules("bundle", self.manifest.version, MeshError("bundle.invalid", told))

    def verify(self) -> None:
        """Check every element. Errors: ``bundle.element``, naming the first bad one."""
        for fault in self.faults():
            raise fault


def open_bundle(file: BinaryIO, find_key: envelope.KeyFinder) -> Bundle:
    """The bundle in ``file``, after everything except its elements is verified; ``Bundle.verify`` verifies these.

    Checks, in order:

    1. canonical archive layout, without extra bytes (``flat_zip.read_directory``);
    2. the three head entries in place, then only steps and blobs, sorted, each once, each within the limit of its kind;
    3. every local header equals what the directory implies; the media type;
    4. the signature of a trusted key over the SHA-256 of the manifest;
    5. the manifest: strict form, version, blobs named by their hash, Merkle root;
    6. the directory lists exactly the manifest's elements, with the same sizes;
    7. the session record: its ids, recorded by the signer, committed, as many steps as step elements.

    Errors: ``bundle.invalid``, ``bundle.element`` (a header or the manifest was changed), ``envelope.*``.
    """
    # Everything that needs no signature comes first and takes bounded time, because anybody may have sent the file.
    entries = flat_zip.read_directory(file)
    _check_names(entries)
    for entry in entries:
        # Other ZIP readers use the local headers, so these must agree with the directory.
        if not flat_zip.check_local_header(file, entry):
            raise _fault(entry.name, "its local header differs from the directory")
    head = {entry.name: _content(file, entry) for entry in entries[:3]}
    if head[_MIMETYPE] != MEDIA_TYPE:
        raise _fault(_MIMETYPE)
    signed = envelope.verify(head[_COSE], kinds=frozenset({KIND}), find_key=find_key)
    # The envelope signs only the hash, so the manifest may be larger than an envelope.
    if signed.payload != hashlib.sha256(head[_CBOR]).digest():
        raise _fault(_CBOR)
    manifest = _parse_manifest(head[_CBOR])
    if [(entry.name, entry.size) for entry in entries[3:]] != [(item.path, item.size) for item in manifest.elements]:
        raise MeshError("bundle.invalid", "the elements of the file are not exactly those of the manifest")
    _check_session(manifest, signed.header)
    return Bundle(file, {entry.name: entry for entry in entries}, signed, manifest)


def verify_bundle(file: BinaryIO, find_key: envelope.KeyFinder) -> Bundle:
    """The bundle in ``file``, after every byte is verified. Errors: those of ``open_bundle``, ``bundle.element``."""
    bundle = open_bundle(file, find_key)
    bundle.verify()
    return bundle


def step_index(path: str) -> int:
    """The step (from 1) in this element; 0 for other elements."""
    found = _STEP_PATH.fullmatch(path)
    return int(found[1]) if found else 0


def _size_max(path: str) -> int:
    """The maximum size of an entry in bytes; -1 for paths that are not allowed."""
    if path in _HEAD_SIZES_MAX:
        return _HEAD_SIZES_MAX[path]
    if _BLOB_PATH.fullmatch(path):
        return _BLOB_BYTES_MAX
    return limits.ENVELOPE_BYTES_MAX if step_index(path) else -1


def _check_names(entries: Sequence[flat_zip.ZipEntry]) -> None:
    names = [entry.name for entry in entries]
    if names[:3] != [_MIMETYPE, _COSE, _CBOR]:
        raise MeshError("bundle.invalid", "mimetype, manifest.cose and manifest.cbor must come first")
    if len(names) - 3 > limits.BUNDLE_ELEMENTS_MAX:
        raise MeshError("bundle.invalid", f"more than {limits.BUNDLE_ELEMENTS_MAX} elements")
    # Strictly ascending order also excludes duplicates, of which readers could choose different ones.
    if any(name in _HEAD_SIZES_MAX or name <= last for last, name in pairwise(["", *names[3:]])):
        raise MeshError("bundle.invalid", "entries are unsorted or duplicate")
    for entry in entries:
        if entry.size > _size_max(entry.name):
            raise MeshError(
                "bundle.invalid", f"{entry.name[:80]} is not allowed here, or too large", element=entry.name[:80]
            )


def _parse_manifest(data: bytes) -> Manifest:
    """The manifest in ``data``, after checking that it is consistent. Errors: ``bundle.invalid``, ``format.*``."""
    try:
        value = cbor.decode(data, bytes_max=limits.BUNDLE_MANIFEST_BYTES_MAX)
        # Before the strict form: a later version may have fields that this version would reject.
        formats.check_field("bundle", value)
        try:
            manifest = cbor.convert(value, Manifest)
        except MeshError as error:
            raise formats.by_its_rules("bundle", value["version"], error) from error
    except MeshError as error:
        refused = MeshError("bundle.invalid", f"manifest: {error.message}")
        raise formats.unless_version(error, refused) from error
    # The store keeps blobs by their hash, so a wrong name would store a blob under a wrong hash.
    for item in manifest.elements:
        blob = _BLOB_PATH.fullmatch(item.path)
        if blob and blob[1] != item.sha256.hex():
            raise MeshError("bundle.invalid", "manifest: a blob is not named by its hash", element=item.path)
    if merkle.root([leaf_of(item) for item in manifest.elements]) != manifest.root:
        raise MeshError("bundle.invalid", "manifest: the Merkle root does not match the elements")
    return manifest


def _check_session(manifest: Manifest, header: envelope.EnvelopeHeader) -> None:
    session = manifest.session
    for kind, text, wanted in (
        ("ses", session.id, True),
        ("ses", session.parent, False),
        ("sea", session.search, False),
        ("cap", session.capsule, False),
    ):
        if (wanted or text) and not ids.is_id(kind, text):
            raise MeshError("bundle.invalid", f"the session record has no {kind} id in its canonical form")
    if session.login is not msgspec.UNSET:
        if not session.capsule:
            raise MeshError("bundle.invalid", "the session record has a login without its capsule")
        try:
            check_policy(session.login.policy)
        except MeshError as error:
            raise MeshError("bundle.invalid", f"the login of the session record: {error.message}") from error
    # Otherwise a trusted peer could sign a session as if another node had recorded it.
    if session.node != header.issuer:
        raise MeshError("envelope.issuer", f"recorded by {session.node[:7]}, signed by {header.issuer[:7]}")
    if session.verdict in (Verdict.OPEN, Verdict.INTERRUPTED):
        raise MeshError("bundle.invalid", "the session was never committed")
    indices = [index for item in manifest.elements if (index := step_index(item.path))]
    if indices != list(range(1, session.steps + 1)) or len(indices) > limits.SESSION_STEPS_MAX:
        raise MeshError("bundle.invalid", f"{len(indices)} step elements for {session.steps} steps")


def _plausible(step: Step) -> bool:
    # Conditions that the types do not express but the following code relies on: lengths of digests, and an error exactly on a
    # failed step.
    return (
        len(step.state) == 16
        and len(step.snapshot) in (0, 32)
        and len(step.screenshot) in (0, 32)
        and 1 <= step.risk <= 7
        and step.ok == (not step.error)
    )


def _content(file: BinaryIO, entry: flat_zip.ZipEntry) -> bytes:
    data = flat_zip.read_content(file, entry)
    if data is None:
        raise _fault(entry.name)
    return data


def _fault(path: str, reason: str = "it does not match the signed manifest") -> MeshError:
    index = step_index(path)
    return MeshError("bundle.element", f"{path}: {reason}", element=path, **({"index": index} if index else {}))
