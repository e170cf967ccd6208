/**
 * Checks the records that a host's key store or catalog returns. A record with a member of the
 * wrong type counts as no answer, and the call fails closed. Each model object is checked only
 * once, so that a model with a thousand channels costs its calls no more than one with a single
 * channel.
 */
import type { z } from 'zod';
import { isNanos } from '../ports/quota-input.ts';
import { areKeyRates } from '../ports/rates.ts';
import { modelSchema } from '../stores/memory/model-schema.ts';
import { type AnswerCheck, isMissing, isRecord, isText } from './port-answers.ts';

/** The checks of one gateway, with a cache of the models that have passed. */
export interface RecordChecks {
  /** True for a key's record, or nothing. */
  readonly isKeyOrMissing: AnswerCheck;
  /** True for a model that can be priced and served, or nothing. */
  readonly isModelOrMissing: AnswerCheck;
  /** True for a list of models. */
  readonly isModelList: AnswerCheck;
}

/** Makes the checks, with an empty cache. */
export function recordChecks(): RecordChecks {
  const isKnownModel = cached(isModel);
  const areKnownRates = cached(areKeyRates);
  return {
    isKeyOrMissing: (answer) => isKey(answer, areKnownRates) || isMissing(answer),
    isModelOrMissing: (answer) => isKnownModel(answer) || isMissing(answer),
    isModelList: (answer) => isListOf(isKnownModel, answer),
  };
}

/** Caches the objects that have passed a check. */
function cached(check: AnswerCheck): AnswerCheck {
  const known = new WeakSet<object>();
  return (answer) => {
    if (!isRecord(answer)) return false;
    if (known.has(answer)) return true;
    if (!check(answer)) return false;
    known.add(answer);
    return true;
  };
}

/**
 * A key with an `expiresAtMs` that is not a number would never expire, so its record is rejected.
 */
function isKey(value: unknown, areKnownRates: AnswerCheck): boolean {
  if (!isRecord(value)) return false;
  const { id, group, disabled, expiresAtMs, quotaPartition, maxConcurrentCalls } = value;
  const { quota, rates } = value;
  return (
    isText(id) &&
    isText(group) &&
    typeof disabled === 'boolean' &&
    (expiresAtMs === undefined || isNumber(expiresAtMs)) &&
    (quotaPartition === undefined || isText(quotaPartition)) &&
    (maxConcurrentCalls === undefined || isNumber(maxConcurrentCalls)) &&
    (rates === undefined || areKnownRates(rates)) &&
    isListOf(isSubject, quota)
  );
}

function isSubject(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { id, period, limitNanos, maxConcurrentCalls, visible } = value;
  return (
    isText(id) &&
    (period === 'total' || period === 'day' || period === 'month') &&
    (limitNanos === undefined || isNanos(limitNanos)) &&
    (visible === undefined || typeof visible === 'boolean') &&
    (maxConcurrentCalls === undefined || isNumber(maxConcurrentCalls))
  );
}

/** Checks a model by the same schema as a catalog in code. */
function isModel(value: unknown): boolean {
  const { error } = modelSchema.safeParse(value);
  return error?.issues.every((issue) => isTolerable(issue, value)) ?? true;
}

/**
 * Some issues are tolerated. A host's records may have extra members, except among rate limits,
 * where a misspelt limit would limit nothing. A protocol or dialect that the gateway does not know
 * is not served; the gateway's tables decide that, and not this check.
 */
function isTolerable({ code, path }: z.core.$ZodIssue, model: unknown): boolean {
  if (code === 'unrecognized_keys') return path.at(0) !== 'rates';
  const isKind = path.at(0) === 'protocols' || path.at(-1) === 'dialect';
  return isKind && code === 'invalid_value' && isText(valueAt(model, path));
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (holder, name) => (isRecord(holder) ? Reflect.get(holder, name) : undefined),
    value,
  );
}

function isListOf(isValid: AnswerCheck, value: unknown): boolean {
  return Array.isArray(value) && value.every(isValid);
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value);
}
