/**
 * What a port may answer. Every answer is checked: a store that answers otherwise is treated as one
 * that is down, and a call fails closed (QUOTA §2.4).
 */
import { isNanos } from '../ports/quota-input.ts';

/** Says whether an answer is one that its port's contract allows. */
export type AnswerCheck = (answer: unknown) => boolean;

/** What needs no answer. */
export const isAnything: AnswerCheck = () => true;

/**
 * A key's record, or nothing: a database's `null` is no key either. An expiry that is no number
 * would never come, so that it is no answer.
 */
export const isFoundKey: AnswerCheck = (answer) =>
  isMissing(answer) ||
  (isText(field(answer, 'id')) &&
    isText(field(answer, 'group')) &&
    typeof field(answer, 'disabled') === 'boolean' &&
    isExpiry(field(answer, 'expiresAtMs')) &&
    Array.isArray(field(answer, 'quota')));

/** A model that can be priced, or nothing. */
export const isFoundModel: AnswerCheck = (answer) => isMissing(answer) || isModel(answer);

/** A list of models. */
export const isModelList: AnswerCheck = (answer) => Array.isArray(answer) && answer.every(isModel);

/** A rate limiter's yes, or its no with a wait. */
export const isRateDecision: AnswerCheck = (answer) =>
  field(answer, 'granted') === true ||
  (field(answer, 'granted') === false && isTime(field(answer, 'retryAfterMs')));

/** The answer to a reserve of so many lines. */
export function isReserveResult(lineCount: number): AnswerCheck {
  return (answer) => {
    switch (field(answer, 'status')) {
      case 'held':
        return (
          isTime(field(answer, 'expiresAtMs')) && isAmounts(field(answer, 'available'), lineCount)
        );
      case 'insufficient':
        return typeof field(answer, 'available') === 'bigint';
      case 'too_many_in_flight':
      case 'unknown_subject':
      case 'disabled_subject':
        return true;
      default:
        // A fresh id that has ended already or stands for another hold, or no word of the contract.
        return false;
    }
  };
}

/** The answers to an extend of so many reservations. */
export function isExtendResults(inputCount: number): AnswerCheck {
  return (answer) =>
    Array.isArray(answer) &&
    answer.length === inputCount &&
    answer.every((result) => isStatus(result, ['held', 'insufficient', 'gone']));
}

/** The answer to a settle. `conflict` is none: the gateway never settles what it released. */
export const isSettleResult: AnswerCheck = (answer) =>
  isStatus(answer, ['settled', 'settled_late', 'already']);

/** The answer to a release. */
export const isReleaseResult: AnswerCheck = (answer) => isStatus(answer, ['released', 'already']);

/** How many leases a sweep expired. */
export const isSweepResult: AnswerCheck = (answer) => isTime(field(answer, 'expired'));

/** The store's own word on whether it is set up rightly. */
export const isCheckResult: AnswerCheck = (answer) =>
  field(answer, 'ok') === true ||
  (field(answer, 'ok') === false && Array.isArray(field(answer, 'problems')));

function isModel(value: unknown): boolean {
  return (
    isText(field(value, 'id')) &&
    ['protocols', 'groups', 'channels'].every((name) => Array.isArray(field(value, name))) &&
    isPrice(field(value, 'price'))
  );
}

/** A model without a price is not served: nothing is free by mistake. */
function isPrice(price: unknown): boolean {
  switch (field(price, 'per')) {
    case 'nothing':
      return true;
    case 'token':
      return (
        isNanos(field(price, 'inputPerMillionNanos')) &&
        isNanos(field(price, 'outputPerMillionNanos'))
      );
    case 'image': {
      const rows = field(price, 'rows');
      return Array.isArray(rows) && rows.every((row) => isNanos(field(row, 'nanos')));
    }
    default:
      return false;
  }
}

function isAmounts(value: unknown, count: number): boolean {
  return (
    Array.isArray(value) &&
    value.length === count &&
    value.every((amount) => typeof amount === 'bigint')
  );
}

function isStatus(value: unknown, known: readonly string[]): boolean {
  return known.some((status) => field(value, 'status') === status);
}

function isMissing(value: unknown): boolean {
  return value === undefined || value === null;
}

function isExpiry(value: unknown): boolean {
  return value === undefined || (typeof value === 'number' && Number.isFinite(value));
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function isTime(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && Number.isFinite(value);
}

/** A member of anything; inherited ones count, for a host's records may be instances. */
function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
