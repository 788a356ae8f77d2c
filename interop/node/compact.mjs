// Compact JWS and AKP keys (RFC 7515 §7.1, RFC 9964 §3) around a library that knows only bytes and signatures.
import { createHash } from 'node:crypto'

export const encode = (bytes) => Buffer.from(bytes).toString('base64url')
export const decode = (text) => new Uint8Array(Buffer.from(text, 'base64url'))

/** RFC 7638 over the members that RFC 9964 §6 names. */
export const thumbprint = (level, pub) =>
  createHash('sha256').update(JSON.stringify({ alg: level, kty: 'AKP', pub: encode(pub) })).digest('base64url')

export const jwks = (level, pub) =>
  JSON.stringify({ keys: [{ kty: 'AKP', kid: thumbprint(level, pub), alg: level, pub: encode(pub) }] })

export const privateJwk = (level, pub, seed) =>
  JSON.stringify({ kty: 'AKP', alg: level, pub: encode(pub), priv: encode(seed) })

/** The seed of a private JWK (RFC 9964 §4), its length not looked at. */
export function seedOf(jwk, level) {
  const { kty, alg, priv } = JSON.parse(jwk)
  if (kty !== 'AKP' || alg !== level) throw new TypeError(`a key of ${kty} ${alg}, not of AKP ${level}`)
  return decode(priv)
}

/** The raw public key that the set holds for `level` under `kid`. */
export function publicIn(set, level, kid) {
  const found = JSON.parse(set).keys.filter((key) => key.kid === kid && key.alg === level)
  if (found.length !== 1) throw new TypeError(`${found.length} keys of ${level} under the kid ${kid}`)
  return decode(found[0].pub)
}

export function signingInput(level, pub, typ, payload) {
  const header = { alg: level, kid: thumbprint(level, pub), ...(typ ? { typ } : {}) }
  return `${encode(JSON.stringify(header))}.${encode(payload)}`
}

/** A token taken apart, nothing of it verified. */
export function split(token) {
  const [header, payload, signature] = token.split('.')
  return {
    header: JSON.parse(Buffer.from(decode(header)).toString()),
    signingInput: Buffer.from(`${header}.${payload}`),
    payload: Buffer.from(decode(payload)).toString(),
    signature: decode(signature),
  }
}
