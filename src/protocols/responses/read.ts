/**
 * Reads a Responses request: validates what the gateway relies on, refuses what it does not serve,
 * and extracts what prices the call. All else is for the upstream to judge.
 */
import { z } from 'zod';
import { operations } from '../../apis.ts';
import { none, root, type Tape, type Value } from '../../bytes/json/tape.ts';
import type { Call, Reference } from '../../call.ts';
import { isEnvelope } from '../../canonical/envelope.ts';
import { filledText } from '../../dialects/openai/responses/item-kinds.ts';
import {
  type MeasuredItem,
  measureResponses,
} from '../../dialects/openai/responses/prompt-size.ts';
import { type GatewayError, invalidRequest } from '../../errors.ts';
import { checkExtraBody, refuseOtherBounds } from '../extra-body.ts';
import { blankFields, checkedFields, fieldsIn, hintOf } from '../fields.ts';
import type { CallTarget } from '../protocol.ts';
import { flagField, modelField, newCall, positiveField } from '../rules.ts';

const responsesFields = z.object({
  model: modelField,
  stream: flagField,
  background: flagField,
  store: flagField,
  max_output_tokens: positiveField,
  // OpenAI has no such member here, but a compatible server may read it.
  n: positiveField,
  previous_response_id: z.string('must be a string').nullish(),
  // A hint, which only the upstream validates.
  prompt_cache_key: z.unknown().optional(),
  // Only the upstream validates it; a value that is no number bounds nothing here.
  max_tool_calls: z.unknown().optional(),
});

type ResponsesFields = z.infer<typeof responsesFields>;
const blank = blankFields(responsesFields);

/** A compaction has no member for a bound; it is far shorter than what it replaces. */
const compactedTokens = 16_384;

export function readResponses(tape: Tape, { operation, modelId }: CallTarget): Call {
  const read = fieldsIn(tape, blank);
  read.model = modelId ?? read.model;
  const fields = checkedFields(responsesFields, read);
  const streamed = fields.stream === true && operation === operations.content;
  checkBounds(tape, fields);
  refuseUnserved(tape, fields);
  checkInput(tape);
  checkKind(tape, 'tools', 'array', '`tools` must be an array.');
  // A list of items would not be checked as `input` is.
  checkKind(tape, 'instructions', 'string', '`instructions` must be a string.');
  const previous = previousReference(tape);
  const references = previous === undefined ? [] : [previous];
  const prompt = measureResponses(tape, (measured) => {
    if (measured.type === settingsType) checkSettings(tape, measured);
    const reference = referenceIn(tape, measured);
    if (reference !== undefined) references.push(reference);
  });
  const isCompaction = operation === operations.compact;
  return newCall(tape, {
    protocol: 'responses',
    operation,
    modelId: fields.model,
    isModelInPath: modelId !== undefined,
    framing: streamed ? 'sse' : 'json',
    promptCacheKey: hintOf(fields.prompt_cache_key),
    references: references.length === 0 ? undefined : references,
    prompt,
    maxOutputTokens: isCompaction ? compactedTokens : (fields.max_output_tokens ?? undefined),
    candidates: fields.n ?? 1,
    maxToolCalls: countOf(fields.max_tool_calls),
  });
}

