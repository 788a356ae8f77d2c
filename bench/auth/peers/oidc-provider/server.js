// A token server on node-oidc-provider: client_credentials with ES256 access tokens (JWT, RFC 9068).
//
//   node server.js CERTIFICATES PORT
import { createPrivateKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { Provider } from 'oidc-provider';

const [certificates, port] = process.argv.slice(2);
const read = (name) => readFileSync(join(certificates, name));
const key = createPrivateKey(read('sign.key')).export({ format: 'jwk' });

const provider = new Provider(`https://localhost:${port}`, {
  clients: [{
    client_id: 'bench',
    client_secret: 'bench-secret-0123456789-0123456789',
    token_endpoint_auth_method: 'client_secret_basic',
    grant_types: ['client_credentials'],
    response_types: [],
    redirect_uris: [],
    // The default is RS256, for which there is no key.
    id_token_signed_response_alg: 'ES256',
  }],
  jwks: { keys: [{ ...key, alg: 'ES256', use: 'sig', kid: 'bench-es256' }] },
  enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
  scopes: ['api:read'],
  ttl: { ClientCredentials: 900 },
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    // A token becomes a JWT by the resource that it is for.
    resourceIndicators: {
      enabled: true,
      defaultResource: () => 'urn:bench:api',
      getResourceServerInfo: () => ({
        scope: 'api:read',
        audience: 'urn:bench:api',
        accessTokenTTL: 900,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: 'ES256' } },
      }),
    },
  },
});
provider.on('server_error', (_context, error) => console.error(error));

const tls = { key: read('tls.key'), cert: read('tls.crt'), minVersion: 'TLSv1.3' };
const server = createServer(tls, provider.callback());
// Connections are kept for as long as a run may leave them alone.
server.keepAliveTimeout = 60_000;
server.listen(Number(port), '127.0.0.1');
