// suite: slow host
/**
 * Resets of a caller's connection under Koa, which would report them as errors of the app and,
 * without a listener, write them to stderr. A disconnect is not an error of the app.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import Koa3 from 'koa';
import { koaAdapter } from 'tollgate/koa';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { GatewayHandler } from '../../src/http.ts';
import { scriptedGateway } from '../../src/testing/contracts/adapter.ts';
import { rawRequest } from '../support/raw-http.ts';
import { takeWarnings } from '../support/runner/process-warnings.ts';
import { closed, listening } from '../support/servers.ts';
import { Koa2 } from './mounts.ts';

/** More than fits into the buffers of two sockets. */
const large = Buffer.alloc(32 * 1024 * 1024, 'a');

describe.each([
  { version: 'Koa 2', Koa: Koa2 },
  { version: 'Koa 3', Koa: Koa3 },
])('$version reports no error of the app for a caller that', ({ Koa }) => {
  it('resets mid-stream', async () => {
    const gateway = scriptedGateway();
    const host = await calling(Koa, gateway, '/v1/stream');
    gateway.reply.write('data: 1\n\n');
    host.caller.resume();
    await once(host.caller, 'data');

    await host.reset();

    await gateway.disconnected;
    expect(gateway.reply.destroyed).toBe(true);
    expect(host.errors).toEqual([]);
  });

  it('resets with most of a stream unread', async () => {
    const gateway = scriptedGateway();
    const host = await calling(Koa, gateway, '/v1/stream');
    gateway.reply.write(large);
    await once(host.caller, 'readable');

    await host.reset();

    expect(host.errors).toEqual([]);
  });

  it('resets with most of a whole reply unread', async () => {
    const whole = { status: 200, headers: {}, body: large };
    const gateway = { ...scriptedGateway(), handle: async () => whole };
    const host = await calling(Koa, gateway, '/v1/chat/completions');
    await once(host.caller, 'readable');

    await host.reset();

    expect(host.errors).toEqual([]);
  });

  it('resets before the reply', async () => {
    const gateway = scriptedGateway();
    const host = await calling(Koa, gateway, '/v1/silent');
    await gateway.received;

    await host.reset();
    gateway.answer();

    if (!gateway.reply.closed) await once(gateway.reply, 'close');
    expect(host.errors).toEqual([]);
  });

  it('disconnects in the middle of a chunk of its body', async () => {
    const gateway = scriptedGateway();
    const host = await calling(Koa, gateway, '/v1/silent', { 'content-length': '1000' });
    await gateway.received;

    await host.disconnect();

    expect(host.errors).toEqual([]);
  });
});

describe.each([
  { version: 'Koa 2', Koa: Koa2 },
  { version: 'Koa 3', Koa: Koa3 },
])('$version still reports', ({ Koa }) => {
  it('a reset that is not the caller’s', async () => {
    const gateway = scriptedGateway();
    const host = await calling(Koa, gateway, '/v1/stream');
    const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
    gateway.reply.write('data: 1\n\n');
    await once(host.caller, 'readable');

    gateway.reply.destroy(reset);
    await host.closed;

    expect(host.errors).toContain(reset);
  });
});

interface CalledHost {
  /** Reads nothing until asked to. */
  readonly caller: Socket;
  /** The errors that the app emitted, which are all that Koa writes to stderr. */
  readonly errors: readonly unknown[];
  /** Resolves when the host has noticed that the connection is closed. */
  readonly closed: Promise<unknown>;
  /** Sends RST, and waits for {@link closed}. */
  reset(): Promise<void>;
  /** Sends FIN, and waits for {@link closed}. */
  disconnect(): Promise<void>;
}

async function calling(
  Koa: typeof Koa3,
  gateway: GatewayHandler,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<CalledHost> {
  const app = new Koa();
  const errors: unknown[] = [];
  app.on('error', (error) => errors.push(error));
  app.use(koaAdapter(gateway));
  const server = createServer(app.callback());
  onTestFinished(() => closed(server));
  const { hostname, port } = new URL(await listening(server));
  const caller = connect(Number(port), hostname);
  caller.on('error', () => {
    // The host closes the connection too, and some tests reset it from its side.
  });
  const [served] = await once(server, 'connection');
  // Not `once`, which would reject with the error that these tests provoke.
  const gone = new Promise((resolve) => served.once('close', resolve));
  caller.write(rawRequest(`POST ${path}`, headers, '{}'));

  const end = async (cut: () => void): Promise<void> => {
    cut();
    await gone;
    // Koa reports a failed stream one turn later.
    await takeWarnings();
  };
  return {
    caller,
    errors,
    closed: gone,
    reset: () => end(() => caller.resetAndDestroy()),
    disconnect: () => end(() => caller.destroy()),
  };
}
