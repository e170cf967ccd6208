// suite: slow host
/** Requests that two parsers could read differently: Node refuses them, the host stays up. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { chatBody } from '../support/bodies.ts';
import { bearer, type MountedGateway, mountedGateway } from '../support/mounted-gateway.ts';
import { exchangeRaw, rawRequest } from '../support/raw-http.ts';

let harness: MountedGateway;

beforeEach(async () => {
  harness = await mountedGateway();
});

afterEach(() => harness.close());

const start = 'POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\n';
const chunks = '5\r\nhello\r\n0\r\n\r\n';

const smuggled: readonly (readonly [string, string])[] = [
  ['both lengths', `${start}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`],
  [
    'both, the other way',
    `${start}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n${chunks}`,
  ],
  ['two equal lengths', `${start}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello`],
  ['two lengths', `${start}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!`],
  ['a list of lengths', `${start}Content-Length: 5, 5\r\n\r\nhello`],
  ['a length with a sign', `${start}Content-Length: +5\r\n\r\nhello`],
  ['a negative length', `${start}Content-Length: -5\r\n\r\nhello`],
  ['a length in hex', `${start}Content-Length: 0x5\r\n\r\nhello`],
  ['an endless length', `${start}Content-Length: 99999999999999999999\r\n\r\nhello`],
  ['another encoding', `${start}Transfer-Encoding: xchunked\r\n\r\n${chunks}`],
  ['a space before the colon', `${start}Transfer-Encoding : chunked\r\n\r\n${chunks}`],
  ['a folded header', `${start}Transfer-Encoding:\r\n chunked\r\n\r\n${chunks}`],
  ['a bare LF', `${start}X: a\nTransfer-Encoding: chunked\r\n\r\n${chunks}`],
  ['a bare CR', `${start}X: a\rTransfer-Encoding: chunked\r\n\r\n${chunks}`],
  ['a NUL in a header', `${start}X: a\u0000b\r\nContent-Length: 5\r\n\r\nhello`],
  ['a high byte in the path', 'POST /v1/chat/\xe9 HTTP/1.1\r\nHost: gateway\r\n\r\n'],
  ['a bad chunk size', `${start}Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n`],
  ['a chunk that is too long', `${start}Transfer-Encoding: chunked\r\n\r\n3\r\nhello\r\n0\r\n\r\n`],
  ['no host', 'POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello'],
  ['no version', 'POST /v1/chat/completions\r\nHost: gateway\r\n\r\n'],
  ['the start of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
];

describe('a request with', () => {
  it.each(
    smuggled,
  )('%s reaches no upstream, and the next caller is served', async (_case, bytes) => {
    const answer = await exchangeRaw(harness.origin, Buffer.from(withKey(bytes), 'latin1'));
    const next = await exchangeRaw(
      harness.origin,
      rawRequest(
        'POST /v1/chat/completions',
        { ...bearer(harness.secrets.chat), connection: 'close' },
        JSON.stringify(chatBody),
      ),
    );

    expect(answer).toMatch(/^(HTTP\/1\.1 400 |$)/);
    expect(next).toMatch(/^HTTP\/1\.1 200 /);
    expect(harness.upstream.calls).toHaveLength(1);
  });

  it('a key sent twice is refused, because two readers may use one each', async () => {
    const key = bearer(harness.secrets.chat).authorization;
    const line = `Authorization: ${key}\r\n`;
    const doubled = `${start}${line}${line}Connection: close\r\nContent-Length: 2\r\n\r\n{}`;

    expect(await exchangeRaw(harness.origin, doubled)).toMatch(/^HTTP\/1\.1 401 /);
  });

  it('a key that Connection declares hop-by-hop is refused', async () => {
    const answer = await exchangeRaw(
      harness.origin,
      rawRequest(
        'POST /v1/chat/completions',
        { ...bearer(harness.secrets.chat), connection: 'close, authorization' },
        JSON.stringify(chatBody),
      ),
    );

    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(harness.upstream.calls).toEqual([]);
  });
});

/** An accepted key, so that only the framing keeps the request from an upstream. */
function withKey(bytes: string): string {
  const { authorization } = bearer(harness.secrets.chat);
  return bytes.replace('Host: gateway\r\n', `Host: gateway\r\nAuthorization: ${authorization}\r\n`);
}
