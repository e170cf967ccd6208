/**
 * Whether what a host's key store or catalog found can be served: a record with a member of another
 * type than the port says is no answer, and a call fails closed. A model is read through once: one
 * with a thousand channels costs its calls no more than one with a single channel.
 */
import type { z } from 'zod';
import { isNanos } from '../ports/quota-input.ts';
import { modelSchema } from '../stores/memory/model-schema.ts';
import { type AnswerCheck, isMissing, isText } from './port-answers.ts';

/** The checks of one gateway, which remember the models that were found good. */
export interface FoundRecords {
  /** A key's record, or nothing. */
  readonly isFoundKey: AnswerCheck;
  /** A model that can be priced and served, or nothing. */
  readonly isFoundModel: AnswerCheck;
  /** A list of models. */
  readonly isModelList: AnswerCheck;
}

/** Nothing has been found yet. */
export function foundRecords(): FoundRecords {
  const isKnownModel = once(isModel);
  return {
    isFoundKey: (answer) => isMissing(answer) || isKey(answer),
    isFoundModel: (answer) => isMissing(answer) || isKnownModel(answer),
    isModelList: (answer) => isListOf(isKnownModel, answer),
  };
}

/** The same check, which takes an object that has passed it for good from then on. */
function once(isGood: AnswerCheck): AnswerCheck {
  const good = new WeakSet<object>();
  return (answer) => {
    if (!isRecord(answer)) return false;
    if (good.has(answer)) return true;
    if (!isGood(answer)) return false;
    good.add(answer);
    return true;
  };
}

/** An expiry that is no number would never come: that is no answer. */
function isKey(value: unknown): boolean {
  return (
    isRecord(value) &&
    isText(value.id) &&
    isText(value.group) &&
    typeof value.disabled === 'boolean' &&
    isLeftOutOr(isNumber, value.expiresAtMs) &&
    isLeftOutOr(isText, value.quotaPartition) &&
    isLeftOutOr(isNumber, value.maxConcurrentCalls) &&
    isListOf(isSubject, value.quota)
  );
}

function isSubject(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { id, period, limitNanos, maxConcurrentCalls } = value;
  return (
    isText(id) &&
    (period === 'total' || period === 'day' || period === 'month') &&
    isLeftOutOr(isNanos, limitNanos) &&
    isLeftOutOr(isNumber, maxConcurrentCalls)
  );
}

/** By the schema of catalogs in code. */
function isModel(value: unknown): boolean {
  const { error } = modelSchema.safeParse(value);
  return error?.issues.every((issue) => isTolerable(issue, value)) ?? true;
}

/**
 * A host's records may have members of their own besides. A protocol or a dialect that the gateway
 * does not know is one that it does not serve: its tables decide, and not this check.
 */
function isTolerable({ code, path }: z.core.$ZodIssue, model: unknown): boolean {
  if (code === 'unrecognized_keys') return true;
  const isKind = path.at(0) === 'protocols' || path.at(-1) === 'dialect';
  return isKind && code === 'invalid_value' && isText(valueAt(model, path));
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (holder, name) => (isRecord(holder) ? Reflect.get(holder, name) : undefined),
    value,
  );
}

function isLeftOutOr(isOne: AnswerCheck, value: unknown): boolean {
  return value === undefined || isOne(value);
}

function isListOf(isOne: AnswerCheck, value: unknown): boolean {
  return Array.isArray(value) && value.every(isOne);
}

/** Anything with members; inherited ones count, for a host's records may be instances. */
function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value);
}
