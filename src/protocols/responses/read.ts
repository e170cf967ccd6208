/**
 * Reads a Responses request: validates what the gateway relies on, refuses what it does not serve,
 * and extracts what prices the call. All else is for the upstream to judge.
 */
import { z } from 'zod';
import { findMember, kindAt, membersOf } from '../../bytes/json/read/members.ts';
import {
  afterName,
  firstInside,
  isString,
  nextInside,
  skipString,
  skipValue,
} from '../../bytes/json/read/skip.ts';
import type { ScannedBody, WholeScan } from '../../bytes/json/scan/body.ts';
import type { Span } from '../../bytes/json/scan/scan.ts';
import { closeBrace, openBrace } from '../../bytes/json/text.ts';
import { type Call, operations } from '../../call.ts';
import { measureResponses } from '../../dialects/openai-responses/prompt-size.ts';
import { eachElement, shortText } from '../../dialects/prompt-size.ts';
import { GatewayError } from '../../errors.ts';
import { checkExtraBody, refuseOtherBounds } from '../extra-body.ts';
import { checkedFields, hintOf, parsedValue } from '../fields.ts';
import { guardedUses } from '../find-guarded.ts';
import type { CallTarget } from '../protocol.ts';
import { modelField, positiveField } from '../rules.ts';
import { findReferences } from './find-references.ts';

interface ResponsesFields {
  readonly model: string;
  readonly stream?: boolean | null | undefined;
  readonly background?: boolean | null | undefined;
  readonly store?: boolean | null | undefined;
  readonly max_output_tokens?: number | null | undefined;
  readonly n?: number | null | undefined;
  readonly previous_response_id?: string | null | undefined;
  readonly prompt_cache_key?: unknown;
  readonly max_tool_calls?: unknown;
}

const flag = z.boolean('must be true or false').nullish();

const responsesFields: z.ZodType<ResponsesFields> = z.object({
  model: modelField,
  stream: flag,
  background: flag,
  store: flag,
  max_output_tokens: positiveField,
  // OpenAI has no such member here, but a compatible server may read it.
  n: positiveField,
  previous_response_id: z.string('must be a string').nullish(),
  // A hint, which only the upstream validates.
  prompt_cache_key: z.unknown().optional(),
  // Only the upstream validates it; a value that is no number bounds nothing here.
  max_tool_calls: z.unknown().optional(),
});

/** A compaction has no member for a bound; it is far shorter than what it replaces. */
const compactedTokens = 16_384;

/**
 * Reads the request.
 *
 * @throws GatewayError `invalid_request` that names the member
 */
export function readResponses(scanned: WholeScan, { operation }: CallTarget): Call {
  const { read, input } = membersIn(scanned);
  const fields = checkedFields(responsesFields, read);
  const streamed = fields.stream === true && operation === operations.content;
  checkBounds(scanned, fields);
  refuseUnserved(scanned, fields);
  checkInput(scanned, input);
  checkKind(scanned, 'tools', 'array', '`tools` must be an array.');
  // A list of items would not be checked as `input` is.
  checkKind(scanned, 'instructions', 'string', '`instructions` must be a string.');
  const prompt = measureResponses(scanned.body, scanned.members);
  return {
    protocol: 'responses',
    operation,
    modelId: fields.model,
    framing: streamed ? 'sse' : 'json',
    body: scanned.body,
    members: scanned.members,
    promptCacheKey: hintOf(fields.prompt_cache_key),
    // The last event of a stream always states the usage.
    wantsUsage: true,
    references: findReferences(scanned),
    demand: {
      prompt,
      predictedBytes: 0,
      maxOutputTokens:
        operation === operations.compact
          ? compactedTokens
          : (fields.max_output_tokens ?? undefined),
      candidates: fields.n ?? 1,
      size: undefined,
      quality: undefined,
      maxToolCalls: countOf(fields.max_tool_calls),
      guarded: guardedUses(scanned, prompt.media),
    },
  };
}

/** Refuses a different value of a checked member in another place, or under another name. */
function checkBounds(scanned: ScannedBody, fields: ResponsesFields): void {
  const bound = fields.max_output_tokens ?? undefined;
  if (bound !== undefined) refuseOtherBounds(scanned);
  checkExtraBody(scanned, {
    members: {
      model: fields.model,
      stream: fields.stream ?? false,
      n: fields.n ?? 1,
      previous_response_id: fields.previous_response_id ?? null,
      // What is checked or refused at the top level must not come in `extra_body` instead.
      ...{ input: null, instructions: null, background: false, conversation: null, prompt: null },
    },
    bound,
  });
}

/** The members that are read or measured, found in one pass. */
interface ResponsesMembers {
  readonly read: { readonly [Name in keyof ResponsesFields]-?: unknown };
  readonly input: Span | undefined;
}

