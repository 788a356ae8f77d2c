// openid-client with a person: the code flow and what surrounds it, and devices.
import { importJWK } from 'jose'
import * as client from 'openid-client'

/** The asks, of the configuration that `current` gives. */
export function people(current) {
  let sent, tokens, device, bound

  /** The authorization request: pushed, signed, its code bound, each or none. */
  async function start({ redirect_uri, scope, alg, key, pushed, signed, bound: toKey }) {
    const config = current()
    sent = { verifier: client.randomPKCECodeVerifier(), state: client.randomState(), nonce: client.randomNonce() }
    bound = toKey ? client.getDPoPHandle(config, await client.randomDPoPKeyPair(alg)) : undefined
    const { verifier, ...shown } = sent
    const challenge = await client.calculatePKCECodeChallenge(verifier)
    const parameters = { redirect_uri, scope, ...shown, code_challenge: challenge, code_challenge_method: 'S256' }
    if (bound) parameters.dpop_jkt = await bound.calculateThumbprint()
    if (signed) {
      const jwk = JSON.parse(key)
      const url = await client.buildAuthorizationUrlWithJAR(config, parameters, { key: await importJWK(jwk, alg), kid: jwk.kid })
      return { url: pushed ? await client.buildAuthorizationUrlWithPAR(config, url.searchParams) : url }
    }
    if (pushed) return { url: await client.buildAuthorizationUrlWithPAR(config, parameters, { DPoP: bound }) }
    return { url: client.buildAuthorizationUrl(config, parameters) }
  }

  /** `discover` has made the library verify the signatures of ID tokens. */
  async function redeem({ url }) {
    const { verifier, state, nonce } = sent
    const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true }
    const given = await client.authorizationCodeGrant(current(), new URL(url), checks, undefined, { DPoP: bound })
    return take(given)
  }

  async function userinfo() {
    return { response: await client.fetchUserInfo(current(), tokens.access_token, tokens.claims.sub, { DPoP: bound }) }
  }

  async function refresh() {
    return take(await client.refreshTokenGrant(current(), tokens.refresh_token, undefined, { DPoP: bound }))
  }

  function signOut({ post_logout_redirect_uri }) {
    const state = client.randomState()
    const parameters = { id_token_hint: tokens.id_token, post_logout_redirect_uri, state }
    return { url: client.buildEndSessionUrl(current(), parameters), state }
  }

  async function startDevice({ scope }) {
    bound = undefined
    return { response: (device = await client.initiateDeviceAuthorization(current(), { scope })) }
  }

  const redeemDevice = async () => take(await client.pollDeviceAuthorizationGrant(current(), device))

  /** What is not given anew stays: RFC 6749 §6. */
  function take(given) {
    const claims = given.claims() ?? tokens.claims
    tokens = { ...tokens, ...given, claims }
    return { claims }
  }

  return {
    start, redeem, userinfo, refresh, 'sign-out': signOut, 'start-device': startDevice, 'redeem-device': redeemDevice,
  }
}
