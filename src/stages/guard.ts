/** Asks the host's guard whether a call may run. */

import { parseBounded } from '../bounded-json.ts';
import { parsePart } from '../bytes/json/scan/body.ts';
import type { Call } from '../call.ts';
import { maxTranslatedValues, tooComplex } from '../canonical/complexity.ts';
import { parseDataUrl } from '../canonical/media.ts';
import { GatewayError } from '../errors.ts';
import type { EventListener } from '../events/events.ts';
import { isJsonObject, type JsonValue } from '../json.ts';
import type { CallOptions } from '../ports/call-options.ts';
import type { Guard, GuardDecision, GuardedCall } from '../ports/guard.ts';
import type { Model } from '../ports/models/catalog.ts';
import type { UsageRecord } from '../ports/usage-sink.ts';
import type { Read } from './call-record.ts';
import { type AnswerCheck, isMissing, isRecord, type WrongMember } from './ports/port-answers.ts';
import { portCalls } from './ports/port-calls.ts';

/** How often texts are looked for inside of texts: JSON in a file in Base64, and so on. */
const maxLayers = 4;
/** Enough to see that the content of an image is no text, without decoding all of it. */
const headChars = 4_096;
/** Shorter ones are words that happen to have the letters of Base64. */
const minBase64Chars = 8;

/** All strings in a value, at any depth, and after each one the texts that are encoded in it. */
export function textsOf(value: JsonValue): readonly string[] {
  const texts: string[] = [];
  addTexts(texts, value, maxLayers);
  return texts;
}

function addTexts(texts: string[], value: JsonValue, layers: number): void {
  if (typeof value === 'string') {
    texts.push(value);
    if (layers > 0) addEncoded(texts, value, layers - 1);
  } else if (Array.isArray(value)) {
    for (const element of value) addTexts(texts, element, layers);
  } else if (isJsonObject(value)) {
    for (const member of Object.values(value)) addTexts(texts, member ?? null, layers);
  }
}

function addEncoded(texts: string[], text: string, layers: number): void {
  if (/^\s*["[{]/.test(text)) {
    const value = parseBounded(text);
    if (value !== undefined) return addTexts(texts, value, layers);
  }
  const content = base64Text(parseDataUrl(text)?.data ?? text);
  if (content !== undefined) addTexts(texts, content, layers);
}

function base64Text(data: string): string | undefined {
  const head = data.slice(0, headChars);
  if (data.length < minBase64Chars || !/^[\w+/=\s-]*$/.test(head)) return undefined;
  if (decoded(head, { isWhole: head.length === data.length }) === undefined) return undefined;
  return decoded(data, { isWhole: true });
}

function decoded(data: string, { isWhole }: { readonly isWhole: boolean }): string | undefined {
  try {
    // A head may end within a character.
    const options = { stream: !isWhole };
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(data, 'base64'), options);
  } catch {
    return undefined;
  }
}

/** A guard may ask a moderation model, so it gets more time than a store. */
const guardTimeoutMs = 2_000;
const maxSentenceLength = 300;
const maxLabels = 16;
const maxLabelName = 64;
const maxLabelValue = 512;

/**
 * Returns the labels of the call's usage record.
 *
 * @throws GatewayError `refused_by_policy` with the guard's sentence; `store_unavailable` if the
 *   guard fails and calls may not pass without it; `too_complex` and `invalid_request` for a body
 *   that can't be parsed
 */
export async function checkByGuard(
  guard: Guard,
  read: Read,
  model: Model,
  emit: EventListener,
): Promise<UsageRecord['metadata']> {
  const { metadata: ofKey } = read.key;
  const decision = await decisionOf(guard, read, model, emit);
  if (decision?.refuse !== undefined) throw refusal(decision.refuse);
  // The key's labels come last, so that labels which a guard takes from the request can't replace
  // them.
  return decision?.metadata === undefined ? ofKey : { ...decision.metadata, ...ofKey };
}

type Answer = { readonly decision: GuardDecision | null | undefined } | { readonly fault: unknown };

async function decisionOf(
  guard: Guard,
  { key, call, received }: Read,
  model: Model,
  emit: EventListener,
): Promise<GuardDecision | undefined> {
  const { settings, responseContext } = received;
  const deadline = { clock: settings.clock, storeTimeoutMs: guardTimeoutMs };
  const { requestId } = responseContext;
  const ports = portCalls({ requestId, secrets: received.secrets }, deadline, emit);
  const body = lazyBody(call);
  const { protocol, operation } = call;
  let texts: readonly string[] | undefined;
  const guarded = {
    ...{ key, model, protocol, operation: operation.name, body: body.read },
    texts: () => {
      texts ??= textsOf(body.read());
      return texts;
    },
  };
  const check = async (options: CallOptions): Promise<Answer> => {
    try {
      return { decision: await guard.check(Object.freeze<GuardedCall>(guarded), options) };
    } catch (error) {
      // The caller is at fault and not the guard, so no failure of the port is reported.
      if (body.isFault(error)) return { fault: error };
      throw error;
    }
  };
  let answer: Answer;
  try {
    answer = await ports.ask('guard', 'check', isAnswer, check);
  } catch (error) {
    if (guard.onFailure === 'pass') return undefined;
    throw error;
  }
  if ('fault' in answer) throw answer.fault;
  return answer.decision ?? undefined;
}

