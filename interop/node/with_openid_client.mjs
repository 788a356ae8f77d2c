// openid-client is the OAuth client; oauth4webapi, which it stands on, is the resource server that checks the token.
import { readFileSync } from 'node:fs'
import https from 'node:https'
import tls from 'node:tls'
import { importJWK } from 'jose'
import * as oauth from 'oauth4webapi'
import * as client from 'openid-client'
import { people } from './people_by_openid_client.mjs'
import { Refused, serve } from './wire.mjs'

let config

async function discover({ issuer, ca, client_id, client_secret, method, document, ...proof }) {
  tls.setDefaultCACertificates([readFileSync(ca, 'utf8')])
  const algorithm = { 'openid-configuration': 'oidc', 'oauth-authorization-server': 'oauth2' }[document]
  const execute = [client.enableNonRepudiationChecks] // the signatures of ID tokens, over TLS too
  const options = { algorithm, execute, ...(proof.certificate && { [client.customFetch]: withCertificate(ca, proof) }) }
  const auth = await METHODS[method](client_secret, proof)
  config = await client.discovery(new URL(issuer), client_id, undefined, auth, options)
  return { metadata: config.serverMetadata() }
}

const METHODS = {
  client_secret_basic: client.ClientSecretBasic,
  client_secret_post: client.ClientSecretPost,
  client_secret_jwt: (secret) => client.ClientSecretJwt(secret),
  private_key_jwt: async (_, { key, alg }) => {
    const { kid } = JSON.parse(key)
    return client.PrivateKeyJwt({ key: await importJWK(JSON.parse(key), alg), kid })
  },
  none: () => client.None(),
  tls_client_auth: () => client.TlsClientAuth(),
  self_signed_tls_client_auth: () => client.TlsClientAuth(),
}

/** The library leaves the handshake to the caller: its fetch, over Node's TLS. */
const withCertificate = (ca, { certificate, certificate_key }) => {
  const [trusted, cert, key] = [ca, certificate, certificate_key].map((path) => readFileSync(path, 'utf8'))
  const agent = new https.Agent({ ca: trusted, cert, key, keepAlive: true })
  return (url, { method, headers, body }) =>
    new Promise((resolve, reject) => {
      const request = https.request(url, { agent, method, headers: Object.fromEntries(new Headers(headers)) }, (answer) => {
        const chunks = []
        answer.on('error', reject).on('data', (chunk) => chunks.push(chunk))
        answer.on('end', () => {
          const content = chunks.length ? Buffer.concat(chunks) : null
          resolve(new Response(content, { status: answer.statusCode, headers: answer.headers }))
        })
      })
      request.on('error', reject).end(body?.toString())
    })
}

const fetchToken = async () => ({ response: await client.clientCredentialsGrant(config) })

/** Any grant: RFC 8693, RFC 7523. */
const fetchByGrant = async ({ grant, parameters }) => ({
  response: await client.genericGrantRequest(config, grant, parameters),
})

let bound

/** RFC 9449 §5; the library asks again when the server wants a nonce. */
async function fetchBoundToken({ alg }) {
  bound = client.getDPoPHandle(config, await client.randomDPoPKeyPair(alg))
  const response = await client.clientCredentialsGrant(config, undefined, { DPoP: bound })
  return { response, jkt: await bound.calculateThumbprint() }
}

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

/** RFC 9449 §7: the client makes a request with the token and a proof, the resource server checks both. */
async function checkBoundToken({ token, audience, level, alg }) {
  const outside = config[client.customFetch]
  let request
  config[client.customFetch] = async (url, options) => {
    request = new Request(url, options)
    return new Response()
  }
  try {
    const url = new URL('https://resource.example/orders?id=1')
    await client.fetchProtectedResource(config, token, url, 'GET', undefined, undefined, { DPoP: bound })
  } finally {
    config[client.customFetch] = outside
  }
  const options = { signingAlgorithms: [level, alg] } // of the token, and of the proof
  return { claims: await oauth.validateJwtAccessToken(config.serverMetadata(), request, audience, options) }
}

/** The OAuth error of an answer whose WWW-Authenticate header the library looks at first. */
const challenged = async (error) => {
  if (error.code !== 'OAUTH_WWW_AUTHENTICATE_CHALLENGE') return undefined
  const response = error.response ?? error.cause?.response
  return (await response?.json())?.error
}

/** What the server answered with an OAuth error, or the library found invalid, is a refusal. */
const refusing = (ask) => async (fields) => {
  try {
    return await ask(fields)
  } catch (error) {
    const code = error.error ?? (await challenged(error)) ?? error.code
    throw typeof code === 'string' && /^(invalid|unauthorized|OAUTH)_/.test(code) ? new Refused(code) : error
  }
}

const refusingAll = (asks) => Object.fromEntries(Object.entries(asks).map(([name, ask]) => [name, refusing(ask)]))

await serve('openid-client', {
  ...refusingAll(people(() => config)),
  discover,
  'fetch-token': refusing(fetchToken),
  'fetch-by-grant': refusing(fetchByGrant),
  'fetch-bound-token': refusing(fetchBoundToken),
  introspect: refusing(introspect),
  revoke: refusing(revoke),
  'check-access-token': refusing(checkAccessToken),
  'check-bound-token': refusing(checkBoundToken),
}, {
  methods: ['client_secret_jwt', 'private_key_jwt', 'tls_client_auth', 'self_signed_tls_client_auth'],
  ways: ['code', 'code, public client', 'code, private_key_jwt', 'PAR', 'JAR', 'JAR in PAR', 'DPoP', 'DPoP and PAR', 'device'],
  id_tokens: ['ES256', 'ML-DSA-65'],
  signs: ['ES256', 'ML-DSA-44', 'ML-DSA-65', 'ML-DSA-87'],
})
