// Every failure has one stable code (docs/errors.md); the message is for people.

export class MeshError extends Error {
  constructor(code, message = code, detail = {}) {
    super(`${code}: ${message}`)
    this.code = code
    this.detail = detail
  }
}

/** Refuse with `code` unless `ok`. */
export function demand(ok, code, message, detail) {
  if (!ok) throw new MeshError(code, message, detail)
}

/** The value of `work()`; any MeshError in it becomes `code`, but one that says which side is older. */
export function as(code, work) {
  try {
    return work()
  } catch (error) {
    if (error instanceof MeshError && !error.code.startsWith('format.')) throw new MeshError(code, error.message)
    throw error
  }
}
