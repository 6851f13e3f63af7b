// Merkle trees of RFC 6962: roots, and checks of inclusion and consistency (RFC 9162, 2.1.3.2 and 2.1.4.2).

import { sha256 } from './ids.mjs'

export const leafHash = (data) => sha256([0], data)
const pair = (left, right) => sha256([1], left, right)
const splitOf = (count) => 2 ** Math.ceil(Math.log2(count) - 1)

/** The root over leaf hashes. */
export function rootOf(hashes) {
  if (hashes.length === 0) return sha256()
  if (hashes.length === 1) return hashes[0]
  const k = splitOf(hashes.length)
  return pair(rootOf(hashes.slice(0, k)), rootOf(hashes.slice(k)))
}

/** The hashes from leaf `index` to the root. */
export function inclusionPath(hashes, index) {
  if (hashes.length === 1) return []
  const k = splitOf(hashes.length)
  const [near, far, at] =
    index < k ? [hashes.slice(0, k), hashes.slice(k), index] : [hashes.slice(k), hashes.slice(0, k), index - k]
  return [...inclusionPath(near, at), rootOf(far)]
}

/** The hashes that show how the tree of the first `size` leaves became this one. */
export function consistencyPath(hashes, size, whole = true) {
  if (size === hashes.length) return whole ? [] : [rootOf(hashes)]
  const k = splitOf(hashes.length)
  if (size <= k) return [...consistencyPath(hashes.slice(0, k), size, whole), rootOf(hashes.slice(k))]
  return [...consistencyPath(hashes.slice(k), size - k, false), rootOf(hashes.slice(0, k))]
}

/** Whether `path` leads from leaf hash `leaf` at `index` to the root of a tree of `size` leaves. */
export function includes(root, size, index, leaf, path) {
  if (index >= size) return false
  let [fn, sn, hash] = [index, size - 1, leaf]
  for (const sibling of path) {
    if (sn === 0) return false
    if (fn % 2 === 1 || fn === sn) {
      hash = pair(sibling, hash)
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [half(fn), half(sn)]
    } else hash = pair(hash, sibling)
    ;[fn, sn] = [half(fn), half(sn)]
  }
  return sn === 0 && hash.equals(root)
}

const half = (n) => Math.floor(n / 2)

/** Whether `path` shows that the tree of `oldSize` leaves and `oldRoot` became the one of `newSize` and `newRoot`. */
export function grew(oldSize, oldRoot, newSize, newRoot, path) {
  if (oldSize < 1 || oldSize > newSize) return false
  if (oldSize === newSize) return path.length === 0 && oldRoot.equals(newRoot)
  const complete = Number.isInteger(Math.log2(oldSize))
  const [first, ...rest] = complete ? [oldRoot, ...path] : path
  if (!first || (complete && path.length === 0)) return false
  let [fn, sn, fr, sr] = [oldSize - 1, newSize - 1, first, first]
  while (fn % 2 === 1) [fn, sn] = [half(fn), half(sn)]
  for (const sibling of rest) {
    if (sn === 0) return false
    if (fn % 2 === 1 || fn === sn) {
      ;[fr, sr] = [pair(sibling, fr), pair(sibling, sr)]
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [half(fn), half(sn)]
    } else sr = pair(sr, sibling)
    ;[fn, sn] = [half(fn), half(sn)]
  }
  return sn === 0 && fr.equals(oldRoot) && sr.equals(newRoot)
}
