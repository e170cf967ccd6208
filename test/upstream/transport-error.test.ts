// suite: quick host
/** Error codes that no test can provoke, and the reasons that hosts read. */
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { dialError, handshakeError, transportError } from '../../src/upstream/transport-error.ts';
import { undiciClient } from '../../src/upstream/undici-client.ts';
import { listening } from '../support/servers.ts';
import { exchange, failure, post } from './send-request.ts';

/** An error as Node creates it. */
function errorWithCode(code: string): Error {
  return Object.assign(new Error(`connect ${code} 10.0.0.1:443`), { code });
}

const connect = (reason: string, timedOut = false) => ({ stage: 'connect', reason, timedOut });

describe('a connection that could not be made', () => {
  it.each([
    ['dns', ['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'EAI_NODATA', 'ENODATA', 'ESERVFAIL']],
    ['connect_refused', ['ECONNREFUSED']],
    ['unreachable', ['EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'ENETDOWN']],
    ['too_many_files', ['EMFILE', 'ENFILE']],
    ['out_of_ports', ['EADDRNOTAVAIL']],
  ])('is %s, with TLS and without', (reason, codes) => {
    for (const code of codes) {
      expect(failure(dialError(errorWithCode(code)))).toEqual(connect(reason));
      expect(failure(handshakeError(errorWithCode(code)))).toEqual(connect(reason));
    }
  });

  it('is a timeout if the server did not respond', () => {
    for (const code of ['ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT', 'ERR_SOCKET_CONNECTION_TIMEOUT']) {
      expect(failure(dialError(errorWithCode(code)))).toEqual(connect('connect_timeout', true));
      expect(failure(handshakeError(errorWithCode(code)))).toEqual(
        connect('connect_timeout', true),
      );
    }
  });

  it.each([
    'CERT_HAS_EXPIRED',
    'CERT_NOT_YET_VALID',
    'CERT_REVOKED',
    'CRL_HAS_EXPIRED',
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'HOSTNAME_MISMATCH',
    'INVALID_CA',
    'PATH_LENGTH_EXCEEDED',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'ERR_SSL_WRONG_VERSION_NUMBER',
    'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
    'ERR_OSSL_EVP_UNSUPPORTED',
    'EPROTO',
    'ECONNRESET',
    'EPIPE',
    'SOMETHING_NEW',
  ])('failed at the handshake: %s', (code) => {
    expect(failure(handshakeError(errorWithCode(code)))).toEqual(connect('tls'));
  });

  it.each([
    [['ECONNREFUSED', 'ENETUNREACH'], 'connect_refused'],
    [['SOMETHING_NEW', 'ENETUNREACH'], 'unreachable'],
    [['SOMETHING_NEW'], 'failed'],
  ])('to several addresses, %j, has the reason of the first known error', (codes, reason) => {
    const error = new AggregateError(codes.map(errorWithCode), '');

    expect(failure(transportError(error, 'connect'))).toEqual(connect(reason));
  });

  it('is refused at both addresses of a host with two', async () => {
    const server = createServer();
    const { port } = new URL(await listening(server));
    await new Promise((resolve) => server.close(resolve));
    const client = undiciClient();

    expect(await exchange(client, post(`http://localhost:${port}`))).toEqual(
      connect('connect_refused'),
    );
    await client.close();
  });
});

it('a timeout of an established connection is a reset, and its call may have run', () => {
  expect(failure(transportError(errorWithCode('ETIMEDOUT'), 'sent'))).toEqual({
    stage: 'sent',
    reason: 'reset',
    timedOut: false,
  });
});

it('a failure’s message contains no host address', () => {
  expect(String(dialError(errorWithCode('ECONNREFUSED')))).not.toContain('10.0.0.1');
});
