// suite: slow host
/**
 * A host blocks the event loop for longer than a timeout, while the upstream's reply has long
 * arrived: no timeout may fire. Uses real time and real sockets, and asserts no durations.
 */
import { expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { undiciClient } from '../../src/upstream/undici-client.ts';
import { gatewayInProcess } from '../support/gateway-in-process.ts';
import { channel, model, replies, sampleRequests, streamBeginnings } from '../support/models.ts';
import { type Conversation, rawServer } from '../upstream/raw-server.ts';
import { turns } from './ports/failing.ts';

const waitMs = 1_000;
/** Long enough that the gateway's timer, which ticks every second, is due right after it. */
const blockMs = 2_100;

const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n';

it.each<[string, (conversation: Conversation) => Promise<void>]>([
  [
    'a first byte',
    async ({ request, socket }) => {
      await request();
      socket.end(head + replies.chatStream);
      block();
    },
  ],
  [
    'the next piece',
    async ({ request, send, socket }) => {
      await request();
      await send(head, streamBeginnings.chatStream);
      await turns();
      socket.end(replies.chatStream);
      block();
    },
  ],
])('%s that waits in the socket after a block does not time out', async (_what, script) => {
  const server = await rawServer(script);
  const { call, gateway, nextRecord } = gatewayInProcess({
    models: [model({ channels: [channel({ baseUrl: `${server.origin}/v1` })] })],
    options: {
      clock: systemClock(),
      upstream: undiciClient(),
      timeouts: { firstByteStreamedMs: waitMs, idleMs: waitMs, firstTokenMs: waitMs },
    },
  });

  const { status, text } = await call(sampleRequests.chatStream);

  expect(status).toBe(200);
  expect(text).toMatch(/\[DONE\]\n\n$/);
  expect(await nextRecord()).toMatchObject({ outcome: 'complete' });
  await gateway.close();
  await server.close();
});

/** Blocks this process. */
function block(): void {
  const untilMs = performance.now() + blockMs;
  while (performance.now() < untilMs);
}
