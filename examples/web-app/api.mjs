// An API that serves notes to whom the token server has given a token for it.
import { createServer } from 'node:http'
import { createRemoteJWKSet, jwtVerify } from 'jose'

const [ISSUER, HERE] = ['http://localhost:8443', 'http://127.0.0.1:3401']
const keys = createRemoteJWKSet(new URL(`${ISSUER}/jwks`))
const expected = { issuer: ISSUER, audience: HERE, typ: 'at+jwt', algorithms: ['ML-DSA-65', 'ES256'] }

createServer(async (request, response) => {
  try {
    const [, token] = /^Bearer (.+)$/.exec(request.headers.authorization ?? '') ?? []
    const { payload } = await jwtVerify(token, keys, expected)
    if (!payload.scope?.split(' ').includes('notes:read')) return response.writeHead(403).end()
    const notes = ['buy milk', 'water the plants'] // in a real one, those of payload.sub
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(notes))
  } catch {
    response.writeHead(401, { 'WWW-Authenticate': 'Bearer' }).end()
  }
}).listen(3401, '127.0.0.1', () => console.log(`listening on ${HERE}`))
