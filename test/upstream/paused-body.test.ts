// suite: quick host
/**
 * A paused body whose connection closes meanwhile: the assertion of nodejs/undici#5360 must not
 * surface.
 */
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { UpstreamClient, UpstreamResponse } from '../../src/ports/upstream-client.ts';
import { undiciClient } from '../../src/upstream/undici-client.ts';
import { rawServer } from './raw-server.ts';
import { post } from './send-request.ts';

let client: UpstreamClient;

beforeEach(() => {
  client = undiciClient();
});

afterEach(() => client.close());

/** A body whose reader pauses at its first chunk. */
function readWithPause(body: UpstreamResponse['body']) {
  const chunks: Uint8Array[] = [];
  const ended = new Promise<string>((resolve, reject) => {
    body.start({
      write: (chunk) => {
        if (chunks.length === 0) body.pause();
        chunks.push(chunk);
      },
      end: () => resolve(Buffer.concat(chunks).toString()),
      fail: reject,
    });
  });
  return { ended, count: () => chunks.length };
}

async function loopTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await setImmediate();
}

it.each([
  ['with a length', 'content-length: 8\r\nconnection: close'],
  ['that ends with its connection', 'connection: close'],
])('a reply %s is whole although its upstream has closed the connection', async (_, head) => {
  const server = await rawServer(async ({ request, send, socket }) => {
    await request();
    await send(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n`, 'half');
    await loopTurns(20);
    socket.end('half');
  });
  const { body } = await client.send(post(server.origin));
  const reader = readWithPause(body);
  await loopTurns(200);
  const seen = reader.count();

  body.resume();

  expect(seen).toBe(1);
  expect(await reader.ended).toBe('halfhalf');
  await server.close();
});

it('a reset during a pause is reported as a failure and nothing else', async () => {
  const server = await rawServer(async ({ request, send, socket }) => {
    await request();
    await send('HTTP/1.1 200 OK\r\ncontent-length: 8\r\nconnection: close\r\n\r\n', 'half');
    await loopTurns(20);
    socket.resetAndDestroy();
  });
  const { body } = await client.send(post(server.origin));
  const reader = readWithPause(body);
  const failed = expect(reader.ended).rejects.toMatchObject({ stage: 'body' });
  await loopTurns(200);

  body.resume();

  await failed;
  await server.close();
});

it('the closed gate of an ended reply does not hold the next one back', async () => {
  const server = await rawServer(async ({ request, send, socket }) => {
    while (socket.writable) {
      await request();
      await send('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nhalf');
    }
  });
  const first = await client.send(post(server.origin));
  const reader = readWithPause(first.body);
  await reader.ended;
  await loopTurns(20);

  const second = await client.send(post(server.origin));

  expect(await readWithPause(second.body).ended).toBe('half');
  expect(server.connections).toBe(1);
  await server.close();
});
