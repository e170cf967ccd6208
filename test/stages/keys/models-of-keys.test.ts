// suite: quick
/**
 * Keys that may use some models of their group only, and budgets for some models only: what a call
 * costs is charged on each subject that is for the model that served it, and on no other.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { QuotaSubject } from '../../../src/ports/keys/key-store.ts';
import type { CallHandler } from '../../support/driven-upstream.ts';
import { gatewayInProcess } from '../../support/gateway-in-process.ts';
import { channel, chat, completeReply, model } from '../../support/models.ts';

const names = ['a', 'b', 'c'] as const;
type Name = (typeof names)[number];

const modelNamed = (id: Name, fallbacks: readonly Name[] = []) =>
  model({
    id,
    aliases: [`${id}-latest`],
    channels: [channel({ id: `channel-${id}`, baseUrl: `https://${id}.example/v1` })],
    ...(fallbacks.length === 0 ? {} : { fallbacks }),
  });

describe('a key with models', () => {
  it.each([['a'], ['a-latest']])('may use the model that it names as %s', async (name) => {
    const { call } = gatewayInProcess({
      models: names.map((id) => modelNamed(id)),
      key: { models: [name] },
      handlers: [completeReply('chat')],
    });

    expect((await call(chat({ model: 'a' }))).status).toBe(200);
  });

  it('is refused any other, with a remedy for the host that names its models', async () => {
    const { call, allEvents } = gatewayInProcess({
      models: names.map((id) => modelNamed(id)),
      key: { models: ['a'] },
    });

    const { status, text } = await call(chat({ model: 'b' }));

    expect(status).toBe(403);
    expect(text).toContain('This key may not use the model');
    expect(allEvents.at(-1)).toMatchObject({
      type: 'call_refused',
      code: 'model_not_allowed',
      remedy: expect.stringContaining('The `models` of the key are ["a"]'),
    });
  });

  it('lists and finds these models only', async () => {
    const { call } = gatewayInProcess({
      models: names.map((id) => modelNamed(id)),
      key: { models: ['a', 'c-latest'] },
    });

    const list = await call({ method: 'GET', path: '/v1/models' });
    const statuses = await Promise.all(
      names.map(async (id) => (await call({ method: 'GET', path: `/v1/models/${id}` })).status),
    );

    const { data } = JSON.parse(list.text);
    expect(data.map(({ id }: { id: string }) => id)).toEqual(['a', 'c']);
    expect(statuses).toEqual([200, 404, 200]);
  });

  it('does not fall back to another model', async () => {
    const refused: CallHandler = (up) => up.answer(429, { error: { message: 'Slow down.' } });
    const { call, upstream } = gatewayInProcess({
      models: [modelNamed('a', ['b']), modelNamed('b')],
      key: { models: ['a'] },
      handlers: [refused, completeReply('chat')],
    });

    expect((await call(chat({ model: 'a' }))).status).toBe(429);
    expect(upstream.calls.length).toBe(1);
  });
});

/** A subject for some models, by letter; for all, if it has none. */
const subjects = fc.uniqueArray(
  fc.record({
    id: fc.constantFrom('one', 'two', 'three', 'caller'),
    models: fc.option(fc.uniqueArray(fc.constantFrom(...names), { minLength: 1 }), {
      nil: undefined,
    }),
  }),
  { selector: ({ id }) => id, minLength: 1, maxLength: 4 },
);

const isFor = ({ models }: Pick<QuotaSubject, 'models'>, id: Name): boolean =>
  models === undefined || models.includes(id);

describe('a budget for some models', () => {
  it('is charged for the calls of these, also after a fallback, and never escaped', async () => {
    await fc.assert(
      fc.asyncProperty(
        subjects,
        fc.constantFrom(...names),
        fc.uniqueArray(fc.constantFrom(...names), { maxLength: 2 }),
        fc.uniqueArray(fc.constantFrom(...names), { maxLength: 3 }),
        fc.option(fc.constant(3), { nil: undefined }),
        async (shapes, asked, fallbacks, broken, maxConcurrentCalls) => {
          const quota = shapes.map(({ id, models }): QuotaSubject => {
            const subject = { id, period: 'total', limitNanos: 1_000_000n } as const;
            return models === undefined ? subject : { ...subject, models };
          });
          const others = fallbacks.filter((name) => name !== asked);
          const answer: CallHandler = (up) => {
            const name = new URL(up.request.origin).hostname[0];
            if (broken.some((one) => one === name)) up.answer(429, { error: { message: 'No.' } });
            else completeReply('chat')(up);
          };
          const harness = gatewayInProcess({
            models: names.map((id) => modelNamed(id, id === asked ? others : [])),
            key: { quota, ...(maxConcurrentCalls === undefined ? {} : { maxConcurrentCalls }) },
            handlers: [answer, answer, answer, answer, answer],
          });

          const { status } = await harness.call(chat({ model: asked }));

          const held = quota.filter((subject) => isFor(subject, asked));
          if (held.length === 0) {
            expect(status).toBe(403);
            expect(harness.allEvents.at(-1)).toMatchObject({ reason: 'no_subject' });
            return;
          }
          const covered = (name: Name): boolean => {
            const needed = quota.filter((subject) => isFor(subject, name));
            return needed.length > 0 && needed.every((subject) => held.includes(subject));
          };
          const served = [asked, ...others.filter(covered)].find((name) => !broken.includes(name));
          expect(status).toBe(served === undefined ? 429 : 200);
          const { chargeNanos, lines } = await harness.nextRecord();
          expect(chargeNanos > 0n).toBe(served !== undefined);
          for (const subject of quota) {
            const isCharged = served !== undefined && isFor(subject, served);
            const used = isCharged ? chargeNanos : 0n;
            expect(await harness.state(subject.id)).toEqual({ held: 0n, used, inFlight: 0 });
            // The log agrees: a line that holds nothing is not in the sums of the books.
            const line = lines.find((one) => one.subject === subject.id);
            const isInBooks = line !== undefined && line.heldNanos > 0n;
            if (served !== undefined) expect(isInBooks).toBe(isCharged);
          }
        },
      ),
      { numRuns: 120 },
    );
  });

  it('keeps its limit while calls of other models are counted on it', async () => {
    const quota = [
      { id: 'caller', period: 'total', limitNanos: 77n, models: ['b'] },
      { id: 'pool', period: 'total', limitNanos: 1_000_000n },
    ] as const;
    const harness = gatewayInProcess({
      models: names.map((id) => modelNamed(id)),
      key: { quota, maxConcurrentCalls: 1 },
      handlers: [completeReply('chat')],
    });

    expect((await harness.call(chat({ model: 'a' }))).status).toBe(200);

    expect((await harness.quota.read('caller', '', 'default'))?.limit).toBe(77n);
  });
});
