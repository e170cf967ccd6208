// suite: slow host
/** The address by which `serve` limits invalid keys: never one that a caller can choose. */
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { failedKeyLimit, setCallerAddress } from '../../../src/command/serve/open-gateway.ts';

const { addressOf } = failedKeyLimit({ perMinute: 5 });

describe("a caller's address", () => {
  it.each<readonly [forwarded: string | undefined, proxies: number, address: string]>([
    [undefined, 0, '192.0.2.1'],
    ['198.51.100.7', 0, '192.0.2.1'],
    ['198.51.100.7', 1, '198.51.100.7'],
    ['invented, 198.51.100.7', 1, '198.51.100.7'],
    ['invented, 198.51.100.7, 203.0.113.9', 2, '198.51.100.7'],
    ['203.0.113.9', 2, '192.0.2.1'],
    ['', 1, '192.0.2.1'],
    [undefined, 3, '192.0.2.1'],
    ['a,b,', 1, '192.0.2.1'],
    ['2001:DB8:0:1:2:3:4:5', 1, '2001:db8:0:1::/64'],
    ['2001:db8::5', 1, '2001:db8:0:0::/64'],
    ['::1', 1, '0:0:0:0::/64'],
    ['fe80::1%eth0', 1, 'fe80:0:0:0::/64'],
    ['::ffff:198.51.100.7', 1, '198.51.100.7'],
  ])('after %j by way of %i proxies is %s', (forwarded, proxies, address) => {
    expect(addressAfter(forwarded, { proxies })).toBe(address);
  });

  it('is the same whatever port and quotes a proxy adds', () => {
    const address = fc.oneof(fc.ipV4(), fc.ipV6());
    const spelled = fc
      .tuple(address, fc.nat(65_535), fc.boolean())
      .map(([host, port, isQuoted]) => {
        const bare = host.includes(':') ? `[${host}]` : host;
        const named = `${bare}:${port}`;
        return { host, spellings: [host, bare, named, isQuoted ? `"${named}"` : `"${host}"`] };
      });
    fc.assert(
      fc.property(spelled, ({ host, spellings }) => {
        const plain = addressAfter(host, { proxies: 1 });
        for (const one of spellings) expect(addressAfter(one, { proxies: 1 }), one).toBe(plain);
      }),
    );
  });

  it('is not what the caller writes into the header itself', () => {
    expect(addressAfter(undefined, undefined)).toBe('192.0.2.1');
  });
});

function addressAfter(
  forwarded: string | undefined,
  config: Parameters<typeof setCallerAddress>[1],
): unknown {
  const socket = new Socket();
  Object.defineProperty(socket, 'remoteAddress', { value: '192.0.2.1' });
  const request = new IncomingMessage(socket);
  request.headers['x-tollgate-caller-address'] = 'invented';
  if (forwarded !== undefined) request.headers['x-forwarded-for'] = forwarded;
  setCallerAddress(request, config);
  const { method = 'GET', url: path = '/', headers } = request;
  return addressOf({ method, path, headers });
}
