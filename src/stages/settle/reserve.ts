/** Holds the quota of a call on every subject that its key is charged to, in one atomic step. */

import { none, root } from '../../bytes/json/tape.ts';
import type { Clock } from '../../clock.ts';
import { GatewayError, isGatewayError } from '../../errors.ts';
import type { EventListener } from '../../events/events.ts';
import type { FailureReason } from '../../failure-reasons.ts';
import type { Nanos } from '../../money.ts';
import type { Settings } from '../../options.ts';
import { isStoreUnavailable, type MaybePromise } from '../../ports/call-options.ts';
import type { ApiKey, QuotaPeriod, QuotaSubject } from '../../ports/keys/key-store.ts';
import { defaultPartition, periodName } from '../../ports/limits/quota-input.ts';
import type { QuotaLine, ReserveInput, ReserveResult } from '../../ports/limits/quota-store.ts';
import type { Model } from '../../ports/models/catalog.ts';
import { formatMoney } from '../../prices/amount.ts';
import { maxCostOf } from '../../prices/cost.ts';
import type { Admitted } from '../call-record.ts';
import { isReserveResult } from '../ports/port-answers.ts';
import { isPending } from '../ports/port-calls.ts';
import { tooManyConcurrentCalls } from '../refuse.ts';
import { outputBound } from './hold.ts';
import type { Outbox } from './outbox.ts';
import { refusalLevels } from './quota-levels.ts';
import { type HeldSubject, isCharged, type Reservation } from './settlement.ts';

export type Reserve = (admitted: Admitted) => MaybePromise<Reservation>;

/** The function throws `insufficient_quota`, `rate_limited` or `store_unavailable`. */
export function reserver(emit: EventListener, outbox: Outbox, clock: Clock): Reserve {
  const periodFor = periodNames();
  const reportRefused = refusalLevels(emit, () => clock.monotonicMs());
  return (admitted) => {
    const { key, model, hold: planned, received } = admitted;
    const { settings, ports } = received;
    const { nanos } = planned;
    const subjects = heldSubjects(key, model);
    const nowMs = settings.clock.now();
    // Not by `map`, which makes arrays of another kind once it is optimised
    // (docs/internals/performance.md).
    const lines: QuotaLine[] = [];
    for (const subject of subjects) {
      lines.push(quotaLine(subject, periodFor(subject, nowMs), nanos));
    }
    const partition = key.quotaPartition ?? defaultPartition;
    const hold = { id: settings.ids(), partition, lines, subjects, nanos };
    const granted = (result: ReserveResult): Reservation => {
      if (result.status === 'held') return hold;
      if (result.status === 'insufficient') {
        const line = lines.find(({ subject }) => subject === result.subject);
        const call = { keyId: key.id, metadata: admitted.metadata, partition, ports };
        if (line !== undefined) void reportRefused({ ...call, line, quota: settings.quota });
      }
      throw reserveError(result, { key, nanos, shorter: shorterReply(admitted) });
    };
    const failed = (error: unknown): never => {
      // The hold may exist although the store did not answer. A release that arrives before its
      // reserve blocks the reserve.
      if (mayBeHeld(error)) {
        const { requestId } = received.responseContext;
        const end = { operation: 'release', input: { id: hold.id, partition, lines } } as const;
        void outbox.deliver({ requestId, end, quota: settings.quota, ports, emit });
      }
      throw error;
    };
    try {
      const result = ports.ask('quota', 'reserve', isReserveResult(lines.length), (options) =>
        settings.quota.reserve(reserveInput(hold, settings), options),
      );
      return isPending(result) ? result.then(granted).catch(failed) : granted(result);
    } catch (error) {
      return failed(error);
    }
  };
}

function reserveInput(
  { id, partition, lines, subjects }: Reservation,
  { leaseMs: ttlMs }: Settings,
): ReserveInput {
  const onExpire = 'release';
  if (!subjects.some(isLimited)) return { id, partition, lines, ttlMs, onExpire };
  const maxConcurrentCalls = subjects.map((subject) => subject.maxConcurrentCalls);
  return { id, partition, lines, ttlMs, onExpire, maxConcurrentCalls };
}

