/** Rows F69–F73 of the fault matrix: changes of the host while a call runs. */
import { describe, expect, it } from 'vitest';
import { inTime, pass, turns } from '../stages/failing.ts';
import { scene } from '../stages/scene.ts';
import { ask, begun, chat, events, headersOf, whole } from '../stages/scene-models.ts';
import { countedRows } from './counted-rows.ts';
import { changeRows } from './ports-changes.ts';
import { costNanos, sceneKinds } from './ports-scene.ts';

countedRows('F69–F73');

const cells = changeRows.flatMap((row) => row.kinds.map((kind) => ({ ...row, row, kind })));

describe('while a call runs', () => {
  it.each(cells)('$id $fault · $kind', async ({ row, kind }) => {
    const asked = sceneKinds[kind];
    const story = row.setUp();
    const set = scene(story.setup);
    const clock = story.clock ?? set.clock;

    const calling = set.start(ask[asked]);
    const up = await set.upstream.next();
    await story.changeDuringCall(set);
    whole(asked)(up);
    const answer = await calling.answer;
    const record = await set.nextRecord();
    await turns();
    const next = set.start(ask[asked]);
    void set.upstream.next().then(whole(asked));
    const after = await inTime(clock, next.answer);

    expect(answer).toMatchObject({ status: 200, isCut: false });
    expect(record).toMatchObject({ outcome: 'complete', chargeNanos: costNanos[asked] });
    expect(record.durationMs).toBeGreaterThanOrEqual(0);
    expect(after.status).toBe(row.expected.next);
    await pass(clock, 2_000);
    const spent = record.chargeNanos * (after.status === 200 ? 2n : 1n);
    expect(await set.state()).toMatchObject({ used: spent });
    expect(set.events.filter(({ type }) => type === 'settlement_lost')).toEqual([]);
  });
});

it.each([
  ['that grows past', begun.chatStream],
  ['whose events are all alike and far past', ''],
])('F72 a stream %s what its key can hold is cut, and costs what was held', async (_how, first) => {
  const { start, upstream, clock, nextRecord, state } = scene({
    key: { quota: [{ id: 'caller', period: 'total', limitNanos: 40_000n }] },
  });
  const long = events({ choices: [{ index: 0, delta: { content: 'x'.repeat(40_000) } }] });

  const calling = start(chat({ model: 'open', stream: true }));
  const up = await upstream.next();
  up.respond(200, headersOf('chatStream'));
  up.write(first);
  up.write(long);
  await calling.begun;
  await pass(clock, 11_000);
  up.write(long);
  await pass(clock, 2_000);
  const answer = await calling.answer;

  const record = await nextRecord();
  expect(answer.text).toContain('"error"');
  expect(up.abortReason).toBeDefined();
  expect(record).toMatchObject({ outcome: 'cut', reason: 'hold_used_up' });
  expect(await state()).toEqual({ held: 0n, used: record.chargeNanos, inFlight: 0 });
  expect(record.chargeNanos).toBeLessThanOrEqual(40_000n);
});
