/**
 * Lists the rate limits that apply to a call, from the record of its key and from its model, with
 * the amounts that it takes.
 */
import type { CallEnding } from '../../charge-policy.ts';
import type { HeaderMap } from '../../http.ts';
import type { ApiKey } from '../../ports/keys/key-store.ts';
import type { RatePeriodMs, RateTake } from '../../ports/limits/rate-limiter.ts';
import type { AmountPerPeriod, KeyRateLimits, RateLimits } from '../../ports/limits/rates.ts';
import type { Model } from '../../ports/models/catalog.ts';
import { exactIdOf, isNamed } from '../../ports/models/model-defaults.ts';

export interface AppliedLimit {
  readonly take: RateTake;
  readonly counts: 'calls' | 'tokens';
  readonly period: 'minute' | 'hour' | 'day';
  /** Whose limit it is: the key's own, one that keys share, or one of all calls of the model. */
  readonly of: 'key' | 'quota' | 'model';
  /** A limit of the key, or one that it shares, that counts only calls of this model. */
  readonly isForOneModel: boolean;
  /** Callers may see its numbers. Those of other limits would reveal what other tenants use. */
  readonly isVisible: boolean;
}

export interface RateLevel {
  readonly limit: AppliedLimit;
  readonly remaining: number;
  /** On the monotonic clock. */
  readonly atMs: number;
}

export interface RateLevels {
  readonly levels: readonly RateLevel[];
  readonly headers: HeaderMap;
}

/** What a call took from rate limits after its body was read. It is settled once, or given back. */
export interface TakenRates {
  /**
   * Corrects the tokens to those that the call used; undefined if that is not known. A call that
   * never ran gives back all.
   */
  settle(ending: CallEnding, tokens: number | undefined): void;
  /** Gives back all, unless it was settled. */
  giveBack(): void;
  replaceModel(limits: readonly AppliedLimit[]): void;
}

export function dependsOnModel({ of, isForOneModel }: AppliedLimit): boolean {
  return of === 'model' || isForOneModel;
}

/** The limits of calls of all models, which are known before the body is read. */
export function limitsOfCalls(key: ApiKey, rates: readonly KeyRateLimits[]): AppliedLimit[] {
  const limits: AppliedLimit[] = [];
  for (const rate of ownFirst(key, rates)) {
    if (rate.model !== undefined) continue;
    add(limits, rate.calls, { ...ownerOf(key, rate), counts: 'calls', amount: 1, model: '' });
  }
  return limits;
}

/**
 * The limits that depend on the model or count tokens. Those of the key come first, then those that
 * it shares, then the model's own, so that a key that is refused by its own limits takes nothing
 * that others could use. `tokens` is 0 for a call that uses none.
 */
export function limitsOfModel(
  key: ApiKey,
  rates: readonly KeyRateLimits[],
  model: Model,
  tokens: number,
): AppliedLimit[] {
  const limits: AppliedLimit[] = [];
  for (const rate of ownFirst(key, rates)) {
    if (rate.model !== undefined && !isNamed(model, rate.model)) continue;
    const isForOneModel = rate.model !== undefined;
    // Of a wildcard's models each has its own limit where it is named, and shares that of `id`.
    const limited = rate.model === model.exactId ? exactIdOf(model) : model.id;
    const owner = { ...ownerOf(key, rate), model: isForOneModel ? `.${limited}` : '' };
    if (isForOneModel) add(limits, rate.calls, { ...owner, counts: 'calls', amount: 1 });
    add(limits, rate.tokens, { ...owner, counts: 'tokens', amount: tokens });
  }
  addModelWide(limits, model, tokens);
  return limits;
}

function addModelWide(limits: AppliedLimit[], { id, rates }: Model, tokens: number): void {
  const { calls, tokens: tokenAmounts }: RateLimits = rates ?? {};
  const owner = { owner: `model.${id}`, of: 'model', isVisible: false, model: '' } as const;
  add(limits, calls, { ...owner, counts: 'calls', amount: 1 });
  add(limits, tokenAmounts, { ...owner, counts: 'tokens', amount: tokens });
}

interface Counted extends Pick<AppliedLimit, 'of' | 'isVisible' | 'counts'> {
  readonly owner: string;
  readonly amount: number;
  /** The end of the bucket's name, for limits of one model. */
  readonly model: string;
}

type Owner = Pick<Counted, 'owner' | 'of' | 'isVisible'>;

function ownerOf(key: ApiKey, { subject = key.id, visible }: KeyRateLimits): Owner {
  const isOwn = subject === key.id;
  const of = isOwn ? 'key' : 'quota';
  const isVisible = isOwn || (visible ?? isVisibleQuota(key, subject));
  return { owner: `subject.${subject}`, of, isVisible };
}

function isVisibleQuota({ quota }: ApiKey, subject: string): boolean {
  return quota.some(({ id, visible }) => visible === true && id === subject);
}

/** Orders by subject, because all takes of one subject must follow one another. */
function ownFirst(key: ApiKey, rates: readonly KeyRateLimits[]): readonly KeyRateLimits[] {
  if (rates.length < 2) return rates;
  const rank = ({ subject = key.id }: KeyRateLimits): string => (subject === key.id ? '' : subject);
  return [...rates].sort((a, b) => (rank(a) < rank(b) ? -1 : rank(a) > rank(b) ? 1 : 0));
}

/** Adds one limit for each stated period. Of two limits for one bucket, the lower one applies. */
function add(limits: AppliedLimit[], amounts: AmountPerPeriod | undefined, counted: Counted): void {
  const { owner, counts, amount, model, of, isVisible } = counted;
  if (amounts === undefined || amount === 0) return;
  for (const { period, member, periodMs } of periods) {
    const limit = amounts[member];
    if (limit === undefined) continue;
    const bucket = `${counts}.${period}${model}`;
    const take: RateTake = { owner, bucket, amount, limit, periodMs };
    const same = limits.findIndex(
      (known) => known.take.owner === owner && known.take.bucket === bucket,
    );
    const applied = { take, counts, period, of, isVisible, isForOneModel: model !== '' };
    if (same === -1) limits.push(applied);
    else if (limit < (limits[same]?.take.limit ?? limit)) limits[same] = applied;
  }
}

interface Period {
  readonly period: AppliedLimit['period'];
  readonly member: keyof AmountPerPeriod;
  readonly periodMs: RatePeriodMs;
}

const periods: readonly Period[] = [
  { period: 'minute', member: 'perMinute', periodMs: 60_000 },
  { period: 'hour', member: 'perHour', periodMs: 3_600_000 },
  { period: 'day', member: 'perDay', periodMs: 86_400_000 },
];