function isLimited({ maxConcurrentCalls }: HeldSubject): boolean {
  return maxConcurrentCalls !== undefined;
}

/** A store that is down need not get a release for each refusal. */
function mayBeHeld(error: unknown): boolean {
  if (!isGatewayError(error) || error.code !== 'store_unavailable') return false;
  const { cause } = error;
  return !(isStoreUnavailable(cause) && cause.outcome === 'not_done');
}

/** The subjects of a key that are for a model. Their own array, if all are. */
function subjectsFor(quota: ApiKey['quota'], model: Model): ApiKey['quota'] {
  for (const { models } of quota) {
    if (models !== undefined) return quota.filter((subject) => isCharged(subject, model));
  }
  return quota;
}

/** Whether a hold has a line for each subject that another model is charged on. */
export function coversModel({ subjects }: Reservation, { key, model }: Admitted): boolean {
  const needed = subjectsFor(key.quota, model);
  const isHeld = ({ id, period }: QuotaSubject): boolean =>
    subjects.some((held) => held.id === id && held.period === period && isCharged(held, model));
  return needed.length > 0 && needed.every(isHeld);
}

/**
 * The subjects in the order in which stores lock them. A key with `maxConcurrentCalls` and no line
 * of its own for the model gets an extra one that counts its calls.
 */
function heldSubjects(key: ApiKey, model: Model): readonly HeldSubject[] {
  const { id, maxConcurrentCalls } = key;
  const quota = subjectsFor(key.quota, model);
  if (quota.length === 0) throw noSubject(key, model);
  if (maxConcurrentCalls === undefined) return sorted(quota);
  const bounded = (subject: QuotaSubject): QuotaSubject => ({
    ...subject,
    maxConcurrentCalls: Math.min(
      maxConcurrentCalls,
      subject.maxConcurrentCalls ?? maxConcurrentCalls,
    ),
  });
  if (quota.some((subject) => subject.id === id)) {
    return sorted(quota.map((subject) => (subject.id === id ? bounded(subject) : subject)));
  }
  // The line of a subject that is for other models keeps its limit.
  const own = key.quota.find((subject) => subject.id === id);
  const counted: QuotaSubject = own ?? { id, period: 'total', limitNanos: 0n };
  return sorted([...quota, { ...bounded(counted), onlyCountsCalls: true }]);
}

function sorted(subjects: readonly HeldSubject[]): readonly HeldSubject[] {
  let before: HeldSubject | undefined;
  for (const subject of subjects) {
    if (before !== undefined && before.id > subject.id) return [...subjects].sort(byId);
    before = subject;
  }
  return subjects;
}

function byId(a: HeldSubject, b: HeldSubject): number {
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}

function quotaLine(
  { id, limitNanos, onlyCountsCalls }: HeldSubject,
  period: string,
  nanos: Nanos,
): QuotaLine {
  const amount = onlyCountsCalls ? 0n : nanos;
  return limitNanos === undefined
    ? { subject: id, period, amount }
    : { subject: id, period, amount, limit: limitNanos };
}

const dayMs = 86_400_000;

/** {@link periodName} with its results cached for the current UTC day. */
function periodNames(): typeof periodName {
  let knownDay: number | undefined;
  const names = new Map<QuotaPeriod | number, string>();
  return (limit, nowMs) => {
    const { period, anchorDay } = limit;
    if (period === 'total') return '';
    const day = Math.floor(nowMs / dayMs);
    if (day !== knownDay) {
      names.clear();
      knownDay = day;
    }
    const known = names.get(anchorDay ?? period);
    if (known !== undefined) return known;
    const name = periodName(limit, nowMs);
    names.set(anchorDay ?? period, name);
    return name;
  };
}

export interface RefusedCall {
  readonly key: Pick<ApiKey, 'id' | 'quota'>;
  readonly nanos: Nanos;
  /** The part of that which is held already. */
  readonly heldNanos?: Nanos;
  readonly shorter?: ShorterReply | undefined;
}

export function reserveError(
  result: Exclude<ReserveResult, { readonly status: 'held' }>,
  call: RefusedCall,
): GatewayError {
  if (result.status === 'too_many_in_flight') {
    return tooManyConcurrentCalls(result.subject === call.key.id ? 'key' : 'quota');
  }
  return result.status === 'insufficient'
    ? insufficientQuota(result, call)
    : noQuota(result.status);
}