/** Refuses a different value of a checked member in another place, or under another name. */
function checkBounds(tape: Tape, fields: ResponsesFields): void {
  const bound = fields.max_output_tokens ?? undefined;
  if (bound !== undefined) refuseOtherBounds(tape);
  checkExtraBody(tape, {
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

/**
 * Refuses what would run after the reply, and prompts that are stored at the provider:
 * neither can be bounded, and a template may name any model and tools.
 */
function refuseUnserved(tape: Tape, { background }: ResponsesFields): void {
  if (background === true) {
    throw invalidRequest(
      'This gateway serves no background responses. Leave `background` out, and set `stream` for ' +
        'a long reply.',
      'background',
    );
  }
  for (const name of ['conversation', 'prompt']) {
    if (tape.present(root, name) === none) continue;
    throw invalidRequest(
      `\`${name}\` names content that is stored at the provider, which this gateway does not ` +
        'serve. Send the content as `input`.',
      name,
    );
  }
}

/** `input` may be missing: instructions alone make a valid request. */
function checkInput(tape: Tape): void {
  const input = tape.get(root, 'input');
  const kind = input === none ? 'null' : tape.kind(input);
  if (kind === 'null' && tape.present(root, 'messages') !== none) {
    throw invalidRequest(
      'This API expects `input`. Send the conversation as `input`, or POST the body to ' +
        '/v1/chat/completions.',
      'input',
    );
  }
  if (kind === 'null' || kind === 'string') return;
  if (kind !== 'array') throw invalidRequest(noInput, 'input');
  const end = tape.after(input);
  for (let item = tape.first(input); item < end; item = tape.after(item)) {
    if (!tape.isObject(item)) throw invalidRequest(noInput, 'input');
  }
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

function checkSettings(tape: Tape, { item, index }: MeasuredItem): void {
  const at = `input[${index}]`;
  for (const value of tape.members(item)) {
    const name = tape.name(value);
    const inside = Object.hasOwn(changeable, name) ? changeable[name] : undefined;
    if (inside === undefined) throw unchangeable(`${at}.${name.slice(0, 64)}`);
    if (inside.length === 0 || tape.isNull(value)) continue;
    if (!tape.isObject(value)) throw unchangeable(`${at}.${name}`);
    for (const setting of tape.members(value)) {
      const changed = tape.name(setting);
      // The only mode that costs nothing more.
      const isMode = changed === 'mode' && tape.shortText(setting) !== 'standard';
      if (inside.includes(changed) && !isMode) continue;
      throw unchangeable(`${at}.${name}.${changed.slice(0, 64)}`);
    }
  }
}

function unchangeable(param: string): GatewayError {
  return invalidRequest(
    `\`${param}\` can't be set by an input item. A \`${settingsType}\` may change ` +
      '`reasoning.effort` and `text.format`.',
    param,
  );
}

function checkKind(tape: Tape, name: string, kind: 'array' | 'string', message: string): void {
  const value = tape.present(root, name);
  if (value !== none && tape.kind(value) !== kind) throw invalidRequest(message, name);
}

const noInput = '`input` must be a string or an array of objects.';

function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

function previousReference(tape: Tape): Reference | undefined {
  const previous = tape.present(root, 'previous_response_id');
  return previous === none ? undefined : previousReply(idText(tape, previous));
}

function previousReply(id: string | undefined): Reference {
  const at = 'previous_response_id';
  const rest = { isRemovable: false, element: undefined, sealedBytes: 0 };
  return { kind: 'reply', id: id ?? '', isOwn: isOwnId(id), at, ...rest };
}

/** The reference that an item is; undefined if it needs nothing but itself. */
function referenceIn(
  tape: Tape,
  { item, index, type, kind, isStored }: MeasuredItem,
): Reference | undefined {
  if (kind !== 'sealed' && !isStored) return undefined;
  const idValue = tape.present(item, 'id');
  const id = idValue === none ? undefined : (idText(tape, idValue) ?? '');
  const isOwn = isOwnId(id);
  const reference: Reference = {
    kind: isOwn || namesOnlyId(type) ? 'item' : 'incomplete',
    id,
    isOwn,
    isRemovable: kind === 'sealed' && type === 'reasoning',
    at: `input[${index}].id`,
    element: { member: 'input', index },
    sealedBytes: 0,
  };
  return kind === 'sealed' ? sealedItem(tape, item, reference, isStored) : reference;
}

/** A reference to an item may leave its type out. */
function namesOnlyId(type: string | undefined): boolean {
  return type === undefined || type === 'item_reference';
}

/** An item with encrypted content, or which its provider would complete from what it has stored. */
function sealedItem(
  tape: Tape,
  item: Value,
  reference: Reference,
  isStored: boolean,
): Reference | undefined {
  const sealed = filledText(tape, item, 'encrypted_content');
  const at = `input[${reference.element?.index}]`;
  if (sealed !== none) {
    if (isMadeHere(tape, sealed)) return { ...reference, kind: 'local', at };
    return { ...reference, kind: 'sealed', at, sealedBytes: tape.length(sealed) - 2 };
  }
  if (reference.isOwn) return { ...reference, kind: 'local', at };
  // Without an id it is nothing but its summary.
  return isStored ? { ...reference, isRemovable: false } : undefined;
}

/** True for content in an envelope of the gateway, which no upstream can read. */
function isMadeHere(tape: Tape, sealed: Value): boolean {
  const start = tape.start(sealed) + 1;
  return isEnvelope(
    tape.bytes.toString('latin1', start, Math.min(tape.end(sealed) - 1, start + 64)),
  );
}

const ownId = /^[a-z]+_tg_/;

/** Whether the gateway made an id, for a translated reply or an item of it. */
export function isOwnId(id: string | undefined): boolean {
  return id !== undefined && ownId.test(id);
}

const maxIdBytes = 1_024;

function idText(tape: Tape, value: Value): string | undefined {
  if (!tape.isString(value) || tape.end(value) - tape.start(value) > maxIdBytes) return undefined;
  return tape.text(value);
}
