// suite: slow runtime
/** The upstream clients fulfil their contract, and the contract detects faults, each by a case. */
import { describe, expect, it } from 'vitest';
import { UpstreamError } from '../../src/errors.ts';
import type {
  UpstreamBody,
  UpstreamClient,
  UpstreamRequest,
  UpstreamResponse,
} from '../../src/ports/upstream-client.ts';
import { upstreamClientContract } from '../../src/testing/contracts/upstream-client.ts';
import { fetchUpstreamClient } from '../../src/upstream/fetch-client.ts';
import { undiciClient } from '../../src/upstream/undici-client.ts';

describe.each([
  ['undiciClient', undiciClient],
  ['fetchUpstreamClient', fetchUpstreamClient],
])('%s', (_name, create) => {
  const contract = upstreamClientContract(() => ({ client: create() }));
  for (const { name, run } of contract) it(name, run);
});

type Send = UpstreamClient['send'];

const faults: readonly (readonly [fault: string, caughtBy: string, (correct: Send) => Send])[] = [
  ['sends the pieces in another order', 'UC-01', (send) => changed(send, reversed)],
  ['resolves when the body has ended', 'UC-02', (send) => onReply(send, awaitingTheEnd)],
  [
    'returns no whole body',
    'UC-03',
    (send) => onBody(send, () => ({ takeWhole: () => undefined })),
  ],
  [
    'returns a whole body above the limit',
    'UC-04',
    (send) => onBody(send, ({ takeWhole }) => ({ takeWhole: () => takeWhole(1_000) })),
  ],
  [
    'loses a body that was not taken',
    'UC-04',
    (send) => onBody(send, () => ({ start: (sink) => sink.end() })),
  ],
  ['delivers while it is paused', 'UC-05', (send) => onBody(send, () => ({ pause: () => {} }))],
  ['ends an aborted body', 'UC-06', (send) => onBody(send, endingOnAbort)],
  ['does not call onAbort', 'UC-07', (send) => changed(send, unstoppable)],
  ['reports every failure at the stage body', 'UC-08', (send) => failingAt(send, 'body')],
  ['reports every failure at the stage connect', 'UC-09', (send) => failingAt(send, 'connect')],
  ['ends a body that broke off', 'UC-10', (send) => onBody(send, endingOnFailure)],
  ['keeps connections alive', 'UC-11', (send) => changed(send, kept)],
  [
    'returns every status as 200',
    'UC-12',
    (send) => onReply(send, (reply) => ({ ...reply, status: 200 })),
  ],
  ['returns one body for all', 'UC-13', (send) => changed(send, oneBody)],
];

describe('the upstream client contract detects a client that', () => {
  it.each(faults)('%s: %s', async (_fault, caughtBy, faulty) => {
    const contract = upstreamClientContract(() => {
      const correct = undiciClient();
      return { client: { ...correct, send: faulty(correct.send) } };
    });

    const [found] = contract.filter(({ name }) => name.startsWith(caughtBy));

    await expect(found?.run()).rejects.toThrow();
  });
});

function changed(send: Send, change: (request: UpstreamRequest) => UpstreamRequest): Send {
  return (request) => send(change(request));
}

function reversed(request: UpstreamRequest): UpstreamRequest {
  return { ...request, body: request.body.toReversed() };
}

function unstoppable(request: UpstreamRequest): UpstreamRequest {
  return { ...request, onAbort: () => {} };
}

function kept(request: UpstreamRequest): UpstreamRequest {
  return { ...request, freshConnection: false };
}

function oneBody(request: UpstreamRequest): UpstreamRequest {
  return { ...request, body: [Buffer.from('call 0')] };
}

function onReply(
  send: Send,
  change: (reply: UpstreamResponse) => UpstreamResponse | Promise<UpstreamResponse>,
): Send {
  return async (request) => change(await send(request));
}

function onBody(send: Send, change: (body: UpstreamBody) => Partial<UpstreamBody>): Send {
  return onReply(send, (reply) => ({ ...reply, body: { ...reply.body, ...change(reply.body) } }));
}

/** Fails if the body does not end within a second, because it waits for its reader. */
function awaitingTheEnd(reply: UpstreamResponse): Promise<UpstreamResponse> {
  return new Promise((_, reject) => {
    reply.body.start({ write: () => {}, end: () => {}, fail: reject });
    reply.body.abort();
    reject(new Error('waited for the end'));
  });
}

function endingOnAbort(body: UpstreamBody): Partial<UpstreamBody> {
  let end = (): void => {};
  return {
    start: (sink) => {
      end = () => sink.end();
      body.start(sink);
    },
    abort: () => {
      body.abort();
      end();
    },
  };
}

function endingOnFailure(body: UpstreamBody): Partial<UpstreamBody> {
  return { start: (sink) => body.start({ ...sink, fail: () => sink.end() }) };
}

function failingAt(send: Send, stage: 'connect' | 'body'): Send {
  return (request) =>
    send(request).catch(() => {
      throw new UpstreamError(stage, 'failed');
    });
}
