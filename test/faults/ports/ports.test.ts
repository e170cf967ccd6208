// suite: search
/** Rows F63–F68 and F76 of the fault matrix: each port, failure mode and kind of call. */
import { expect, it } from 'vitest';
import type { GatewayEvent } from '../../../src/events/events.ts';
import { inTime, pass, turns } from '../../stages/ports/failing.ts';
import { gatewayInProcess, type InProcessGateway } from '../../support/gateway-in-process.ts';
import {
  completeReply,
  costNanos,
  type Kind,
  kinds,
  sampleRequests,
} from '../../support/models.ts';
import { canaries, found } from '../canaries.ts';
import { countedRows } from '../rows/counted.ts';
import { failureModes } from './failure-modes.ts';
import { type PortRow, portRows } from './rows.ts';

countedRows('F63–F68, F76');

const cells = portRows.flatMap((row) =>
  failureModes
    .filter(({ isSynchronous }) => isSynchronous || row.isSynchronous !== true)
    .flatMap((way) => kinds.map((kind) => ({ ...row, row, ...way, kind }))),
);

it.each(cells)('$id $fault that $how · $kind', async ({ row, fail, kind }) => {
  const { status, calls, event, charge } = row.expected;
  let isDown = true;
  const harness = gatewayInProcess({
    handlers: [completeReply(kind)],
    ...row.setup((works) => (isDown ? fail() : works())),
  });

  const reply = await inTime(harness.clock, harness.call(sampleRequests[kind]));
  // The usage sink of a row may keep no records, so events are checked.
  await pass(harness.clock, 60_000);
  const before = await harness.state();
  isDown = false;
  await pass(harness.clock, 60_000);

  expect(reply).toMatchObject({
    status,
    isCut: false,
    headers: { 'x-request-id': expect.stringMatching(/^test-id-|^[\da-f-]{36}$/) },
  });
  if (status === 503) expect(reply.headers['retry-after']).toBe('1');
  if (status !== 200) expect(JSON.parse(reply.text)).toMatchObject(errorIn(kind, status));
  expect(harness.upstream.calls).toHaveLength(calls);
  expect(harness.events.map(nameOf)).toEqual(
    event === undefined ? [] : expect.arrayContaining([expect.stringMatching(`^${event}`)]),
  );
  const cost = charge === 'nothing' ? 0n : costNanos[kind];
  expect(before.used).toBe(charge === 'later' ? 0n : cost);
  expect(await harness.state()).toEqual({ held: 0n, used: cost, inFlight: 0 });
  expect(leaksOf(harness, row, reply.status === 200 ? '' : reply.text)).toEqual([]);
});

it('F64 an outage of the store for 30 s lets no call through, and ends with it', async () => {
  let isDown = true;
  const { call, clock, upstream, state } = gatewayInProcess({
    handlers: [completeReply('chat')],
    store: (quota) => ({
      reserve: (input) => {
        if (isDown) throw new Error('down');
        return quota.reserve(input);
      },
    }),
  });

  for (let second = 0; second < 30; second += 1) {
    expect((await call(sampleRequests.chat)).status).toBe(503);
    clock.advance(1_000);
    await turns();
  }
  expect(upstream.calls).toEqual([]);
  isDown = false;

  expect((await call(sampleRequests.chat)).status).toBe(200);
  await turns();
  expect(await state()).toEqual({ held: 0n, used: 20n, inFlight: 0 });
});

function errorIn(kind: Kind, status: number): object {
  const message = expect.any(String);
  return kind.startsWith('native')
    ? { error: { code: status, message, status: expect.any(String) } }
    : { error: { message, type: 'server_error' } };
}

function nameOf(event: GatewayEvent): string {
  return event.type === 'port_failed'
    ? `${event.type} ${event.port} ${event.operation}`
    : event.type;
}

/** The host's own error is a hidden member of an event, so events are searched without those. */
function leaksOf(harness: InProcessGateway, { id }: PortRow, text: string) {
  const { records, gateway } = harness;
  const events = harness.events.map((event) => ({ ...event }));
  const secrets = { ...canaries, callerKey: 'caller-secret', upstreamKey: canaries.upstreamKey };
  return found(secrets, { id, events, records, gateway, text });
}
