// Grants (docs/protocol/pairing.md): scopes, and the origins they are for.

import { isIP } from 'node:net'
import { list, text } from './records.mjs'

const SCOPES = [
  'attest:consume',
  'branch:accept',
  'branch:assign',
  'capsule:import',
  'capsule:offer',
  'deltas:read',
  'deltas:write',
  'peers:read',
  'session:read',
]
const USUAL_PORT = { http: 80, https: 443 }
const PATTERN = /^(https?):\/\/(\*\.)?(\[[0-9a-f:.]+\]|[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::([1-9][0-9]{0,4}))?$/

/** A map from known scopes to 1 to 16 patterns, sorted, none within another. */
export function isGrants(value) {
  return value instanceof Map && [...value].every(([scope, origins]) => SCOPES.includes(scope) && areOrigins(origins))
}
isGrants.entries = true // a map of people's words, not a record with fields

function areOrigins(value) {
  if (!list(text(300), 16)(value) || value.length === 0) return false
  const alone = (pattern) => value.every((other) => other === pattern || !includes(other, pattern))
  return value.every((pattern, i) => isPattern(pattern) && (i === 0 || value[i - 1] < pattern) && alone(pattern))
}

function isPattern(value) {
  if (value === '*') return true
  const found = PATTERN.exec(value)
  if (!found) return false
  const [, scheme, wild, name, port] = found
  if (Number(port ?? 1) > 65_535 || Number(port) === USUAL_PORT[scheme] || name.includes('..')) return false
  const host = name.replace(/[[\]]/g, '')
  const numeric = name.startsWith('[') || /(^|\.)(0x[0-9a-f]*|[0-9]+)$/.test(host)
  if (numeric && (wild || !isIP(host))) return false
  return !name.startsWith('[') || new URL(`http://${name}`).hostname === name // in its short form
}

function includes(pattern, origin) {
  if (pattern === '*') return true
  const [scheme, domain] = pattern.split('://*.')
  return domain !== undefined && origin.startsWith(`${scheme}://`) && origin.endsWith(`.${domain}`)
}
