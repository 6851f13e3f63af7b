// Checkpoints as signed notes, and cosignatures on them (docs/protocol/witness-log.md, C2SP).

import { demand } from './errors.mjs'
import { isNodeId, sha256 } from './ids.mjs'
import { sign, verify } from './keys.mjs'

const NOTE_BYTES_MAX = 8192
const SIGNATURES_MAX = 32
const ED25519 = 1
const COSIGNATURE = 4
const DASH = '\u2014'

const keyHash = (name, algorithm, key) => sha256(`${name}\n`, [algorithm], key).subarray(0, 4)
const line = (name, hash, signature) => `${DASH} ${name} ${Buffer.concat([hash, signature]).toString('base64')}\n`
const cosignedText = (text, seconds) => Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`)
export const logName = (node, number) => `trailmesh/${node}/${number}`
const cosignerName = (node) => `trailmesh/${node}`

/** A checkpoint of log `name`, signed by its node's key, as text. */
export function signCheckpoint(key, name, size, root) {
  const text = `${name}\n${size}\n${root.toString('base64')}\n`
  return `${text}\n${line(name, keyHash(name, ED25519, key.public), sign(key, Buffer.from(text)))}`
}

/** `note` with this node's cosignature at `seconds` added. */
export function cosign(note, key, node, seconds) {
  const time = Buffer.alloc(8)
  time.writeBigUInt64BE(BigInt(seconds))
  const signature = sign(key, cosignedText(parseNote(note).text, seconds))
  const name = cosignerName(node)
  return note + line(name, keyHash(name, COSIGNATURE, key.public), Buffer.concat([time, signature]))
}

const check = (ok, why) => demand(ok, 'log.invalid', why)

/** The parts of a note whose form is right: text, log (name), node, number, size, root, lines. */
function parseNote(note) {
  check(Buffer.byteLength(note) <= NOTE_BYTES_MAX && note.endsWith('\n'), 'size or end')
  check(!/[\u0000-\u0009\u000b-\u001f\u007f]/.test(note), 'control characters')
  const split = note.lastIndexOf('\n\n')
  check(split > 0, 'no signatures')
  const text = note.slice(0, split + 1)
  const rows = note.slice(split + 2, -1).split('\n')
  check(rows.length >= 1 && rows.length <= SIGNATURES_MAX, 'too many signatures')
  const found = /^(trailmesh\/([A-Z2-7-]+)\/(0|[1-9][0-9]{0,9}))\n([1-9][0-9]{0,15})\n([A-Za-z0-9+/]{43}=)\n$/.exec(
    text,
  )
  check(found, 'not three lines of a checkpoint')
  const [, log, node, number, size, root] = found
  check(isNodeId(node) && Number(number) < 2 ** 31 && Number(size) <= 2 ** 53, 'name or size')
  return { text, log, node, number: Number(number), size: Number(size), root: base64(root), lines: rows.map(readLine) }
}

function readLine(row) {
  const found = /^\u2014 ([^ +]+) ([A-Za-z0-9+/]+={0,2})$/.exec(row)
  check(found, 'no signature line')
  const bytes = base64(found[2])
  check(bytes.length >= 5, 'no signature in the line')
  return { name: found[1], hash: bytes.subarray(0, 4), signature: bytes.subarray(4) }
}

/** Bytes of `digits`, which must be the one form of base64 for them. */
export function base64(digits) {
  const bytes = Buffer.from(digits, 'base64')
  check(typeof digits === 'string' && bytes.toString('base64') === digits, 'another form of base64')
  return bytes
}

const linesOf = ({ lines }, name, hash) => lines.filter((one) => one.name === name && one.hash.equals(hash))

/** A checkpoint of `node`'s log that one of `keys` signed. */
export function openCheckpoint(note, node, keys) {
  const found = parseNote(note)
  check(found.node === node, "of another node's log")
  const signed = keys.some((key) => {
    const ours = linesOf(found, found.log, keyHash(found.log, ED25519, key))
    check(
      ours.every((one) => verify(key, Buffer.from(found.text), one.signature)),
      'a signature does not verify',
    )
    return ours.length > 0
  })
  check(signed, 'not signed by its node')
  return found
}

/** Whether `node` cosigned, with `key`; a cosignature that does not verify spoils the note. */
export function isCosignedBy(found, node, key) {
  const ours = linesOf(found, cosignerName(node), keyHash(cosignerName(node), COSIGNATURE, key))
  for (const { signature } of ours) {
    check(signature.length === 72, 'a cosignature of the wrong size')
    const text = cosignedText(found.text, signature.readBigUInt64BE(0))
    check(verify(key, text, signature.subarray(8)), 'a cosignature does not verify')
  }
  return ours.length > 0
}
