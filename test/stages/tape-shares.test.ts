// suite: quick
/** A body of very many values counts by the memory that its tape takes, not by its bytes alone. */
import { expect, it } from 'vitest';
import { gatewayInProcess } from '../support/gateway-in-process.ts';
import { chat, completeReply } from '../support/models.ts';

const bytes = 4 * 1024 * 1024;
const options = { maxBufferedBytes: bytes, maxBodyBytes: bytes, maxImageBodyBytes: bytes };

it.each([
  ['many small values', Array.from({ length: 400_000 }, () => 0), 503],
  ['one text of the same size', 'a b'.repeat(266_000), 200],
  ['values that fill less than the bound', Array.from({ length: 60_000 }, () => 0), 200],
])('a body with %s', async (_what, filling, expected) => {
  const { call, state } = gatewayInProcess({
    options,
    key: { quota: [{ id: 'caller', period: 'total', limitNanos: 10n ** 15n }] },
    handlers: [completeReply('chat')],
  });

  const { status } = await call(chat({ metadata: { filling } }));

  expect(status).toBe(expected);
  expect((await state()).held).toBe(0n);
});
