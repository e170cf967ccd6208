/**
 * Checks the answers of ports. A store that answers anything else than its contract allows is
 * treated as one that is down, so that calls fail closed.
 */

import { maxLines } from '../../ports/limits/quota-input.ts';

export interface AnswerCheck {
  (answer: unknown): boolean;
  readonly wrongMember?: (answer: unknown) => WrongMember | undefined;
}

export interface WrongMember {
  /** Its path: `quota[0].limitNanos`. */
  readonly member: string;
  /** `must be …`, and the remedy. */
  readonly problem: string;
}

/** For operations whose answer is ignored. */
export const isAnything: AnswerCheck = () => true;

/** A rate limiter's answer to this many takes: its grant, or its refusal with a time to wait. */
export function isRateDecision(takeCount: number): AnswerCheck {
  return (answer) => {
    if (!isRecord(answer)) return false;
    const { granted, remaining, refused, retryAfterMs } = answer;
    if (!Array.isArray(remaining) || remaining.length !== takeCount) return false;
    if (!remaining.every(isTime)) return false;
    if (granted !== false) return granted === true;
    return isTime(retryAfterMs) && isTime(refused) && Number.isSafeInteger(refused);
  };
}

export function isReserveResult(lineCount: number): AnswerCheck {
  return reserveChecks[lineCount] ?? isHeldOrRefused(lineCount);
}

function isHeldOrRefused(lineCount: number): AnswerCheck {
  return (answer) => {
    if (!isRecord(answer)) return false;
    const { status, expiresAtMs, available } = answer;
    switch (status) {
      case 'held':
        return isTime(expiresAtMs) && isAmounts(available, lineCount);
      case 'insufficient':
        return typeof available === 'bigint';
      case 'too_many_in_flight':
      case 'unknown_subject':
      case 'disabled_subject':
        return true;
      default:
        // A new id can't have ended already or name another hold, and other statuses are not in the
        // contract.
        return false;
    }
  };
}

/** The checks by number of lines, made once because every call needs one. */
const reserveChecks: readonly AnswerCheck[] = Array.from({ length: maxLines + 1 }, (_, count) =>
  isHeldOrRefused(count),
);

const isExtendResult: AnswerCheck = hasStatus('held', 'insufficient', 'gone');

export function isExtendResults(inputCount: number): AnswerCheck {
  return (answer) =>
    Array.isArray(answer) && answer.length === inputCount && answer.every(isExtendResult);
}

/** `conflict` is not legal, because the gateway never settles what it released. */
export const isSettleResult: AnswerCheck = hasStatus('settled', 'settled_late', 'already');

/** The answer to the end of a hold by the host, which may have been ended before. */
export const isResolveResult: AnswerCheck = hasStatus(
  ...['settled', 'settled_late', 'already', 'released', 'conflict'],
);

export const isReleaseResult: AnswerCheck = hasStatus('released', 'already');

const isClaimed: AnswerCheck = hasStatus('claimed');
const isTaken: AnswerCheck = hasStatus('taken');

export const isClaimResult: AnswerCheck = (answer) =>
  isClaimed(answer) || (isTaken(answer) && isClaimRecord(field(answer, 'record')));

export const isFinishResult: AnswerCheck = hasStatus('finished', 'gone');

export const isAbandonResult: AnswerCheck = hasStatus('abandoned', 'gone');

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

export function areEntries(count: number): AnswerCheck {
  return (answer) =>
    isListOf(answer, count) && answer.every((one) => isMissing(one) || isEntry(one));
}

function isEntry(entry: unknown): boolean {
  const maxTokens = field(entry, 'maxTokens');
  return (
    ['id', 'owner', 'account', 'modelId'].every((name) => isText(field(entry, name))) &&
    (isMissing(maxTokens) || isTime(maxTokens))
  );
}

export function areItems(count: number): AnswerCheck {
  return (answer) =>
    isListOf(answer, count) && answer.every((one) => isMissing(one) || one instanceof Uint8Array);
}

/** The ids of items that a store did not keep. */
export const areTexts: AnswerCheck = (answer) => Array.isArray(answer) && answer.every(isText);

function isListOf(answer: unknown, count: number): answer is readonly unknown[] {
  return Array.isArray(answer) && answer.length === count;
}

export const isSweepResult: AnswerCheck = (answer) => isTime(field(answer, 'expired'));

export const isQuotaStateOrMissing: AnswerCheck = (answer) =>
  isMissing(answer) ||
  (['limit', 'extra', 'used', 'held'].every((name) => isBigint(field(answer, name))) &&
    typeof field(answer, 'enabled') === 'boolean');

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

function isHeaderText(value: unknown): boolean {
  return typeof value === 'string' && /^[\x20-\x7e]+$/.test(value);
}

function isAmounts(value: unknown, count: number): boolean {
  return Array.isArray(value) && value.length === count && value.every(isBigint);
}

function hasStatus(...known: readonly unknown[]): AnswerCheck {
  const statuses = new Set(known);
  return (answer) => isRecord(answer) && statuses.has(answer.status);
}

function isBigint(value: unknown): boolean {
  return typeof value === 'bigint';
}

/** True for undefined, and for `null`, which is a database's answer for not found. */
export function isMissing(value: unknown): boolean {
  return value === undefined || value === null;
}

export function isTextOrMissing(value: unknown): boolean {
  return isText(value) || isMissing(value);
}

export function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function isTime(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && Number.isFinite(value);
}

/** Inherited members count, because a host's records may be class instances. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function field(value: unknown, name: string): unknown {
  return isRecord(value) ? value[name] : undefined;
}
