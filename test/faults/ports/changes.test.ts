// suite: slow
/** Rows F69–F73 of the fault matrix: changes of the host while a call runs. */
import { describe, expect, it } from 'vitest';
import { inTime, pass, turns } from '../../stages/ports/failing.ts';
import { gatewayInProcess } from '../../support/gateway-in-process.ts';
import {
  chat,
  completeReply,
  costNanos,
  events,
  headersOf,
  kinds,
  sampleRequests,
  streamBeginnings,
} from '../../support/models.ts';
import { countedRows } from '../rows/counted.ts';
import { changeRows } from './changes.ts';

countedRows('F69–F73');

const cells = changeRows.flatMap((row) => kinds.map((kind) => ({ ...row, row, kind })));

describe('while a call runs', () => {
  it.each(cells)('$id $fault · $kind', async ({ row, kind }) => {
    const story = row.setUp();
    const harness = gatewayInProcess(story.setup);
    const clock = story.clock ?? harness.clock;

    const calling = harness.start(sampleRequests[kind]);
    const up = await harness.upstream.next();
    await story.changeDuringCall(harness);
    completeReply(kind)(up);
    const reply = await calling.reply;
    const record = await harness.nextRecord();
    await turns();
    const next = harness.start(sampleRequests[kind]);
    void harness.upstream.next().then(completeReply(kind));
    const after = await inTime(clock, next.reply);

    expect(reply).toMatchObject({ status: 200, isCut: false });
    expect(record).toMatchObject({ outcome: 'complete', chargeNanos: costNanos[kind] });
    expect(record.durationMs).toBeGreaterThanOrEqual(0);
    expect(after.status).toBe(row.expected.next);
    await pass(clock, 2_000);
    const spent = record.chargeNanos * (after.status === 200 ? 2n : 1n);
    expect(await harness.state()).toMatchObject({ used: spent });
    expect(harness.events.filter(({ type }) => type === 'settlement_lost')).toEqual([]);
  });
});

it.each([
  ['that grows past', streamBeginnings.chatStream],
  ['whose events are all alike and far past', ''],
])('F72 a stream %s what its key can hold is cut, and costs what was held', async (_how, first) => {
  const { start, upstream, clock, nextRecord, state } = gatewayInProcess({
    key: { quota: [{ id: 'caller', period: 'total', limitNanos: 40_000n }] },
  });
  const long = events({ choices: [{ index: 0, delta: { content: 'x'.repeat(40_000) } }] });

  const calling = start(chat({ model: 'open', stream: true }));
  const up = await upstream.next();
  up.respond(200, headersOf('chatStream'));
  up.write(first);
  up.write(long);
  await calling.firstBytes;
  await pass(clock, 11_000);
  up.write(long);
  await pass(clock, 2_000);
  const reply = await calling.reply;

  const record = await nextRecord();
  expect(reply.text).toContain('"error"');
  expect(up.abortReason).toBeDefined();
  expect(record).toMatchObject({ outcome: 'cut', reason: 'hold_used_up' });
  expect(await state()).toEqual({ held: 0n, used: record.chargeNanos, inFlight: 0 });
  expect(record.chargeNanos).toBeLessThanOrEqual(40_000n);
});
