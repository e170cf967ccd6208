/**
 * Whether what a host's key store or catalog found can be served: a record with a member of another
 * type than the port says is no answer, and a call fails closed.
 */
import { isNanos } from '../ports/quota-input.ts';
import { type AnswerCheck, field, isMissing, isText } from './port-answers.ts';

/** A key's record, or nothing. An expiry that is no number would never come: that is no answer. */
export const isFoundKey: AnswerCheck = (answer) =>
  isMissing(answer) ||
  (isText(field(answer, 'id')) &&
    isText(field(answer, 'group')) &&
    typeof field(answer, 'disabled') === 'boolean' &&
    isLeftOutOr(isNumber, field(answer, 'expiresAtMs')) &&
    isLeftOutOr(isText, field(answer, 'quotaPartition')) &&
    isLeftOutOr(isNumber, field(answer, 'maxInFlight')) &&
    isListOf(isSubject, field(answer, 'quota')));

/** A model that can be priced and served, or nothing. */
export const isFoundModel: AnswerCheck = (answer) => isMissing(answer) || isModel(answer);

/** A list of models. */
export const isModelList: AnswerCheck = (answer) => isListOf(isModel, answer);

function isSubject(value: unknown): boolean {
  const period = field(value, 'period');
  return (
    isText(field(value, 'id')) &&
    (period === 'total' || period === 'day' || period === 'month') &&
    isLeftOutOr(isNanos, field(value, 'limitNanos')) &&
    isLeftOutOr(isNumber, field(value, 'maxInFlight'))
  );
}

const modelCounts = ['maxOutputTokens', 'contextTokens', 'mediaPartTokens', 'maxCandidates'];

function isModel(value: unknown): boolean {
  return (
    isText(field(value, 'id')) &&
    isText(field(value, 'vendor')) &&
    isListOf(isText, field(value, 'protocols')) &&
    isListOf(isText, field(value, 'groups')) &&
    modelCounts.every((name) => isLeftOutOr(isNumber, field(value, name))) &&
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
    isLeftOutOr(isObject, field(value, 'capabilities')) &&
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

function isTimeouts(value: unknown): boolean {
  return isLeftOutOr((waits) => isRecordOf(isNumber, waits), value);
}

function isLeftOutOr(isOne: AnswerCheck, value: unknown): boolean {
  return value === undefined || isOne(value);
}

function isListOf(isOne: AnswerCheck, value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => isOne(item));
}

function isRecordOf(isOne: AnswerCheck, value: unknown): boolean {
  return isObject(value) && Object.values(value).every((item) => isOne(item));
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function isString(value: unknown): boolean {
  return typeof value === 'string';
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value);
}
