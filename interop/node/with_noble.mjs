// @noble/post-quantum: FIPS 204 in plain JavaScript. The token around the signature is put together by hand.
import { randomBytes } from 'node:crypto'
import { ml_dsa44, ml_dsa65, ml_dsa87 } from '@noble/post-quantum/ml-dsa.js'
import { decode, encode, jwks, privateJwk, publicIn, seedOf, signingInput, split } from './compact.mjs'
import { Refused, serve } from './wire.mjs'

const ENGINE = { 'ML-DSA-44': ml_dsa44, 'ML-DSA-65': ml_dsa65, 'ML-DSA-87': ml_dsa87 }

function makeKey({ level, seed: given }) {
  const seed = given ? decode(given) : new Uint8Array(randomBytes(32))
  const { publicKey } = ENGINE[level].keygen(seed)
  return { 'private jwk': privateJwk(level, publicKey, seed), jwks: jwks(level, publicKey) }
}

function signToken({ level, key, payload, typ, deterministic }) {
  const { publicKey, secretKey } = load({ level, key })
  const input = signingInput(level, publicKey, typ, payload)
  const options = deterministic ? { extraEntropy: false } : {}
  return { token: `${input}.${encode(ENGINE[level].sign(Buffer.from(input), secretKey, options))}` }
}

function checkToken({ token, level, key }) {
  const { header, signingInput, payload, signature } = split(token)
  if (!ENGINE[level].verify(signature, signingInput, publicIn(key, level, header.kid))) {
    throw new Refused('verify() is false')
  }
  return { payload }
}

const load = ({ level, key }) => ENGINE[level].keygen(seedOf(key, level))

function loadKey(fields) {
  try {
    load(fields)
    return {}
  } catch (error) {
    throw new Refused(`${error.name}: ${error.message}`)
  }
}

const forms = ['private jwk', 'jwks']
const asks = { 'make-key': makeKey, 'sign-token': signToken, 'check-token': checkToken, 'load-key': loadKey }
await serve('@noble/post-quantum', asks, {
  engine: 'its own', writes: forms, reads: forms, judges: ['seed'], deterministic: true,
})
