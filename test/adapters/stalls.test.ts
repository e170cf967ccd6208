// suite: slow host
/** A caller that never reads, over a real socket, under every mount. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { chatBody } from '../support/bodies.ts';
import { bearer, unmountedGateway } from '../support/mounted-gateway.ts';
import { rawRequest } from '../support/raw-http.ts';
import { takeWarnings } from '../support/runner/process-warnings.ts';
import { ofThisNode } from '../support/sample.ts';
import { scriptedUpstream } from '../support/scripted-upstream.ts';
import { mounts } from './mounts.ts';

const headers = { 'content-type': 'text/event-stream' };
const text = 'x'.repeat(64 * 1024);

/** A stream that never ends. */
function* flood(): Generator<string> {
  const event = { choices: [{ index: 0, delta: { content: text }, finish_reason: null }] };
  while (true) yield `data: ${JSON.stringify(event)}\n\n`;
}

it.each(
  ofThisNode(mounts),
)('$name: a caller that never reads is disconnected, and pays for what came', async (mount) => {
  const clock = fakeClock();
  const upstream = scriptedUpstream({ headers, chunks: flood() });
  const harness = await unmountedGateway({ clock, upstream });
  const host = await mount.start(harness.gateway);
  const { hostname, port } = new URL(host.origin);
  const socket = connect(Number(port), hostname);
  const closed = once(socket, 'close');
  socket.write(
    rawRequest(
      `POST ${host.base}/v1/chat/completions`,
      { ...bearer(harness.secrets.chat), 'content-type': 'application/json' },
      JSON.stringify({ ...chatBody, stream: true }),
    ),
  );

  // The clock advances while the socket buffers fill up, and then while nothing moves any more.
  while (harness.records.length === 0) {
    await setImmediate();
    if (upstream.requests.length > 0) clock.advance(100);
  }
  socket.resume();
  await closed;

  const record = await harness.nextRecord();
  expect(record).toMatchObject({
    status: 499,
    outcome: 'caller_left',
    reason: 'caller_stalled',
    basis: 'counted',
  });
  expect(record.chargeNanos).toBeGreaterThan(0n);
  expect(upstream.aborted).toBe(1);
  expect(host.reported).toEqual([]);
  await host.close();
  await harness.close();
  await takeWarnings();
});