function membersIn(scanned: ScannedBody): ResponsesMembers {
  let input: Span | undefined;
  const read: { -readonly [Name in keyof ResponsesFields]-?: unknown } = {
    model: undefined,
    stream: undefined,
    background: undefined,
    store: undefined,
    max_output_tokens: undefined,
    n: undefined,
    previous_response_id: undefined,
    prompt_cache_key: undefined,
    max_tool_calls: undefined,
  };
  for (const { name, value } of scanned.members) {
    switch (name) {
      case 'input':
        input = value;
        break;
      case 'model':
      case 'stream':
      case 'background':
      case 'store':
      case 'max_output_tokens':
      case 'n':
      case 'previous_response_id':
      case 'prompt_cache_key':
      case 'max_tool_calls':
        read[name] = parsedValue(scanned.body, value);
        break;
      default:
    }
  }
  return { read, input };
}

/**
 * Refuses what would run after the reply, and prompts that are stored at the provider:
 * neither can be bounded, and a template may name any model and tools.
 */
function refuseUnserved(scanned: ScannedBody, { background }: ResponsesFields): void {
  if (background === true) {
    throw invalid(
      'This gateway serves no background responses. Leave `background` out, and set `stream` for ' +
        'a long reply.',
      'background',
    );
  }
  for (const name of ['conversation', 'prompt']) {
    if (!isPresent(scanned, name)) continue;
    throw invalid(
      `\`${name}\` names content that is stored at the provider, which this gateway does not ` +
        'serve. Send the content as `input`.',
      name,
    );
  }
}

/** `input` may be missing: instructions alone make a valid request. */
function checkInput(scanned: ScannedBody, input: Span | undefined): void {
  const { text } = scanned.body;
  const kind = input === undefined ? 'null' : kindAt(text, input);
  if (kind === 'null' && isPresent(scanned, 'messages')) {
    throw invalid(
      'This API expects `input`. Send the conversation as `input`, or POST the body to ' +
        '/v1/chat/completions.',
      'input',
    );
  }
  if (kind === 'null' || kind === 'string') return;
  if (input === undefined || kind !== 'array') throw noInput();
  eachElement(text, input.start, (start, index) => {
    if (text[start] !== openBrace) throw noInput();
    return checkedItemEnd(text, start, `input[${index}]`);
  });
}

/** The input items that change settings of the call from there on. */
const settingsType = 'configuration_update';
/**
 * What such an item may change, and the members that it may have besides: all that has no influence
 * on what the call may cost or reach, which the gateway reads from the body alone.
 */
const changeable: Readonly<Record<string, readonly string[] | undefined>> = {
  ...{ type: [], id: [], status: [] },
  reasoning: ['effort', 'summary', 'mode'],
  text: ['format', 'verbosity'],
};

/** The end of an item. @throws GatewayError `invalid_request` if it changes other settings */
function checkedItemEnd(text: Buffer, start: number, at: string): number {
  let isSettings = false;
  let name = firstInside(text, start);
  while (text[name] !== closeBrace) {
    const nameEnd = skipString(text, name);
    const value = afterName(text, nameEnd);
    const end = skipValue(text, value);
    isSettings ||=
      isString(text, name, nameEnd, 'type') && isString(text, value, end, settingsType);
    name = nextInside(text, end);
  }
  if (isSettings) checkSettings(text, { start, end: name + 1 }, at);
  return name + 1;
}

function checkSettings(text: Buffer, item: Span, at: string): void {
  for (const { name, value } of membersOf(text, item)) {
    const inside = Object.hasOwn(changeable, name) ? changeable[name] : undefined;
    if (inside === undefined) throw unchangeable(`${at}.${name.slice(0, 64)}`);
    if (inside.length === 0 || kindAt(text, value) === 'null') continue;
    if (kindAt(text, value) !== 'object') throw unchangeable(`${at}.${name}`);
    for (const setting of membersOf(text, value)) {
      // The only mode that costs nothing more.
      const isMode = setting.name === 'mode' && shortText(text, setting.value) !== 'standard';
      if (inside.includes(setting.name) && !isMode) continue;
      throw unchangeable(`${at}.${name}.${setting.name.slice(0, 64)}`);
    }
  }
}

function unchangeable(param: string): GatewayError {
  return invalid(
    `\`${param}\` can't be set by an input item. A \`${settingsType}\` may change ` +
      '`reasoning.effort` and `text.format`.',
    param,
  );
}

/** Checks a member that may be missing or null. */
function checkKind(
  { body, members }: ScannedBody,
  name: string,
  kind: 'array' | 'string',
  message: string,
): void {
  const member = findMember(members, name);
  if (member === undefined) return;
  if (![kind, 'null'].includes(kindAt(body.text, member.value))) throw invalid(message, name);
}

function isPresent({ body, members }: ScannedBody, name: string): boolean {
  const member = findMember(members, name);
  return member !== undefined && kindAt(body.text, member.value) !== 'null';
}

function noInput(): GatewayError {
  return invalid('`input` must be a string or an array of objects.', 'input');
}

function invalid(message: string, param: string): GatewayError {
  return new GatewayError('invalid_request', message, { param });
}

function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