/**
 * The error states the balance of the key's own subject and of those that the host made visible.
 * That of another may be shared, and would show what others spend; the event has it.
 */
function insufficientQuota(
  { subject, available }: Extract<ReserveResult, { readonly status: 'insufficient' }>,
  { key, nanos, heldNanos = 0n, shorter }: RefusedCall,
): GatewayError {
  const cost = formatMoney(nanos);
  const left = available + heldNanos;
  const leftText = formatMoney(left > 0n ? left : 0n);
  const isShown = visibleSubjects(key).some(({ id }) => id === subject);
  const whose = subject === key.id ? "this key's" : 'the';
  const balance = isShown ? `${leftText} is left of ${whose} quota` : 'the quota is not sufficient';
  const helps = shorter !== undefined && shorter.leastNanos <= left;
  const why = helps ? `, because up to ${shorter.heldTokens} output tokens are reserved,` : ',';
  const remedy = helps
    ? `Send a smaller \`${shorter.member}\`, or ask whoever issued the key.`
    : askForMore;
  return new GatewayError(
    'insufficient_quota',
    `This request may cost up to ${cost}${why} and ${balance}. ${remedy}`,
    { reason: 'insufficient', remedy: limitRemedy(subject, key, { cost, left: leftText }) },
  );
}

/** Amounts as decimal text. */
interface Shortage {
  readonly cost: string;
  readonly left: string;
}

function limitRemedy(
  subject: string,
  { quota }: RefusedCall['key'],
  { cost, left }: Shortage,
): string {
  const limitNanos = quota.find(({ id }) => id === subject)?.limitNanos;
  const limit = limitNanos === undefined ? '' : ` of its limit ${formatMoney(limitNanos)}`;
  const member = limitNanos === undefined ? 'its limit in the quota store' : 'its limit';
  return (
    `The quota subject ${JSON.stringify(subject)} has ${left}${limit} left, ` +
    `and the call may cost ${cost}: raise ${member}, if it is too low.`
  );
}

/** The subjects whose numbers the key's owner may see: others may be shared with other owners. */
export function visibleSubjects({
  id,
  quota,
}: Pick<ApiKey, 'id' | 'quota'>): readonly QuotaSubject[] {
  return quota.filter((subject) => subject.id === id || subject.visible === true);
}

const askForMore = 'Ask whoever issued the key.';

function noQuota(reason: FailureReason): GatewayError {
  return new GatewayError(
    'insufficient_quota',
    `The quota is not sufficient for this request. ${askForMore}`,
    { reason },
  );
}

function noSubject({ id }: ApiKey, model: Model): GatewayError {
  return new GatewayError(
    'insufficient_quota',
    `The key has no quota for this model. ${askForMore}`,
    {
      reason: 'no_subject',
      remedy:
        `Every quota subject of the key ${JSON.stringify(id)} has \`models\`, and none of them ` +
        `names ${JSON.stringify(model.id)}: add it, or a subject without \`models\`.`,
    },
  );
}

interface ShorterReply {
  /** The member of the request that limits the reply, as the caller spells it. */
  readonly member: string;
  readonly heldTokens: number;
  /** The hold of the same call if its reply were limited to one token. */
  readonly leastNanos: Nanos;
}

/** Undefined for an API whose replies have no limit. */
function shorterReply({
  route: { protocol },
  call,
  model,
  hold: { bound, request },
}: Admitted): ShorterReply | undefined {
  const [usual] = protocol.outputLimits;
  if (usual === undefined) return undefined;
  const { tape } = call;
  const sent = protocol.outputLimits.find((name) => tape.get(root, name) !== none);
  // `images` is the number of replies that the upstream may generate, whatever they consist of.
  const saved = bound.images * (outputBound(call, model) - 1);
  const least = { ...bound, outputTokens: bound.outputTokens - saved };
  return {
    member: sent ?? usual,
    heldTokens: bound.outputTokens,
    leastNanos: maxCostOf(least, model.price, request),
  };
}
