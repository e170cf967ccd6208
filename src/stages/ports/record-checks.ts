/**
 * Checks the records that a host's key store or catalog returns. A record with a member of the
 * wrong type counts as no answer, and the call fails closed. Each model object is checked only
 * once, so that a model with a thousand channels costs its calls no more than one with a single
 * channel.
 */
import type { z } from 'zod';
import { inputOnlyProblem, outputPriceProblem } from '../../catalog/model-problems.ts';
import { modelRemedyOf, modelSchema } from '../../catalog/model-schema.ts';
import { keyRecordSchema, keyRemedyOf, repeatedSubject } from '../../ports/keys/key-schema.ts';
import { isName, isNanos, isPrintableId, maxLines } from '../../ports/limits/quota-input.ts';
import { areKeyRates } from '../../ports/limits/rates-schema.ts';
import type { Model } from '../../ports/models/catalog.ts';
import { formatPath } from '../../ports/problems.ts';
import { issuePath, issuesOf, sentenceOf, type Wording } from '../../ports/set-up.ts';
import { type AnswerCheck, isMissing, isRecord, isText, type WrongMember } from './port-answers.ts';

/** The checks of one gateway, with a cache of the models that have passed. */
export interface RecordChecks {
  readonly isKeyOrMissing: AnswerCheck;
  readonly isModelOrMissing: AnswerCheck;
  readonly areModelLists: AnswerCheck;
}

export function recordChecks(): RecordChecks {
  const isKnownModel = cached(isModel);
  const areKnownRates = cached(areKeyRates);
  const isKey = (answer: unknown): boolean =>
    isRecord(answer) && wrongKeyMember(answer, areKnownRates) === undefined;
  return {
    isKeyOrMissing: named(
      (answer) => isKey(answer) || isMissing(answer),
      (answer) => (isRecord(answer) ? wrongInKey(answer, areKnownRates) : undefined),
    ),
    isModelOrMissing: named((answer) => isKnownModel(answer) || isMissing(answer), wrongInModel),
    areModelLists: named(
      (answer) => listsIn(answer).every((list) => Array.isArray(list) && list.every(isKnownModel)),
      (answer) => wrongInLists(listsIn(answer), isKnownModel),
    ),
  };
}

function listsIn(answer: unknown): readonly unknown[] {
  return Array.isArray(answer) ? answer : [answer];
}

function wrongInLists(lists: readonly unknown[], isKnown: AnswerCheck): WrongMember | undefined {
  for (const list of lists) {
    const index = Array.isArray(list) ? list.findIndex((one) => !isKnown(one)) : -1;
    if (!Array.isArray(list) || index === -1) continue;
    const found = wrongInModel(list[index]);
    return found === undefined
      ? { member: `[${index}]`, problem: 'must be a model.' }
      : { ...found, member: `[${index}].${found.member}` };
  }
  return undefined;
}

function named(
  check: (answer: unknown) => boolean,
  wrongMember: NonNullable<AnswerCheck['wrongMember']>,
): AnswerCheck {
  return Object.assign(check, { wrongMember });
}

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

function wrongInKey(
  key: Readonly<Record<string, unknown>>,
  areKnownRates: AnswerCheck,
): WrongMember | undefined {
  const wrong = wrongKeyMember(key, areKnownRates);
  if (wrong === undefined) return undefined;
  const issue = issuesOf(keyRecordSchema, key).find(({ path }) =>
    formatPath('', path).startsWith(wrong),
  );
  return issue === undefined
    ? { member: wrong, problem: 'is not what the type ApiKey allows.' }
    : problemAt(issue, keyRemedyOf);
}

function problemAt(issue: z.core.$ZodIssue, remedyFor: Wording['remedyFor']): WrongMember {
  const member = formatPath('', issuePath(issue));
  return { member, problem: sentenceOf(issue, { remedyFor, names: 'its type' }) };
}

