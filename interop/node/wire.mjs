// The wire every Node partner speaks: a JSON request per line in, a JSON answer per line out (see ../README.md).
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

/** The library looked at the input and said that it is not valid. */
export class Refused extends Error {}

/** Answers until the driver closes the pipe. `asks` maps the name of a request to a function of its fields. */
export async function serve(library, asks, abilities) {
  const { version } = JSON.parse(readFileSync(new URL(`node_modules/${library}/package.json`, import.meta.url)))
  const { node, openssl } = process.versions
  const hello = () => ({ version, engine: `OpenSSL ${openssl} in Node ${node}`, asks: Object.keys(asks), ...abilities })
  for await (const line of createInterface({ input: process.stdin })) {
    const { ask, ...fields } = JSON.parse(line)
    console.log(JSON.stringify(await answer({ ...asks, hello }[ask], fields)))
  }
}

async function answer(ask, fields) {
  try {
    return await ask(fields)
  } catch (error) {
    return error instanceof Refused ? { refused: error.message } : { error: `${error.name}: ${error.message}` }
  }
}