const isAnswer: AnswerCheck = Object.assign(
  (answer: unknown) =>
    isRecord(answer) && ('fault' in answer || wrongInDecision(answer.decision) === undefined),
  {
    wrongMember: (answer: unknown) => {
      const wrong = isRecord(answer) ? wrongInDecision(answer.decision) : undefined;
      return wrong === noDecision ? undefined : wrong;
    },
  },
);

/** The answer is no object in which a member could be wrong. */
const noDecision: WrongMember = { member: '', problem: '' };

/**
 * Any text in `refuse` refuses, even an empty or too long one, and whatever else the decision
 * contains: a refusal must not become a failure, which `onFailure: 'pass'` would ignore. A decision
 * that does not refuse has no unknown members, because `{ refused: true }` must not let a call run.
 */
function wrongInDecision(decision: unknown): WrongMember | undefined {
  if (isMissing(decision)) return undefined;
  if (!isRecord(decision)) return noDecision;
  const { refuse, metadata } = decision;
  if (typeof refuse === 'string') return undefined;
  if (!isPlainObject(decision)) return noDecision;
  const unknown = Reflect.ownKeys(decision).find((name) => !decisionMembers.has(name));
  if (unknown !== undefined) {
    const member = memberSyntax.test(String(unknown)) ? String(unknown) : 'a member';
    return { member, problem: 'is unknown: a decision has `refuse` or `metadata`.' };
  }
  if (refuse !== undefined) return { member: 'refuse', problem: 'must be text.' };
  const problem = metadata === undefined ? undefined : labelProblem(metadata);
  return problem === undefined ? undefined : { member: 'metadata', problem };
}

const decisionMembers: ReadonlySet<PropertyKey> = new Set(['refuse', 'metadata']);
/** Other names may be texts of the caller. */
const memberSyntax = /^[A-Za-z]\w{0,31}$/;

/** Of any realm. A class instance, such as a Map, would otherwise pass as an empty decision. */
function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return !isRecord(prototype) || Object.getPrototypeOf(prototype) === null;
}

/** What is wrong with labels, without their texts, which may be the caller's. */
function labelProblem(metadata: unknown): string | undefined {
  if (!isRecord(metadata) || !isPlainObject(metadata)) return 'must be an object of texts.';
  const labels = Object.entries(metadata);
  if (labels.length > maxLabels) return `must have at most ${maxLabels} labels.`;
  if (labels.some(([name]) => name.length > maxLabelName)) {
    return `must have names of at most ${maxLabelName} characters.`;
  }
  const areTexts = labels.every(
    ([, value]) => typeof value === 'string' && value.length <= maxLabelValue,
  );
  return areTexts ? undefined : `must have texts of at most ${maxLabelValue} characters as values.`;
}

function refusal(refuse: string): GatewayError {
  const sentence = [...refuse.replace(/\p{Cc}+/gu, ' ').trim()]
    .slice(0, maxSentenceLength)
    .join('');
  const message = sentence === '' ? 'The policy of this service refuses this request.' : sentence;
  return new GatewayError('refused_by_policy', message, { clientCode: 'refused_by_policy' });
}

interface LazyBody {
  readonly read: () => JsonValue;
  /** True for the error that `read` has thrown. */
  isFault(error: unknown): boolean;
}

function lazyBody(call: Call): LazyBody {
  let parsed: { readonly value: JsonValue } | { readonly error: unknown } | undefined;
  return {
    read: () => {
      parsed ??= parsedBody(call);
      if ('error' in parsed) throw parsed.error;
      return parsed.value;
    },
    isFault: (error) => parsed !== undefined && 'error' in parsed && parsed.error === error,
  };
}

function parsedBody({
  body,
  isTooComplex,
}: Call): { readonly value: JsonValue } | { readonly error: unknown } {
  try {
    if (isTooComplex === true) throw tooComplex(`${maxTranslatedValues} values`);
    return { value: frozen(parsePart(body, 0, body.text.length)) };
  } catch (error) {
    return { error };
  }
}

/** Freezes every level. A body nests 64 levels at most. */
function frozen(value: JsonValue): JsonValue {
  if (typeof value === 'object' && value !== null) {
    Object.freeze(value);
    for (const member of Object.values(value)) frozen(member);
  }
  return value;
}
