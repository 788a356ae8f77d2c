// openid-client is the OAuth client; oauth4webapi, which it stands on, is the resource server that checks the token.
import { readFileSync } from 'node:fs'
import tls from 'node:tls'
import * as oauth from 'oauth4webapi'
import * as client from 'openid-client'
import { Refused, serve } from './wire.mjs'

let config

async function discover({ issuer, ca, client_id, client_secret, method, document }) {
  tls.setDefaultCACertificates([readFileSync(ca, 'utf8')])
  const auth = { client_secret_basic: client.ClientSecretBasic, client_secret_post: client.ClientSecretPost }[method]
  const algorithm = { 'openid-configuration': 'oidc', 'oauth-authorization-server': 'oauth2' }[document]
  config = await client.discovery(new URL(issuer), client_id, undefined, auth(client_secret), { algorithm })
  return { metadata: config.serverMetadata() }
}

const fetchToken = async () => ({ response: await client.clientCredentialsGrant(config) })

const introspect = async ({ token }) => ({ response: await client.tokenIntrospection(config, token) })

async function revoke({ token }) {
  await client.tokenRevocation(config, token)
  return {}
}

/** RFC 9068 §4, with the key from the server's jwks_uri. */
async function checkAccessToken({ token, audience, level }) {
  const request = new Request('https://resource.example', { headers: { authorization: `Bearer ${token}` } })
  const options = { signingAlgorithms: [level] }
  return { claims: await oauth.validateJwtAccessToken(config.serverMetadata(), request, audience, options) }
}

/** What the server answered with an OAuth error, or the library found invalid, is a refusal. */
const refusing = (ask) => async (fields) => {
  try {
    return await ask(fields)
  } catch (error) {
    const code = error.error ?? error.code
    throw typeof code === 'string' && /^(invalid|unauthorized|OAUTH)_/.test(code) ? new Refused(code) : error
  }
}

await serve('openid-client', {
  discover,
  'fetch-token': refusing(fetchToken),
  introspect: refusing(introspect),
  revoke: refusing(revoke),
  'check-access-token': refusing(checkAccessToken),
})
