// suite: slow host
/** A host that gets SIGTERM exits by itself: streams finish or are cut, and nothing is left. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { gate, type Script, sse } from '../../src/testing/providers/scripts.ts';
import type { FakeUpstream } from '../../src/testing/providers/server.ts';
import { startStrictUpstream } from '../providers/strict-upstream.ts';
import { childScript } from '../support/child-script.ts';

const streamCount = 50;
const started = z.object({ origin: z.string(), secret: z.string() });

let upstream: FakeUpstream;
let agent: Agent;
let child: ChildProcess;

beforeEach(async () => {
  const script = await childScript(join(import.meta.dirname, 'exiting-gateway.ts'));
  upstream = await startStrictUpstream();
  // Callers keep their connections open, as SDKs do.
  agent = new Agent({ keepAlive: true, timeout: 0 });
  child = fork(script, [upstream.openaiBaseUrl]);
});

afterEach(async () => {
  child.kill('SIGKILL');
  agent.destroy();
  await upstream.close();
});

it('SIGTERM during a hundred streams, a caller that does not read and idle sockets', async () => {
  const { origin, secret } = started.parse((await once(child, 'message'))[0]);
  const end = gate();
  const never = gate();
  upstream.enqueue(...scripts(end.opened), ...scripts(never.opened));
  const request = {
    prompt_cache_key: 'x',
    model: 'chat',
    messages: [{ role: 'user', content: 'hi' }],
  };
  const post = (path: string, body: object): Promise<IncomingMessage> =>
    answerOf(`${origin}${path}`, secret, body, agent);
  const streams = await Promise.all(
    Array.from({ length: 2 * streamCount }, () =>
      post('/v1/chat/completions', { ...request, stream: true }),
    ),
  );
  const texts = streams.map(textOf);
  upstream.enqueue({ ...sse([]), chunks: endless() });
  const unread = await post('/v1/chat/completions', { ...request, stream: true });
  // Cut in the end, like any caller that does not read.
  unread.on('error', () => {});
  const whole = await post('/v1/chat/completions', request);
  const image = await post('/v1/images/generations', { model: 'image', prompt: 'a cat' });
  await Promise.all([whole, image].map(textOf));
  const upstreamSockets = upstream.openConnections();
  const exited = once(child, 'exit');

  child.kill('SIGTERM');
  const [closing] = await once(child, 'message');
  end.open();
  const ended = await firstOf(texts, streamCount);
  child.send('the grace is up');
  const [report] = await once(child, 'message');
  const all = await Promise.all(texts);

  // The hundred streams, the one that nobody reads, and one that waits for another call.
  expect(upstreamSockets).toBeGreaterThanOrEqual(2 * streamCount + 2);
  expect([whole.statusCode, image.statusCode, closing]).toEqual([200, 200, 'closing']);
  expect(ended.filter((text) => text.endsWith('data: [DONE]\n\n'))).toHaveLength(streamCount);
  expect(all.filter((text) => /"error":/.test(text) && !text.includes('[DONE]'))).toHaveLength(
    streamCount,
  );
  expect(report).toEqual({
    heldNanos: '0',
    inFlight: 0,
    records: 2 * streamCount + 3,
    resources: [],
  });
  expect(await exited).toEqual([0, null]);
});

/** Streams that begin, and continue when they are told to. */
function scripts(opened: Promise<void>): readonly Script[] {
  const delta = (content: string, finish_reason: string | null) => ({
    choices: [{ index: 0, delta: { content }, finish_reason }],
  });
  return Array.from({ length: streamCount }, () =>
    sse([delta('Once', null), opened, delta(' upon', 'stop'), '[DONE]']),
  );
}

/** More than any socket's buffers hold. */
function* endless(): Generator<string> {
  const delta = { choices: [{ index: 0, delta: { content: 'x'.repeat(64 * 1024) } }] };
  for (;;) yield `data: ${JSON.stringify(delta)}\n\n`;
}

async function answerOf(
  url: string,
  secret: string,
  body: object,
  agent: Agent,
): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
  const sent = request(url, { method: 'POST', headers, agent });
  sent.end(JSON.stringify(body));
  const [response] = await once(sent, 'response');
  return response;
}

/** The whole text; rejects if the connection is cut. */
async function textOf(response: IncomingMessage): Promise<string> {
  return Buffer.concat(await response.toArray()).toString();
}

/** The first `count` of them, in the order of arrival. */
function firstOf(texts: readonly Promise<string>[], count: number): Promise<readonly string[]> {
  const arrive: string[] = [];
  return new Promise((resolve, reject) => {
    for (const text of texts) {
      text.then((value) => {
        arrive.push(value);
        if (arrive.length === count) resolve([...arrive]);
      }, reject);
    }
  });
}
