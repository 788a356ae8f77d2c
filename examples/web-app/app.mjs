// A web application that says hello to people who have signed in, and reads their notes from an API.
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import * as client from 'openid-client'

const [ISSUER, HERE, API] = ['http://localhost:8443', 'http://127.0.0.1:3400', 'http://127.0.0.1:3401']
const secret = client.ClientSecretBasic(readFileSync('web-app.secret', 'utf8').trim())

// The first verifies the signature of ID tokens; the second goes when ISSUER begins with https.
const execute = [client.enableNonRepudiationChecks, client.allowInsecureRequests]
const server = await client.discovery(new URL(ISSUER), 'web-app', undefined, secret, { execute })
const sessions = new Map() // a database, where people are many

const pages = {
  'GET /': async ({ tokens, name }) => {
    if (!tokens) return page('<p>Nothing to see before you <a href="/sign-in">sign in</a>.</p>')
    const answer = await client.fetchProtectedResource(server, tokens.access_token, new URL(API), 'GET')
    const notes = (await answer.json()).map((note) => `<li>${escape(note)}</li>`).join('')
    const { alg } = JSON.parse(atob(tokens.id_token.split('.')[0]))
    return page(`<p>hello ${escape(name)}</p><p>You signed in with an ID token that ${alg} has signed.</p>
      <ul>${notes}</ul><form method="post" action="/sign-out"><button>Sign out</button></form>`)
  },

  'GET /sign-in': async () => {
    const verifier = client.randomPKCECodeVerifier()
    const [state, nonce] = [client.randomState(), client.randomNonce()]
    const to = client.buildAuthorizationUrl(server, {
      redirect_uri: `${HERE}/callback`, scope: 'openid profile notes:read', state, nonce,
      code_challenge: await client.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256',
    })
    return { to, session: { verifier, state, nonce } }
  },

  'GET /callback': async ({ verifier, state, nonce }, url) => {
    const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true }
    const tokens = await client.authorizationCodeGrant(server, url, checks)
    const { name } = await client.fetchUserInfo(server, tokens.access_token, tokens.claims().sub)
    return { to: '/', session: { tokens, name } }
  },

  'POST /sign-out': async ({ tokens }) => {
    if (!tokens) return { to: '/' }
    const parameters = { id_token_hint: tokens.id_token, post_logout_redirect_uri: `${HERE}/` }
    return { to: client.buildEndSessionUrl(server, parameters), session: {} }
  },
}

const page = (body) => ({ body: `<!doctype html><title>Notes</title><h1>Notes</h1>${body}` })
const escape = (text) => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt()};`)

createServer(async (request, response) => {
  const [, id] = /\bapp=([\w-]+)/.exec(request.headers.cookie) ?? []
  const url = new URL(request.url, HERE)
  try {
    const { body, to, session } = (await pages[`${request.method} ${url.pathname}`]?.(sessions.get(id) ?? {}, url)) ?? {}
    if (session) { // another name for it each time, so that nobody can give theirs to somebody else
      const fresh = randomUUID()
      sessions.delete(id)
      sessions.set(fresh, session)
      response.setHeader('Set-Cookie', `app=${fresh}; HttpOnly; SameSite=Lax; Path=/`)
    }
    if (to) return response.writeHead(303, { Location: to }).end()
    response.writeHead(body ? 200 : 404, { 'Content-Type': 'text/html; charset=utf-8' }).end(body)
  } catch (error) {
    console.error(error)
    response.writeHead(403).end('You are not signed in.')
  }
}).listen(3400, '127.0.0.1', () => console.log(`open ${HERE}`))
