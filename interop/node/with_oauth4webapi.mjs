// oauth4webapi, which openid-client stands on, by itself: each request and each answer is a call of its own.
import { readFileSync } from 'node:fs'
import tls from 'node:tls'
import { importJWK } from 'jose'
import * as oauth from 'oauth4webapi'
import { Refused, serve } from './wire.mjs'

let as, client, auth, sent, tokens, device, bound

async function discover({ issuer, ca, client_id, client_secret, method, key, alg }) {
  tls.setDefaultCACertificates([readFileSync(ca, 'utf8')])
  const url = new URL(issuer)
  as = await oauth.processDiscoveryResponse(url, await oauth.discoveryRequest(url))
  client = { client_id }
  auth = await METHODS[method](client_secret, { key, alg })
  return { metadata: as }
}

const METHODS = {
  client_secret_basic: oauth.ClientSecretBasic,
  none: () => oauth.None(),
  private_key_jwt: async (_, { key, alg }) => oauth.PrivateKeyJwt(await privateKey(key, alg)),
}

const privateKey = async (key, alg) => ({ key: await importJWK(JSON.parse(key), alg), kid: JSON.parse(key).kid })

async function start({ redirect_uri, scope, alg, key, pushed, signed, bound: toKey }) {
  sent = { verifier: oauth.generateRandomCodeVerifier(), state: oauth.generateRandomState(), nonce: oauth.generateRandomNonce(), redirect_uri }
  bound = toKey ? oauth.DPoP(client, await oauth.generateKeyPair(alg)) : undefined
  let parameters = new URLSearchParams({
    client_id: client.client_id, response_type: 'code', redirect_uri, scope, state: sent.state, nonce: sent.nonce,
    code_challenge: await oauth.calculatePKCECodeChallenge(sent.verifier), code_challenge_method: 'S256',
  })
  if (bound) parameters.set('dpop_jkt', await bound.calculateThumbprint())
  if (signed) {
    const request = await oauth.issueRequestObject(as, client, parameters, await privateKey(key, alg))
    parameters = new URLSearchParams({ client_id: client.client_id, request })
  }
  if (pushed) {
    const ask = () => oauth.pushedAuthorizationRequest(as, client, auth, parameters, { DPoP: bound })
    const { request_uri } = await again(ask, (answer) => oauth.processPushedAuthorizationResponse(as, client, answer))
    parameters = new URLSearchParams({ client_id: client.client_id, request_uri })
  }
  return { url: `${as.authorization_endpoint}?${parameters}` }
}

async function redeem({ url }) {
  const parameters = oauth.validateAuthResponse(as, client, new URL(url), sent.state)
  const ask = () => oauth.authorizationCodeGrantRequest(as, client, auth, parameters, sent.redirect_uri, sent.verifier, { DPoP: bound })
  const checks = { expectedNonce: sent.nonce, requireIdToken: true }
  return again(ask, (answer) => take(answer, () => oauth.processAuthorizationCodeResponse(as, client, answer, checks)))
}

async function userinfo() {
  const ask = () => oauth.userInfoRequest(as, client, tokens.access_token, { DPoP: bound })
  return { response: await again(ask, (answer) => oauth.processUserInfoResponse(as, client, tokens.claims.sub, answer)) }
}

async function refresh() {
  const ask = () => oauth.refreshTokenGrantRequest(as, client, auth, tokens.refresh_token, { DPoP: bound })
  return again(ask, (answer) => take(answer, () => oauth.processRefreshTokenResponse(as, client, answer)))
}

async function startDevice({ scope }) {
  bound = undefined
  const answer = await oauth.deviceAuthorizationRequest(as, client, auth, { scope })
  return { response: (device = await oauth.processDeviceAuthorizationResponse(as, client, answer)) }
}

async function redeemDevice() {
  const answer = await oauth.deviceCodeGrantRequest(as, client, auth, device.device_code)
  return take(answer, () => oauth.processDeviceCodeResponse(as, client, answer))
}

/** The library does not ask again by itself when the server wants a nonce (RFC 9449 §8). */
async function again(ask, process) {
  try {
    return await process(await ask())
  } catch (error) {
    if (!oauth.isDPoPNonceError(error)) throw error
    return process(await ask())
  }
}

/** Verifies the ID token: what it says, and the signature by the server's keys. */
async function take(answer, process) {
  const given = await process()
  const claims = oauth.getValidatedIdTokenClaims(given)
  if (claims) await oauth.validateApplicationLevelSignature(as, answer)
  tokens = { ...tokens, ...given, claims: claims ?? tokens.claims }
  return { claims: tokens.claims }
}

const refusing = (ask) => async (fields) => {
  try {
    return await ask(fields)
  } catch (error) {
    throw typeof error.error === 'string' ? new Refused(error.error) : error
  }
}

await serve('oauth4webapi', {
  discover, start: refusing(start), redeem: refusing(redeem), userinfo: refusing(userinfo), refresh: refusing(refresh),
  'start-device': refusing(startDevice), 'redeem-device': refusing(redeemDevice),
}, {
  ways: ['code', 'code, public client', 'code, private_key_jwt', 'PAR', 'JAR', 'JAR in PAR', 'DPoP', 'DPoP and PAR', 'device'],
  id_tokens: ['ES256', 'ML-DSA-65'],
})
