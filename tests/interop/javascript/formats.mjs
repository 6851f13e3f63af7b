// Versions of formats (docs/protocol/versioning.md): told before anything else of a record is read.

import { demand } from './errors.mjs'

const VERSIONS = {
  protocol: 2, approval: 2, assignment: 2, bundle: 2, capsule: 2, delta: 2, 'log-opening': 2, 'replay-report': 2, result: 2, search: 2,
}

export const versionOf = (name) => VERSIONS[name] ?? 1

/** Refuse a version that is not known here. All older ones are read. */
export function checkVersion(name, version) {
  demand(version <= versionOf(name), 'format.newer', `${name} of version ${version}`)
}

/** How a content type names a kind and its version. */
export const mark = (kind) => (versionOf(kind) === 1 ? kind : `${kind}.${versionOf(kind)}`)

/** Kind and version in a content type; what is no mark is a kind by itself. */
export function readMark(text) {
  const [, kind, version] = /^([a-z-]+)\.([1-9][0-9]{0,5})$/.exec(text) ?? []
  return version === undefined || version === '1' ? [text, 1] : [kind, Number(version)]
}

/** Refuse a newer version of a map that says it in `version`, before its other fields are looked at. */
export function checkField(name, value) {
  const version = value instanceof Map ? value.get('version') : undefined
  if (Number.isInteger(version)) checkVersion(name, version)
}
