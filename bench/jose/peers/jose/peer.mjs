// panva/jose as a rival, over Node's WebCrypto. The lines are those of bench/README.md, "Measuring tokens".
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import * as jose from 'jose'

const AUDIENCE = 'https://orders.example'
const TOKENS = 32
const claims = JSON.parse(process.env.PEER_CLAIMS)

async function prepare(level) {
  const alg = `ML-DSA-${level}`
  const { privateKey, publicKey } = await jose.generateKeyPair(alg)
  const sign = () => new jose.SignJWT(claims).setProtectedHeader({ alg, typ: 'JWT' }).sign(privateKey)
  const options = { algorithms: [alg], issuer: claims.iss, audience: AUDIENCE, typ: 'JWT' }
  const verify = (token) => jose.jwtVerify(token, publicKey, options)
  const tokens = []
  for (let i = 0; i < TOKENS; i++) tokens.push(await sign())
  await verify(tokens[0])
  const place = tokens[0].length - 1000
  const letter = tokens[0][place] === 'A' ? 'B' : 'A'
  const altered = tokens[0].slice(0, place) + letter + tokens[0].slice(place + 1)
  if (await verify(altered).then(() => true, () => false)) throw new Error('an altered token was taken')
  return { sign, verify, tokens, jwk: JSON.stringify(await jose.exportJWK(publicKey)) }
}

// Nanoseconds that all threads of this process computed: Node signs in threads of its own.
async function timed(work) {
  const start = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(start)
  return String((user + system) * 1000)
}

async function answer({ sign, verify, tokens, jwk }, operation, runs) {
  switch (operation) {
    case 'check':
      return `${jwk} ${tokens[0]}`
    case 'sign-token':
      return timed(async () => {
        for (let run = 0; run < runs; run++) await sign()
      })
    case 'verify-token':
      return timed(async () => {
        for (let run = 0; run < runs; run++) await verify(tokens[run % TOKENS])
      })
    default:
      return 'none'
  }
}

const levels = { 44: await prepare(44), 65: await prepare(65), 87: await prepare(87) }
const { version } = JSON.parse(readFileSync(new URL('node_modules/jose/package.json', import.meta.url)))
console.log(`jose ${version}, OpenSSL ${process.versions.openssl} in Node ${process.versions.node}`)
for await (const line of createInterface({ input: process.stdin })) {
  const [operation, level, runs] = line.split(' ')
  console.log(level in levels ? await answer(levels[level], operation, Number(runs ?? 1)) : 'none')
}
