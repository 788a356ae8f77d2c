// jose (panva): JWT, JWS, JWK and PEM over the ML-DSA of Node's own WebCrypto.
import * as jose from 'jose'
import { Refused, serve } from './wire.mjs'

async function makeKey({ level }) {
  const { privateKey, publicKey } = await jose.generateKeyPair(level, { extractable: true })
  const jwk = await jose.exportJWK(privateKey)
  const { priv, ...pub } = jwk
  const kid = await jose.calculateJwkThumbprint(pub)
  return {
    'private jwk': JSON.stringify(jwk),
    'private pem': await jose.exportPKCS8(privateKey),
    jwks: JSON.stringify({ keys: [{ ...pub, kid }] }),
    'public pem': await jose.exportSPKI(publicKey),
  }
}

async function signToken({ level, form, key, payload, typ }) {
  const signer = await load[form](key, level)
  const kid = await jose.calculateJwkThumbprint(await publicJwk(signer))
  const token = typ
    ? new jose.SignJWT(JSON.parse(payload)).setProtectedHeader({ alg: level, kid, typ })
    : new jose.CompactSign(Buffer.from(payload)).setProtectedHeader({ alg: level, kid })
  return { token: await token.sign(signer) }
}

async function checkToken({ token, level, form, key }) {
  const verifier = form === 'jwks' ? jose.createLocalJWKSet(JSON.parse(key)) : await load[form](key, level)
  const { typ } = jose.decodeProtectedHeader(token)
  const options = { algorithms: [level] }
  try {
    if (typ) return { payload: JSON.stringify((await jose.jwtVerify(token, verifier, options)).payload) }
    return { payload: Buffer.from((await jose.compactVerify(token, verifier, options)).payload).toString() }
  } catch (error) {
    throw error instanceof jose.errors.JOSEError ? new Refused(error.code) : error
  }
}

async function loadKey({ level, form, key }) {
  try {
    // Without a second word on the algorithm: what a JWK lacks is not made good.
    const loaded = form === 'private jwk' ? await jose.importJWK(JSON.parse(key)) : await load[form](key, level)
    if (loaded.type !== 'private') throw new TypeError(`a ${loaded.type} key`)
  } catch (error) {
    throw new Refused(`${error.name}: ${error.message}`)
  }
  return {}
}

const extractable = { extractable: true }
const load = {
  'private jwk': (key, level) => jose.importJWK(JSON.parse(key), level, extractable),
  'private pem': (key, level) => jose.importPKCS8(key, level, extractable),
  'public pem': (key, level) => jose.importSPKI(key, level, extractable),
}
load['private pem (both)'] = load['private pem (expanded)'] = load['private pem']

async function publicJwk(key) {
  const { priv, ...pub } = await jose.exportJWK(key)
  return pub
}

const writes = ['private jwk', 'private pem', 'jwks', 'public pem']
// Of an expanded key alone Node exports no JWK, and so no key id.
const reads = [...writes, 'private pem (both)']
const asks = { 'make-key': makeKey, 'sign-token': signToken, 'check-token': checkToken, 'load-key': loadKey }
await serve('jose', asks, { writes, reads, judges: ['jwk', 'pem'] })
