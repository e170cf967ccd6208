// suite: slow host
/**
 * Every mount passes the adapter contract, and the contract detects faulty adapters, case by case.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Readable, Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { nodeAdapter } from '../../adapters/node.ts';
import type { GatewayHandler, GatewayRequest, GatewayResponse } from '../../src/http.ts';
import { adapterContract } from '../../src/testing/contracts/adapter.ts';
import { takeWarnings } from '../support/runner/process-warnings.ts';
import { ofThisNode } from '../support/sample.ts';
import { closed, listening } from '../support/servers.ts';
import { mounts } from './mounts.ts';

describe.each(ofThisNode(mounts))('$name', ({ body, start }) => {
  const contract = adapterContract(async (gateway) => {
    const { origin, base, close } = await start(gateway);
    const cleanup = async (): Promise<void> => {
      await close();
      // A parser before the adapter causes one warning, whose message has a separate test.
      if (body === 'json') await takeWarnings();
    };
    return { url: `${origin}${base}`, exactBytes: body === 'bytes', cleanup };
  });
  for (const { name, run } of contract) it(name, run);
});

type Listener = (request: IncomingMessage, response: ServerResponse) => void;
type Faulty = (gateway: GatewayHandler) => Listener;

const faults: readonly (readonly [fault: string, caughtBy: string, Faulty])[] = [
  ['decodes the path', 'AC-01', handing(({ path }) => ({ path: decodeURIComponent(path) }))],
  ['hands over no raw headers', 'AC-02', handing(() => ({ rawHeaders: [] }))],
  ['parses the body', 'AC-03', handing(() => ({ body: Buffer.from('{"model":"m","n":1.2e19}') }))],
  ['calls each request a POST', 'AC-04', handing(() => ({ method: 'POST' }))],
  ['answers 200 in every case', 'AC-05', answering((response) => ({ ...response, status: 200 }))],
  ['ends each stream at once', 'AC-06', streaming((_source, out) => out.end())],
  ['reads on for a caller that reads nothing', 'AC-07', streaming(greedily)],
  ['says twice that a waiting caller left', 'AC-08', handing(twice)],
  ['says twice that a reading caller left', 'AC-09', handing(twice)],
  ['ends what broke off', 'AC-10', streaming(toAnEnd)],
  ['says of each caller that it left', 'AC-11', handing(atOnce)],
  ['has one path for all', 'AC-12', handing(() => ({ path: '/v1/echo/0' }))],
];

describe('the adapter contract finds an adapter that', () => {
  it.each(faults)('%s: %s', async (_fault, caughtBy, faulty) => {
    const contract = adapterContract(async (gateway) => {
      const server = createServer(faulty(gateway));
      return { url: await listening(server), cleanup: () => closed(server) };
    });

    const [found] = contract.filter(({ name }) => name.startsWith(caughtBy));
    await expect(found?.run()).rejects.toThrow();
  });
});

function handing(change: (request: GatewayRequest) => Partial<GatewayRequest>): Faulty {
  return (gateway) =>
    nodeAdapter({
      ...gateway,
      handle: (request) => gateway.handle({ ...request, ...change(request) }),
    });
}

function answering(change: (response: GatewayResponse) => GatewayResponse): Faulty {
  return (gateway) =>
    nodeAdapter({ ...gateway, handle: async (request) => change(await gateway.handle(request)) });
}

function twice({ onClose }: GatewayRequest): Partial<GatewayRequest> {
  return {
    onClose: (disconnected) =>
      onClose(() => {
        disconnected();
        disconnected();
      }),
  };
}

/** Passes streams on in its own way. */
function streaming(hand: (source: Readable, out: Writable) => void): Faulty {
  return answering((response) => {
    const { body } = response;
    if (body instanceof Uint8Array) return response;
    return { ...response, body: { ...body, sendTo: (out) => hand(body.readable(), out) } };
  });
}

function greedily(source: Readable, out: Writable): void {
  source.on('data', (chunk) => out.write(chunk));
  out.on('close', () => source.destroy());
}

function toAnEnd(source: Readable, out: Writable): void {
  source.on('data', (chunk) => out.write(chunk));
  source.on('error', () => out.end());
}

function atOnce({ onClose }: GatewayRequest): Partial<GatewayRequest> {
  return {
    onClose: (disconnected) => {
      disconnected();
      onClose(disconnected);
    },
  };
}
