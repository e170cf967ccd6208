// suite: quick
/** Kept replies of repeatable calls: what one key keeps pushes out nothing that others keep. */
import { describe, expect, it } from 'vitest';
import { bodyBudget, fairShares } from '../../../src/bytes/body/fair-shares.ts';
import { CollectedReply, maxCopiedBytes } from '../../../src/stages/idempotency/claim.ts';
import { ampleNanos, gatewayInProcess } from '../../support/gateway-in-process.ts';
import {
  completeReply,
  defaultModels,
  model,
  replies,
  sampleRequests,
} from '../../support/models.ts';
import { turns } from '../ports/failing.ts';
import { keyed } from './idempotent-calls.ts';

const embedder = model({ id: 'embedder', protocols: ['embeddings'] });

describe('a paid image can be repeated after embeddings of another key', () => {
  it.each([
    [4, 17_000_000],
    [5, 15_000_000],
    [40, 2_000_000],
  ])('%i replies of %i bytes', async (calls, bytes) => {
    const vector = embeddingsReply(bytes);
    const { call, upstream } = gatewayInProcess({
      models: [...defaultModels(), embedder],
      handlers: [
        completeReply('image'),
        ...Array.from({ length: calls }, () => (up: Upstream) => up.answer(200, vector)),
      ],
      options: { keys: { find: keyOf } },
    });
    await call(keyed(sampleRequests.image));
    await turns();
    for (let number = 0; number < calls; number += 1) {
      const body = { model: 'embedder', input: 'x', encoding_format: 'base64' };
      const headers = { authorization: 'Bearer other-secret' };
      const request = { path: '/v1/embeddings', body };
      expect((await call(keyed(request, `e${number}`, headers))).status).toBe(200);
      await turns();
    }

    const repeated = await call(keyed(sampleRequests.image));

    expect([repeated.status, repeated.text]).toEqual([200, replies.image]);
    expect(upstream.calls).toHaveLength(1 + calls);
  });
});

describe('copies of replies that one key receives at the same time leave room for another', () => {
  const orders = ['in step', 'one after the other'] as const;
  const cases = orders.flatMap((order) =>
    [1, 2, 3, 8, 64].flatMap((count) =>
      [1, 15, 16, 40].map((mebibytes) => [count, mebibytes, order] as const),
    ),
  );

  it.each(cases)('%i of %i MiB, %s', (count, mebibytes, order) => {
    const chunk = new Uint8Array(2 ** 20);
    const copies = fairShares(() => maxCopiedBytes);
    const greedy = Array.from({ length: count }, () => copyOf('greedy'));
    const turnsOf = Array.from({ length: mebibytes });
    if (order === 'in step') for (const _ of turnsOf) for (const copy of greedy) copy.add(chunk);
    else for (const copy of greedy) for (const _ of turnsOf) copy.add(chunk);

    const modest = copyOf('modest');
    for (let added = 0; added < 16; added += 1) modest.add(chunk);

    expect(modest.result()?.body.byteLength).toBe(16 * chunk.byteLength);
    for (const copy of [...greedy, modest]) copy.drop();
    expect(copies.taken()).toBe(0);

    function copyOf(keyId: string) {
      return new CollectedReply(bodyBudget(copies, keyId, undefined));
    }
  });
});

type Upstream = Parameters<ReturnType<typeof completeReply>>[0];

function keyOf(secret: string) {
  const quota = [{ id: secret, period: 'total', limitNanos: ampleNanos } as const];
  return { id: secret, group: 'staff', disabled: false, quota };
}

function embeddingsReply(bytes: number): string {
  const embedding = 'A'.repeat(bytes);
  const usage = { prompt_tokens: 1, total_tokens: 1 };
  return JSON.stringify({ data: [{ index: 0, embedding }], usage });
}
