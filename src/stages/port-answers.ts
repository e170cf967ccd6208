/**
 * What a port may answer. Every answer is checked: a store that answers otherwise is treated as one
 * that is down, and a call fails closed (QUOTA §2.4).
 */

import { maxLines } from '../ports/quota-input.ts';

/** Says whether an answer is one that its port's contract allows. */
export type AnswerCheck = (answer: unknown) => boolean;

/** What needs no answer. */
export const isAnything: AnswerCheck = () => true;

/** A rate limiter's yes, or its no with a wait. */
export const isRateDecision: AnswerCheck = (answer) =>
  field(answer, 'granted') === true ||
  (field(answer, 'granted') === false && isTime(field(answer, 'retryAfterMs')));

/** The answer to a reserve of so many lines. */
export function isReserveResult(lineCount: number): AnswerCheck {
  return reserveChecks[lineCount] ?? isHeldOrRefused(lineCount);
}

function isHeldOrRefused(lineCount: number): AnswerCheck {
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

/** By the number of lines: every call asks for one. */
const reserveChecks: readonly AnswerCheck[] = Array.from({ length: maxLines + 1 }, (_, count) =>
  isHeldOrRefused(count),
);

const isExtendResult: AnswerCheck = hasStatus('held', 'insufficient', 'gone');

/** The answers to an extend of so many reservations. */
export function isExtendResults(inputCount: number): AnswerCheck {
  return (answer) =>
    Array.isArray(answer) && answer.length === inputCount && answer.every(isExtendResult);
}

/** The answer to a settle. `conflict` is none: the gateway never settles what it released. */
export const isSettleResult: AnswerCheck = hasStatus('settled', 'settled_late', 'already');

/** The same, where a host ends a hold that somebody may have ended before. */
export const isResolveResult: AnswerCheck = hasStatus(
  'settled',
  'settled_late',
  'already',
  'released',
  'conflict',
);

/** The answer to a release. */
export const isReleaseResult: AnswerCheck = hasStatus('released', 'already');

const isClaimed: AnswerCheck = hasStatus('claimed');
const isTaken: AnswerCheck = hasStatus('taken');

/** A name that is the claimer's, or the record of whoever has it. */
export const isClaimResult: AnswerCheck = (answer) =>
  isClaimed(answer) || (isTaken(answer) && isClaimRecord(field(answer, 'record')));

/** How a claim ended. */
export const isFinishResult: AnswerCheck = hasStatus('finished', 'gone');

/** What became of a claim that was given up. */
export const isAbandonResult: AnswerCheck = hasStatus('abandoned', 'gone');

/** A reply that was kept, with headers that may be sent, or nothing. */
export const isFoundResult: AnswerCheck = (answer) => {
  if (isMissing(answer)) return true;
  const headers = field(answer, 'headers');
  return (
    field(answer, 'body') instanceof Uint8Array &&
    typeof headers === 'object' &&
    headers !== null &&
    Object.values(headers).every(isHeaderText)
  );
};

/** How many leases a sweep expired. */
export const isSweepResult: AnswerCheck = (answer) => isTime(field(answer, 'expired'));

/** The store's own word on whether it is set up rightly. */
export const isCheckResult: AnswerCheck = (answer) =>
  field(answer, 'ok') === true ||
  (field(answer, 'ok') === false && Array.isArray(field(answer, 'problems')));

function isClaimRecord(record: unknown): boolean {
  const state = field(record, 'state');
  return (
    (state === 'running' || state === 'done' || state === 'unknown') &&
    ['fingerprint', 'claimId'].every((name) => isText(field(record, name))) &&
    isHeaderText(field(record, 'requestId'))
  );
}

/** What may stand in a header of ours. */
function isHeaderText(value: unknown): boolean {
  return typeof value === 'string' && /^[\x20-\x7e]+$/.test(value);
}

function isAmounts(value: unknown, count: number): boolean {
  return Array.isArray(value) && value.length === count && value.every(isBigint);
}

function hasStatus(...known: readonly unknown[]): AnswerCheck {
  const statuses = new Set(known);
  return (answer) => statuses.has(field(answer, 'status'));
}

function isBigint(value: unknown): boolean {
  return typeof value === 'bigint';
}

/** No answer at all: a database's `null` is nothing found, too. */
export function isMissing(value: unknown): boolean {
  return value === undefined || value === null;
}

/** Text of one character at least. */
export function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function isTime(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && Number.isFinite(value);
}

/** A member of anything; inherited ones count, for a host's records may be instances. */
function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
