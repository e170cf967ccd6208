// suite: quick host
/**
 * The ways in which a TLS handshake can fail. All have the same outcome: nothing was sent, and the
 * channel's certificate or protocol is to blame. The certificates in `tls/` are valid from 2020 to
 * 2120.
 */
import { readFileSync } from 'node:fs';
import { createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { createServer, type TlsOptions } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { UpstreamClient } from '../../src/ports/upstream-client.ts';
import { undiciClient } from '../../src/upstream/undici-client.ts';
import { takeWarnings } from '../support/runner/process-warnings.ts';
import { listening } from '../support/servers.ts';
import { exchange, post } from './send-request.ts';

const authority = pem('authority');
const tls = { stage: 'connect', reason: 'tls', timedOut: false };
const hi = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi';

let client: UpstreamClient;
let received: string[];
let running: Server[];

beforeEach(() => {
  client = undiciClient({ ca: authority });
  received = [];
  running = [];
});

afterEach(async () => {
  await client.close();
  for (const server of running) server.close();
});

describe('an upstream with a certificate', () => {
  it.each([
    ['one text', authority],
    ['a list', [pem('self-signed'), authority]],
  ])('of the trusted authority is called: %s', async (_form, ca) => {
    const origin = await upstream('good');
    const trusting = undiciClient({ ca });

    expect(await exchange(trusting, post(origin))).toMatchObject({ body: 'hi' });
    await trusting.close();
  });

  it.each([
    'expired',
    'elsewhere',
    'self-signed',
  ])('that is invalid receives nothing: %s', async (certificate) => {
    const origin = await upstream(certificate);

    expect(await exchange(client, post(origin))).toEqual(tls);
    expect(received).toEqual([]);
  });

  it('of an unknown authority receives nothing', async () => {
    const origin = await upstream('good');
    const plain = undiciClient();

    expect(await exchange(plain, post(origin))).toEqual(tls);
    expect(received).toEqual([]);
    await plain.close();
  });

  it('is verified even if the environment turns verification off', async () => {
    const origin = await upstream('self-signed');
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');

    const outcome = await exchange(client, post(origin));

    expect(outcome).toEqual(tls);
    // Node warns about the variable.
    await takeWarnings();
  });
});

describe('a handshake', () => {
  it('with a version older than 1.2 fails', async () => {
    const origin = await upstream('good', {
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT@SECLEVEL=0',
    });

    expect(await exchange(client, post(origin))).toEqual(tls);
  });

  it.each([
    ['an end', (socket: Socket) => void socket.end()],
    ['a reset', (socket: Socket) => void socket.resetAndDestroy()],
    ['rubbish', (socket: Socket) => void socket.end('SSH-2.0-OpenSSH_9.6\r\n')],
  ])('that gets %s fails', async (_what, last) => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => {
        // The client resets a connection that is not TLS.
      });
      socket.once('data', () => last(socket));
    });
    running.push(server);
    const origin = (await listening(server)).replace('http:', 'https:');

    expect(await exchange(client, post(origin))).toEqual(tls);
  });

  it('that failed for one call does not affect others', async () => {
    const bad = await upstream('expired');
    const good = await upstream('good');

    const outcomes = await Promise.all([bad, bad, good].map((at) => exchange(client, post(at))));

    expect(outcomes).toEqual([tls, tls, expect.objectContaining({ body: 'hi' })]);
  });
});

it.each<[string, unknown]>([
  ['an empty text', ''],
  ['a path', '/etc/ssl/ca.pem'],
  ['an unreadable certificate', authority.replace('MII', '!!!')],
  ['an empty list', []],
  ['an invalid item', [authority, 5]],
])('certificates are checked at start-up: %s', (_why, ca) => {
  const options = JSON.parse(JSON.stringify({ ca }));

  expect(() => undiciClient(options)).toThrow(
    /^undiciClient: options\.ca(?:\[1\])? must be certificates in PEM/,
  );
});

/** Starts a TLS server with one of the certificates, and returns its address. */
async function upstream(certificate: string, options: TlsOptions = {}): Promise<string> {
  const server = createServer(
    { key: pem('server-key'), cert: pem(certificate), ...options },
    (socket) => {
      socket.on('error', () => {
        // Half of the handshakes fail on the client's side.
      });
      socket.on('data', (chunk) => {
        received.push(chunk.toString());
        socket.end(hi);
      });
    },
  );
  server.on('tlsClientError', () => {});
  running.push(server);
  return (await listening(server)).replace('http:', 'https:');
}

function pem(name: string): string {
  return readFileSync(new URL(`tls/${name}.pem`, import.meta.url), 'utf8');
}
