// suite: quick
/**
 * A provider that takes a call into the background, though the gateway forwards no such request:
 * its cost is not known, so its hold stays until the host has found out.
 */
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/json.ts';
import { gatewayInProcess } from '../../support/gateway-in-process.ts';
import { ample, request, response, responsesModel } from './responses-calls.ts';

const statuses = ['queued', 'in_progress'] as const;
const outputs: readonly JsonObject[] = [
  { type: 'message', id: 'msg_1', role: 'assistant', content: [] },
];

const replies = statuses.flatMap((status) =>
  [[], outputs].flatMap((output) =>
    [null, { input_tokens: 0, output_tokens: 0, total_tokens: 0 }].map(
      (usage) => [status, output.length, usage, response(output, { status, usage })] as const,
    ),
  ),
);

describe('a whole reply that says that the call still runs', () => {
  const title = 'is a failure whose hold stays: %s, %i items, usage %j';
  it.each(replies)(title, async (_status, _count, _usage, reply) => {
    const harness = gatewayInProcess({
      key: { quota: ample },
      models: [responsesModel()],
      handlers: [(up) => up.answer(200, reply)],
    });

    const { status, text } = await harness.call(request({}));
    const record = await harness.nextRecord();

    expect([status, JSON.parse(text).error.code]).toEqual([502, 'upstream_failed']);
    expect(record).toMatchObject({
      outcome: 'unknown',
      booked: false,
      chargeNanos: 0n,
      reason: 'upstream_still_running',
    });
    expect(record.heldNanos).toBeGreaterThan(0n);
    expect(await harness.state()).toMatchObject({ held: record.heldNanos, used: 0n, inFlight: 0 });
    expect(harness.events).toContainEqual(
      expect.objectContaining({ type: 'attempt_ended', reason: 'upstream_still_running' }),
    );

    await harness.gateway.resolveUnknown(record, { ran: true, chargeNanos: 7n });
    expect(await harness.state()).toMatchObject({ held: 0n, used: 7n });
  });

  it.each(['completed', 'incomplete'])('does not have the status %s', async (status) => {
    const harness = gatewayInProcess({
      key: { quota: ample },
      models: [responsesModel()],
      handlers: [(up) => up.answer(200, response(outputs, { status }))],
    });

    expect((await harness.call(request({}))).status).toBe(200);
    expect(await harness.state()).toMatchObject({ held: 0n, used: 20n });
  });
});
