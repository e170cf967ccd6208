// suite: search
/**
 * Which of a call's models serves it, over generated accounts that fail, cool down and recover:
 * a call that no model has run fails only after every model that could serve it was tried.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { HealthStatus } from '../../../src/ports/health-status.ts';
import type { Channel, Model } from '../../../src/ports/models/catalog.ts';
import type { UsageRecord } from '../../../src/ports/usage-sink.ts';
import type { CallHandler } from '../../support/driven-upstream.ts';
import {
  type CallerReply,
  gatewayInProcess,
  type InProcessGateway,
  untouched,
} from '../../support/gateway-in-process.ts';
import { channel, completeReply, model, sampleRequests } from '../../support/models.ts';
import { runsOf } from '../../support/sample.ts';

const behaviors = ['well', 'unreachable', 'reset', 401, 403, 429, 500, 503] as const;
type Behavior = (typeof behaviors)[number];

interface AccountPlan {
  /** How it behaves in each round. */
  readonly rounds: readonly Behavior[];
  readonly isOff: boolean;
  /** A function names its account, so that its health is known only after that. */
  readonly hasFunction: boolean;
}

/** Why a fallback may not serve the call. */
const bans = ['group', 'protocol', 'guard', 'quota'] as const;

interface ModelPlan {
  readonly accounts: readonly AccountPlan[];
  readonly ban: (typeof bans)[number] | undefined;
}

interface Plan {
  readonly models: readonly ModelPlan[];
  /** Calls at the same time, and the time after them. */
  readonly rounds: readonly { readonly calls: number; readonly thenMs: number }[];
}

const roundCount = 6;
const often = <T>(usual: T, others: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: others });

const account: fc.Arbitrary<AccountPlan> = fc.record({
  rounds: fc.oneof(
    fc.constantFrom(...behaviors).map((behavior) => Array<Behavior>(roundCount).fill(behavior)),
    fc.array(fc.constantFrom(...behaviors), { minLength: roundCount, maxLength: roundCount }),
  ),
  isOff: often(false, fc.constant(true)),
  hasFunction: often(false, fc.constant(true)),
});

const plans: fc.Arbitrary<Plan> = fc.record({
  models: fc.array(
    fc.record({
      accounts: fc.array(account, { minLength: 1, maxLength: 2 }),
      ban: often<ModelPlan['ban']>(undefined, fc.constantFrom(...bans)),
    }),
    { minLength: 1, maxLength: 5 },
  ),
  rounds: fc.array(
    fc.record({ calls: often(1, fc.constant(5)), thenMs: fc.constantFrom(0, 1_000, 20_000) }),
    { minLength: roundCount, maxLength: roundCount },
  ),
});

/** The requested model is the first, which the key may use. */
const isPermitted = ({ ban }: ModelPlan, index: number): boolean =>
  index === 0 || ban === undefined;
const modelId = (index: number): string => (index === 0 ? 'chat' : `spare-${index}`);
/** Channel `1.0` is the first account of the first fallback. */
const modelOf = (channelId: string): number => Number(channelId.split('.')[0]);

function channelOf(id: string, { hasFunction }: AccountPlan): Channel {
  const credential = hasFunction
    ? () => ({ secret: 'a-secret', account: 'tenant' })
    : 'account-secret';
  return channel({ id, baseUrl: `https://${id}.example/v1`, credential });
}

function modelsOf({ models }: Plan): readonly Model[] {
  return models.map(({ accounts, ban }, index) => {
    const isRequested = index === 0;
    const change: Partial<Model> = {
      id: modelId(index),
      vendor: `Vendor${index}`,
      channels: accounts.map((each, place) => channelOf(`${index}.${place}`, each)),
      ...(isRequested ? { fallbacks: models.slice(1).map((_, at) => modelId(at + 1)) } : {}),
    };
    if (isRequested) return model(change);
    const rates = { input: 10_000_000n, output: ban === 'quota' ? 10n ** 12n : 20_000_000n };
    return model({
      ...change,
      groups: ban === 'group' ? ['others'] : ['staff'],
      price: { per: 'token', rates },
      ...(ban === 'protocol' ? { protocols: ['native'] } : {}),
    });
  });
}

