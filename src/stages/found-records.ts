/**
 * Whether what a host's key store or catalog found can be served: a record with a member of another
 * type than the port says is no answer, and a call fails closed. A model is read through once: one
 * with a thousand channels costs its calls no more than one with a single channel.
 */
import { isNanos } from '../ports/quota-input.ts';
import { type AnswerCheck, field, isMissing, isText } from './port-answers.ts';

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
    isLeftOutOr(isNumber, value.maxInFlight) &&
    isListOf(isSubject, value.quota)
  );
}

function isSubject(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { id, period, limitNanos, maxInFlight } = value;
  return (
    isText(id) &&
    (period === 'total' || period === 'day' || period === 'month') &&
    isLeftOutOr(isNanos, limitNanos) &&
    isLeftOutOr(isNumber, maxInFlight)
  );
}

const modelCounts = ['maxOutputTokens', 'contextTokens', 'tokensPerByte', 'maxCandidates'];

function isModel(value: unknown): boolean {
  return (
    isText(field(value, 'id')) &&
    isText(field(value, 'vendor')) &&
    isListOf(isText, field(value, 'protocols')) &&
    isListOf(isText, field(value, 'groups')) &&
    modelCounts.every((name) => isLeftOutOr(isNumber, field(value, name))) &&
    isLeftOutOr(isCounts, field(value, 'mediaPartTokens')) &&
    isLeftOutOr(isPermissions, field(value, 'allow')) &&
    isTimeouts(field(value, 'timeouts')) &&
    isPrice(field(value, 'price')) &&
    isListOf(isChannel, field(value, 'channels'))
  );
}

function isChannel(value: unknown): boolean {
  const credential = field(value, 'credential');
  return (
    isText(field(value, 'id')) &&
    isText(field(value, 'dialect')) &&
    isText(field(value, 'baseUrl')) &&
    (isText(credential) || typeof credential === 'function') &&
    isNumber(field(value, 'priority')) &&
    isNumber(field(value, 'weight')) &&
    isLeftOutOr(isText, field(value, 'upstreamModel')) &&
    isLeftOutOr(isNanos, field(value, 'maxPriceNanos')) &&
    isLeftOutOr(isNumber, field(value, 'maxConcurrentCalls')) &&
    isLeftOutOr((groups) => isListOf(isText, groups), field(value, 'groups')) &&
    isLeftOutOr((headers) => isRecordOf(isString, headers), field(value, 'headers')) &&
    isLeftOutOr(isRecord, field(value, 'capabilities')) &&
    isTimeouts(field(value, 'timeouts'))
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
        isNanos(field(price, 'outputPerMillionNanos')) &&
        isLeftOutOr(isNanos, field(price, 'cachedInputPerMillionNanos'))
      );
    case 'image':
      return isListOf((row) => isNanos(field(row, 'nanos')), field(price, 'rows'));
    default:
      return false;
  }
}

function isCounts(value: unknown): boolean {
  return isRecordOf((count) => isLeftOutOr(isNumber, count), value);
}

/** What is allowed must be said: anything else than true or a list of models allows nothing. */
function isPermissions(value: unknown): boolean {
  return isRecordOf(
    (one) => isLeftOutOr((said) => said === true || isListOf(isText, field(said, 'models')), one),
    value,
  );
}

function isTimeouts(value: unknown): boolean {
  return isLeftOutOr((waits) => isRecordOf(isNumber, waits), value);
}

function isLeftOutOr(isOne: AnswerCheck, value: unknown): boolean {
  return value === undefined || isOne(value);
}

function isListOf(isOne: AnswerCheck, value: unknown): boolean {
  return Array.isArray(value) && value.every(isOne);
}

function isRecordOf(isOne: AnswerCheck, value: unknown): boolean {
  return isRecord(value) && Object.values(value).every((item) => isOne(item));
}

/** Anything with members; inherited ones count, for a host's records may be instances. */
function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function isString(value: unknown): boolean {
  return typeof value === 'string';
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value);
}
