// suite: search
/** Row F67 of the fault matrix: ports that return arbitrary values, hundreds of times each. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { GatewayOptions } from '../../../src/gateway-options.ts';
import type { QuotaStore } from '../../../src/ports/limits/quota-store.ts';
import { turns, untyped } from '../../stages/ports/failing.ts';
import { gatewayInProcess } from '../../support/gateway-in-process.ts';
import { completeReply, kinds, model, sampleRequests } from '../../support/models.ts';
import { takeWarnings } from '../../support/runner/process-warnings.ts';
import { countedRows } from '../rows/counted.ts';

countedRows('F67');

const numRuns = process.env.TEST_FORM === 'full' ? 600 : 200;

/** Any JavaScript value, including objects without a prototype and big integers. */
const anything: fc.Arbitrary<unknown> = fc.anything({
  withBigInt: true,
  withDate: true,
  withMap: true,
  withNullPrototype: true,
  withObjectString: true,
  withTypedArray: true,
  maxDepth: 2,
});

/** A valid answer in which one member has an arbitrary value or is missing. */
function withOneBadMember(right: Readonly<Record<string, unknown>>): fc.Arbitrary<unknown> {
  const names = Object.keys(right);
  return fc
    .tuple(fc.constantFrom(...names), fc.option(anything, { nil: undefined }))
    .map(([name, value]) => ({ ...right, [name]: value }));
}

const key = {
  id: 'caller',
  group: 'staff',
  disabled: false,
  quota: [{ id: 'caller', period: 'total', limitNanos: 1_000_000n }],
};
const held = { status: 'held', replay: false, expiresAtMs: 1, available: [1n] };

/** A port with one arbitrary answer, and the statuses that its call may have. */
interface Fuzzed {
  readonly port: string;
  readonly answers: fc.Arbitrary<unknown>;
  readonly options?: (answer: unknown) => Partial<GatewayOptions>;
  readonly store?: (answer: unknown, real: QuotaStore) => Partial<QuotaStore>;
  readonly statuses: readonly number[];
}

const checked = [200, 401, 403, 404, 429, 503];

const fuzzed: readonly Fuzzed[] = [
  {
    port: 'keys.find',
    answers: fc.oneof(anything, withOneBadMember(key)),
    options: (answer) => ({ keys: { find: untyped(answer) } }),
    statuses: checked,
  },
  {
    port: 'catalog.find',
    answers: fc.oneof(anything, withOneBadMember({ ...model() })),
    options: (answer) => ({ catalog: { find: untyped(answer), list: untyped([answer]) } }),
    statuses: [200, 400, 403, 404, 502, 503],
  },
  {
    port: 'rateLimiter.take',
    answers: fc.oneof(
      anything,
      withOneBadMember({ granted: false, refused: 0, retryAfterMs: 1, remaining: [0] }),
    ),
    options: (answer) => ({
      defaultRates: [{ calls: { perMinute: 1 } }],
      rateLimiter: { take: untyped(answer), adjust: () => {} },
    }),
    statuses: [200, 429, 503],
  },
  {
    port: 'rateLimiter.adjust',
    answers: anything,
    options: (answer) => ({
      defaultRates: [{ tokens: { perDay: 1_000_000 } }],
      rateLimiter: {
        take: () => ({ granted: true, remaining: [1] }),
        adjust: untyped(answer),
      },
    }),
    statuses: [200],
  },
  {
    port: 'quota.reserve',
    answers: fc.oneof(anything, withOneBadMember(held)),
    store: (answer) => ({ reserve: untyped(answer) }),
    statuses: [200, 403, 429, 503],
  },
  {
    port: 'quota.settle',
    answers: fc.oneof(anything, withOneBadMember({ status: 'settled' })),
    store: (answer, real) => ({
      settle: async (input, options) => {
        await real.settle(input, options);
        return untyped(answer)();
      },
    }),
    statuses: [200],
  },
  {
    port: 'quota.check and quota.sweep',
    answers: anything,
    store: (answer) => ({ check: untyped(answer), sweep: untyped(answer) }),
    statuses: [200],
  },
  {
    port: 'usage.record',
    answers: anything,
    options: (answer) => ({ usage: { record: untyped(answer), close: untyped(answer) } }),
    statuses: [200],
  },
  {
    port: 'onEvent',
    answers: anything,
    options: (answer) => ({ onEvent: untyped(answer) }),
    statuses: [200],
  },
];

it.each(
  fuzzed,
)('F67 $port may return anything: no call fails with an internal error', async (row) => {
  const { answers, options = () => ({}), store = () => ({}), statuses } = row;
  const sent = fc.constantFrom(...kinds);

  await fc.assert(
    fc.asyncProperty(sent, answers, async (kind, answer) => {
      const { call, events, upstream } = gatewayInProcess({
        handlers: [completeReply(kind)],
        options: options(answer),
        store: (real) => store(answer, real),
      });

      const { status } = await call(sampleRequests[kind]);
      await turns();

      expect(statuses).toContain(status);
      expect(events.filter(({ type }) => type === 'internal_error')).toEqual([]);
      // A refused call has not reached the upstream. A model may now serve an API whose reply the
      // upstream does not have.
      if (![200, 502].includes(status)) expect(upstream.calls).toEqual([]);
    }),
    { numRuns },
  );
  // A key's record may name a group that no model lists.
  const codes = (await takeWarnings()).map((warning) => Reflect.get(warning, 'code'));
  expect(codes.filter((code) => code !== 'TOLLGATE_GROUP_WITHOUT_MODELS')).toEqual([]);
});

it('F67 only an answer that keeps to the contract lets a call through', async () => {
  await fc.assert(
    fc.asyncProperty(anything, async (answer) => {
      const { call, upstream } = gatewayInProcess({ store: () => ({ reserve: untyped(answer) }) });

      expect((await call(sampleRequests.chat)).status).not.toBe(200);
      expect(upstream.calls).toEqual([]);
    }),
    { numRuns },
  );
});