/** The wait of a fallback's 429 is longer than that of the requested model. */
const waitSeconds = (channelId: string): number => (modelOf(channelId) === 0 ? 7 : 1_000);

const handlerOf: Readonly<Record<Exclude<Behavior, number>, CallHandler>> = {
  well: completeReply('chat'),
  unreachable: (up) => up.breakOff('connect_refused', { stage: 'connect' }),
  reset: (up) => up.breakOff('reset', { stage: 'sent' }),
};

function handler(behavior: Behavior, channelId: string): CallHandler {
  if (typeof behavior === 'string') return handlerOf[behavior];
  const headers = behavior === 429 ? { 'retry-after': String(waitSeconds(channelId)) } : {};
  return (up) => up.answer(behavior, { error: { message: 'No.' } }, headers);
}

/** What a test knows of the accounts: how each behaves now, and its failures in a row. */
interface Knowledge {
  readonly plan: Plan;
  readonly now: ReadonlyMap<string, Behavior>;
  readonly failures: ReadonlyMap<string, readonly Behavior[]>;
  /** The health of channels and of their models, as the operator sees it. */
  readonly seen: ReadonlyMap<string, readonly HealthStatus[]>;
}

interface CallResult {
  readonly reply: CallerReply;
  readonly record: UsageRecord;
  readonly isAlone: boolean;
}

it('a call fails unrun only if no permitted model could serve it', async () => {
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      const channelIds = plan.models.flatMap(({ accounts }, index) =>
        accounts.map((each, place) => ({ id: `${index}.${place}`, ...each })),
      );
      const now = new Map<string, Behavior>();
      const running = gatewayInProcess({
        handlers: Array<CallHandler>(1_000).fill((up) => {
          const id = new URL(up.request.origin).hostname.replace('.example', '');
          handler(now.get(id) ?? 500, id)(up);
        }),
        models: modelsOf(plan),
        options: { guard: { check: ({ model: { id } }) => guardAnswer(plan, id) } },
      });
      for (const { id, isOff } of channelIds) if (isOff) running.gateway.disableChannel(id);
      const failures = new Map<string, readonly Behavior[]>();
      let charged = 0n;
      for (const [round, { calls, thenMs }] of plan.rounds.entries()) {
        for (const { id, rounds } of channelIds) now.set(id, rounds[round] ?? 'well');
        const known = { plan, now, failures, seen: healthSeen(running) };
        const results = await callsOf(calls, running);
        for (const result of results) check(result, known);
        for (const { record } of results) {
          charged += record.chargeNanos;
          for (const { channelId } of record.attempts) {
            const behavior = now.get(channelId) ?? 'well';
            const before = failures.get(channelId) ?? [];
            failures.set(channelId, behavior === 'well' ? [] : [...before, behavior]);
          }
        }
        running.clock.advance(thenMs);
      }
      expect(await running.state()).toEqual({ ...untouched, used: charged });
    }),
    { numRuns: runsOf(1_500) },
  );
});

function healthSeen({ gateway }: InProcessGateway): Knowledge['seen'] {
  return new Map(
    gateway.channels().map((status) => [status.channelId, [status, ...status.models]]),
  );
}

function guardAnswer({ models }: Plan, id: string): undefined | { readonly refuse: string } {
  const banned = models.some(({ ban }, index) => ban === 'guard' && modelId(index) === id);
  return banned && id !== 'chat' ? { refuse: 'Not with this model.' } : undefined;
}

async function callsOf(count: number, running: InProcessGateway): Promise<readonly CallResult[]> {
  const replies = await Promise.all(
    Array.from({ length: count }, () => running.call(sampleRequests.chat)),
  );
  const records: UsageRecord[] = [];
  for (let read = 0; read < count; read += 1) records.push(await running.nextRecord());
  return replies.map((reply) => {
    const record = records.find(({ requestId }) => requestId === reply.headers['x-request-id']);
    if (record === undefined) throw new Error('a call without a record');
    return { reply, record, isAlone: count === 1 };
  });
}

