// suite: quick runtime
/** An event with amounts is a plain object to whoever copies, compares or prints it. */
import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import { gatewayInProcess } from '../support/gateway-in-process.ts';
import { completeReply, sampleRequests } from '../support/models.ts';

it('call_ended is written by JSON.stringify, and has no member for that', async () => {
  const harness = gatewayInProcess({ handlers: [completeReply('chat')] });
  await harness.call(sampleRequests.chat);
  await harness.ended(1);
  const event = harness.allEvents.at(-1);
  const record = event?.type === 'call_ended' ? event.record : undefined;

  expect(JSON.parse(JSON.stringify(event))).toMatchObject({ record: { chargeNanos: '20' } });
  expect(JSON.parse(JSON.stringify(record))).toMatchObject({ chargeNanos: '20' });
  expect(Object.keys(event ?? {})).toEqual(['type', 'record', 'code']);
  expect(structuredClone(record)).toStrictEqual({ ...record });
  expect(inspect(event)).toMatch(/^\{\n {2}type: 'call_ended',\n {2}record: \{\n/);
});
