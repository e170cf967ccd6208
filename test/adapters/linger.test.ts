// suite: slow host
/** The limits for discarding the rest of a refused body. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Lingering, type LingerLimits, lingering } from '../../adapters/linger.ts';
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts';
import { connectRaw, type RawConnection, rawRequest } from '../support/raw-http.ts';
import { closed, listening } from '../support/servers.ts';

describe.each([
  ['that closes', { connection: 'close' }],
  ['that stays open', {}],
])('a connection %s', (_name, headers: Readonly<Record<string, string>>) => {
  it('is closed after a silence', async () => {
    const host = await hosting();
    const { wire, socket } = await host.refused(headers);

    host.clock.advance(4_999);
    expect(socket.destroyed).toBe(false);
    host.clock.advance(501);

    expect(socket.destroyed).toBe(true);
    wire.destroy();
    expect(host.lingering.size()).toBe(0);
  });

  it('is closed after its time, although bytes still come', async () => {
    const host = await hosting();
    const { wire, socket } = await host.refused(headers);

    for (let seconds = 0; seconds < 28; seconds += 4) {
      const before = socket.bytesRead;
      host.clock.advance(4_000);
      expect(socket.destroyed).toBe(false);
      wire.write('x');
      await until(() => socket.bytesRead > before);
    }
    host.clock.advance(2_500);

    expect(socket.destroyed).toBe(true);
    wire.destroy();
    expect(host.lingering.size()).toBe(0);
  });

  it('is closed after the maximum number of bytes', async () => {
    const host = await hosting({ maxBytes: 100_000 });
    const { wire, socket } = await host.refused(headers);

    wire.write(Buffer.alloc(200_000));

    await until(() => socket.destroyed);
    wire.destroy();
    expect(host.lingering.size()).toBe(0);
  });

  it('is removed when its caller disconnects', async () => {
    const host = await hosting();
    const { wire, socket } = await host.refused(headers);

    wire.destroy();

    await until(() => socket.closed);
    await until(() => host.lingering.size() === 0);
  });
});

it('above the maximum number of connections, a reply with close closes immediately', async () => {
  const host = await hosting({ maxConnections: 2 });
  const first = await host.refused({});
  const second = await host.refused({ connection: 'close' });

  const third = await host.refused({ connection: 'close' });

  await until(() => third.socket.destroyed);
  expect(host.lingering.size()).toBe(2);
  for (const { wire } of [first, second, third]) wire.destroy();
});

it('nothing is discarded if the body has been received', async () => {
  const host = await hosting();
  const wire = await connectRaw(host.origin);
  wire.write(rawRequest('POST /', { connection: 'close' }, 'body'));

  expect(await wire.rest).toMatch(/refused$/);
  expect(host.lingering.size()).toBe(0);
});

interface Hosting {
  readonly origin: string;
  readonly lingering: Lingering;
  readonly clock: FakeClock;
  /** Sends a head without its body; resolves when the refusal has been received completely. */
  refused(
    headers: Readonly<Record<string, string>>,
  ): Promise<{ readonly wire: RawConnection; readonly socket: Socket }>;
}

async function hosting(limits: Partial<LingerLimits> = {}): Promise<Hosting> {
  const clock = fakeClock();
  const state = lingering({ clock, ...limits });
  let finished = 0;
  const server = createServer((req, res) => {
    req.on('error', () => {});
    setImmediate(() => {
      state.expectReply(req, res);
      res.end('refused');
      res.once('finish', () => {
        finished += 1;
      });
    });
  });
  const origin = await listening(server);
  onTestFinished(() => closed(server));
  return {
    origin,
    lingering: state,
    clock,
    refused: async (headers) => {
      const before = finished;
      const [[socket], wire] = await Promise.all([
        once(server, 'connection'),
        connectRaw(origin, half),
      ]);
      wire.write(rawRequest('POST /', { 'content-length': '9000000', ...headers }));
      await wire.until('refused');
      await until(() => finished > before);
      return { wire, socket };
    },
  };
}

/** A caller that keeps sending although the other side has ended. */
const half = { allowHalfOpen: true };

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await turn();
}