function check({ reply, record, isAlone }: CallResult, known: Knowledge): void {
  const { plan, now } = known;
  const tried = record.attempts.map(({ channelId }) => modelOf(channelId));
  const context = JSON.stringify({ plan, now: [...now], attempts: record.attempts });
  // A banned model is never tried, and a call that may have run stays where it is.
  for (const index of tried) expect(isPermittedAt(plan, index), context).toBe(true);
  const ran = record.attempts.findIndex(({ mayHaveRun }) => mayHaveRun);
  if (ran >= 0) expect(new Set(tried.slice(ran)).size, context).toBe(1);

  const sparedAt = record.attempts.findIndex(({ channelId }) =>
    known.seen.get(channelId)?.some(({ state }) => state === 'cooling_down'),
  );
  // Calls at the same time change what was seen before them.
  for (const index of sparedAt < 0 || !isAlone ? [] : readyModels(known)) {
    expect(tried.slice(0, sparedAt), `${index} comes first: ${context}`).toContain(index);
  }

  if (reply.status === 200) {
    const served = tried.at(-1) ?? 0;
    expect(record.modelId, context).toBe(modelId(served));
    expect(reply.headers['x-tollgate-model'], context).toBe(
      served === 0 ? undefined : modelId(served),
    );
    expect(record.chargeNanos, context).toBe(served === 0 ? 20n : 200n);
    return;
  }
  const { text, headers } = reply;
  expect(`${text} ${JSON.stringify(headers)}`, context).not.toMatch(/Vendor[1-9]|spare-/);
  if (waitsForRequested(known, record)) {
    const seconds = Number(headers['retry-after']);
    expect(seconds, context).toBeGreaterThanOrEqual(1);
    expect(seconds, context).toBeLessThanOrEqual(7);
  }
  if (ran >= 0) return;
  for (const [index] of plan.models.entries()) {
    if (isPermittedAt(plan, index) && !tried.includes(index)) {
      expect(couldServe(index, known, isAlone), `model ${index} was not tried: ${context}`).toBe(
        false,
      );
    }
  }
  expect(record.chargeNanos, context).toBe(0n);
}

function isPermittedAt({ models }: Plan, index: number): boolean {
  const found = models[index];
  return found !== undefined && isPermitted(found, index);
}

/**
 * The model has an account that takes a call: it has not failed since its last success, or its last
 * failure lets it take one call at a time.
 */
function couldServe(index: number, { plan, failures }: Knowledge, isAlone: boolean): boolean {
  const accounts = plan.models[index]?.accounts ?? [];
  return accounts.some(({ isOff }, place) => {
    const latest = failures.get(`${index}.${place}`)?.at(-1);
    return !isOff && (latest === undefined || (isAlone && (latest === 429 || latest === 503)));
  });
}

/** The permitted models that have an account which is known to be ready. */
function readyModels({ plan, seen }: Knowledge): readonly number[] {
  const isReady = (id: string, { isOff, hasFunction }: AccountPlan): boolean =>
    !isOff && !hasFunction && (seen.get(id) ?? []).every(({ state }) => state === 'ready');
  return [...plan.models.keys()].filter(
    (index) =>
      isPermittedAt(plan, index) &&
      plan.models[index]?.accounts.some((each, place) => isReady(`${index}.${place}`, each)),
  );
}

/** No account of the requested model has failed in another way than by 429 since it served. */
function waitsForRequested({ plan, now, failures }: Knowledge, { attempts }: UsageRecord): boolean {
  const accounts = plan.models[0]?.accounts ?? [];
  return accounts.every(({ isOff }, place) => {
    const id = `0.${place}`;
    const latest = attempts.some(({ channelId }) => channelId === id) ? [now.get(id)] : [];
    const all = [...(failures.get(id) ?? []), ...latest];
    return !isOff && all.length > 0 && all.every((behavior) => behavior === 429);
  });
}