/** A key with an `expiresAtMs` that is not a number would never expire. */
function wrongKeyMember(
  key: Readonly<Record<string, unknown>>,
  areKnownRates: AnswerCheck,
): string | undefined {
  const { expiresAtMs, quotaPartition, maxConcurrentCalls, rates, quota, responseOwner } = key;
  const { models, owner, sharedRates } = key;
  if (!isPrintableId(key.id)) return 'id';
  if (!isText(key.group)) return 'group';
  if (typeof key.disabled !== 'boolean') return 'disabled';
  if (expiresAtMs !== undefined && !isNumber(expiresAtMs)) return 'expiresAtMs';
  if (quotaPartition !== undefined && !isPartition(quotaPartition)) return 'quotaPartition';
  if (maxConcurrentCalls !== undefined && !isCount(maxConcurrentCalls)) {
    return 'maxConcurrentCalls';
  }
  if (responseOwner !== undefined && !isText(responseOwner)) return 'responseOwner';
  if (models !== undefined && !areModels(models)) return 'models';
  if (owner !== undefined && !isPrintableId(owner)) return 'owner';
  if (rates !== undefined && !areKnownRates(rates)) return 'rates';
  if (sharedRates !== undefined && !areKnownRates(sharedRates)) return 'sharedRates';
  if (key.metadata !== undefined && !areLabels(key.metadata)) return 'metadata';
  const isList = Array.isArray(quota) && quota.length > 0 && quota.length <= maxLines;
  return isList ? wrongSubjectMember(quota) : 'quota';
}

function areModels(models: unknown): boolean {
  return Array.isArray(models) && models.length > 0 && models.every(isText);
}

/** They are written to every usage record of the key. */
function areLabels(metadata: unknown): boolean {
  if (!isRecord(metadata) || Array.isArray(metadata)) return false;
  for (const name in metadata) if (typeof metadata[name] !== 'string') return false;
  return true;
}

function wrongSubjectMember(subjects: readonly unknown[]): string | undefined {
  for (let index = 0; index < subjects.length; index += 1) {
    const subject = subjects[index];
    const wrong = isRecord(subject) ? wrongMemberOf(subject) : '';
    if (wrong !== undefined) return `quota[${index}]${wrong}`;
  }
  const repeated = subjects.length < 2 ? undefined : repeatedSubject(subjects.filter(isRecord));
  return repeated === undefined ? undefined : `quota[${repeated}].id`;
}

function wrongMemberOf(subject: Readonly<Record<string, unknown>>): string | undefined {
  const { period, anchorDay, limitNanos, models, maxConcurrentCalls, visible } = subject;
  if (!isPrintableId(subject.id)) return '.id';
  if (period !== 'total' && period !== 'day' && period !== 'month' && period !== 'week') {
    return '.period';
  }
  if (anchorDay !== undefined && !isAnchorDay(anchorDay, period)) return '.anchorDay';
  if (limitNanos !== undefined && !isNanos(limitNanos)) return '.limitNanos';
  if (models !== undefined && !areModels(models)) return '.models';
  if (visible !== undefined && typeof visible !== 'boolean') return '.visible';
  if (maxConcurrentCalls !== undefined && !isCount(maxConcurrentCalls)) {
    return '.maxConcurrentCalls';
  }
  return undefined;
}

/** Checks a model by the same schema as a catalog in code. */
function isModel(value: unknown): boolean {
  return hasModelMembers(value) && pricingProblem(value) === undefined;
}

/** What a catalog in code refuses when it is created. */
function pricingProblem(model: Model): WrongMember | undefined {
  const wrong = inputOnlyProblem(model);
  if (wrong !== undefined) {
    return { member: wrong.member, problem: `is wrong: ${wrong.problem}` };
  }
  const problem = outputPriceProblem(model);
  return problem === undefined ? undefined : { member: 'price.rates.output', problem };
}

function wrongInModel(value: unknown): WrongMember | undefined {
  if (hasModelMembers(value)) return pricingProblem(value);
  const issue = issueOf(value);
  if (issue === undefined || issuePath(issue).length === 0) return undefined;
  return problemAt(issue, (path) => modelRemedyOf(value, path));
}

function hasModelMembers(value: unknown): value is Model {
  return issueOf(value) === undefined;
}

function issueOf(value: unknown): z.core.$ZodIssue | undefined {
  return issuesOf(modelSchema, value).find((issue) => !isTolerable(issue, value));
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

function isPartition(value: unknown): boolean {
  return typeof value === 'string' && isName(value);
}

function isAnchorDay(value: unknown, period: string): boolean {
  return period === 'month' && isCount(value) && Number(value) <= 31;
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) > 0;
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value);
}
