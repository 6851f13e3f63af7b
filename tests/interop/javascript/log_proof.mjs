// Proofs as files: of inclusion in a log, of equivocation by its node (docs/protocol/witness-log.md).

import { as, demand, MeshError } from './errors.mjs'
import { hashIn, nodeId } from './ids.mjs'
import { readKeyLog } from './keylog.mjs'
import { grew, includes, leafHash } from './merkle.mjs'
import { base64, isCosignedBy, openCheckpoint } from './note.mjs'

const PROOF_BYTES_MAX = 262_144
const SIGNER = { required: ['node', 'public_key'], optional: ['key_log'] }
const SHAPES = {
  'trailmesh-log-inclusion-v1': {
    required: ['format', 'signer', 'digest', 'index', 'hashes', 'checkpoint'],
    optional: ['cosigners'],
  },
  'trailmesh-log-equivocation-v1': {
    required: ['format', 'signer', 'first', 'second'],
    optional: ['first_root', 'hashes'],
  },
}

const check = (ok, why) => demand(ok, 'log.invalid', why)

export const artefactLeaf = (digest) => leafHash(Buffer.concat([Buffer.from('trailmesh-artefact-v1\0'), digest]))

function shaped(value, { required, optional }) {
  check(value !== null && typeof value === 'object' && !Array.isArray(value), 'not an object')
  check(
    required.every((name) => name in value),
    'a field is missing',
  )
  check(
    Object.keys(value).every((name) => required.includes(name) || optional.includes(name)),
    'an unknown field',
  )
  return value
}

/** A signer whose keys are shown to be its own: `key`, which it names, and `keys`, all it may have signed with. */
function keyOf(signer) {
  const { node, public_key: digits, key_log: log } = shaped(signer, SIGNER)
  const key = base64(digits)
  check(key.length === 32, 'no key')
  const told = log ? as('log.invalid', () => readKeyLog(base64(log))) : null
  const keys = told ? told.keys : [key]
  check((told ? told.node : nodeId(key)) === node, 'key and id do not fit')
  check(
    keys.some((one) => one.equals(key)),
    'key log and key do not fit',
  )
  return { node, key, keys }
}

const hash = (digits) => {
  const bytes = base64(digits)
  check(bytes.length === 32, 'not a hash')
  return bytes
}

/** What a proof file (text) shows: `{shows, node, digest?, cosigners?}`. */
export function verifyProof(file) {
  check(Buffer.byteLength(file) <= PROOF_BYTES_MAX, 'too large')
  const proof = parseJson(file)
  check(Object.hasOwn(SHAPES, proof?.format), 'an unknown format')
  shaped(proof, SHAPES[proof.format])
  const signer = keyOf(proof.signer)
  return proof.format === 'trailmesh-log-inclusion-v1' ? inclusion(proof, signer) : equivocation(proof, signer)
}

function parseJson(file) {
  try {
    return JSON.parse(file)
  } catch {
    throw new MeshError('log.invalid', 'not JSON')
  }
}

function inclusion(proof, { node, keys }) {
  const checkpoint = openCheckpoint(proof.checkpoint, node, keys)
  const path = proof.hashes.map(hash)
  const digest = hash(proof.digest)
  check(Number.isSafeInteger(proof.index) && proof.index >= 0, 'no index')
  check(
    includes(checkpoint.root, checkpoint.size, proof.index, artefactLeaf(digest), path),
    'the hashes do not lead to the root',
  )
  const cosigners = (proof.cosigners ?? []).map(keyOf)
  for (const one of cosigners) check(isCosignedBy(checkpoint, one.node, one.key), 'a named cosigner did not sign')
  return { shows: 'inclusion', node, digest, checkpoint, cosigners: cosigners.map((one) => one.node) }
}

function equivocation(proof, { node, keys }) {
  const [first, second] = [proof.first, proof.second].map((note) => openCheckpoint(note, node, keys))
  check(first.log === second.log && first.size <= second.size, 'two logs, or the wrong order')
  if (first.size === second.size) check(!first.root.equals(second.root), 'one history')
  else {
    const root = hash(proof.first_root)
    check(!root.equals(first.root), 'one history')
    check(grew(first.size, root, second.size, second.root, proof.hashes.map(hash)), 'the hashes do not settle the root')
  }
  return { shows: 'equivocation', node }
}

/** Tag of a node that both of two nodes may know. */
export const acquaintance = (one, other, known) =>
  hashIn('trailmesh-acquaintance-v1', [one, other].sort().join(''), known).subarray(0, 16)
