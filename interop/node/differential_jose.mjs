// Verdicts of jose (panva) on the tokens of differential.py.
import { readFileSync } from 'node:fs'
import * as jose from 'jose'

const work = JSON.parse(readFileSync(0, 'utf8'))
const key = await jose.importJWK(work.key, work.alg)
const options = {
  algorithms: [work.alg],
  issuer: work.iss,
  audience: work.aud,
  typ: work.typ,
  requiredClaims: ['exp'],
  currentDate: new Date(work.now * 1000),
}
const verdicts = []
for (const { token } of work.cases) {
  try {
    await jose.jwtVerify(token, key, options)
    verdicts.push({ accepted: true, why: '' })
  } catch (error) {
    verdicts.push({ accepted: false, why: error.code ?? error.name })
  }
}
const { version } = JSON.parse(readFileSync(new URL('node_modules/jose/package.json', import.meta.url)))
console.log(JSON.stringify({ version, verdicts }))
