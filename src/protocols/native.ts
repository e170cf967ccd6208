/**
 * Reads a native content-generation request (spec §2.3, WIRE §4.1). The path names model and
 * method.
 */
import { z } from 'zod';
import {
  afterName,
  firstInside,
  isString,
  nextInside,
  skipString,
  skipValue,
} from '../bytes/json-skip.ts';
import { closeBrace, openBrace, openBracket } from '../bytes/json-text.ts';
import { findMember } from '../bytes/members.ts';
import type { ScannedBody } from '../bytes/scan-body.ts';
import type { Call, Framing, Operation } from '../call.ts';
import { GatewayError } from '../errors.ts';
import { arrayMember, checkedFields, fieldOf, insideField } from './fields.ts';
import {
  addElements,
  addMembers,
  type PromptSize,
  type PromptTally,
  partAdder,
  promptTally,
  sizeOf,
} from './prompt-size.ts';
import { positiveField } from './rules.ts';

/** What the path says of a native call. */
export interface NativeTarget {
  readonly modelId: string;
  readonly operation: Operation;
  readonly framing: Framing;
}

interface GenerationConfig {
  readonly maxOutputTokens?: number | null | undefined;
  readonly max_output_tokens?: number | null | undefined;
  readonly candidateCount?: number | null | undefined;
  readonly candidate_count?: number | null | undefined;
}

interface NativeFields {
  readonly model?: string | undefined;
  readonly generationConfig?: GenerationConfig | null | undefined;
  readonly generation_config?: GenerationConfig | null | undefined;
}

const generationConfig: z.ZodType<GenerationConfig> = z.object(
  {
    maxOutputTokens: positiveField,
    max_output_tokens: positiveField,
    candidateCount: positiveField,
    candidate_count: positiveField,
  },
  'must be an object',
);
const nativeFields: z.ZodType<NativeFields> = z.object({
  model: z.string('must be a string').optional(),
  generationConfig: generationConfig.nullish(),
  generation_config: generationConfig.nullish(),
});
const promptMembers: readonly string[] = [
  'systemInstruction',
  'system_instruction',
  'tools',
  'generateContentRequest',
];
const mediaMembers: readonly string[] = ['inlineData', 'inline_data', 'fileData', 'file_data'];

/** @throws GatewayError `invalid_request` that names the member */
export function readNative(scanned: ScannedBody, target: NativeTarget): Call {
  refuseMessages(scanned);
  const fields = checkedFields(nativeFields, fieldsOf(scanned));
  const named = fields.model?.replace(/^models\//, '');
  if (named !== undefined && named !== target.modelId) {
    throw new GatewayError(
      'invalid_request',
      '`model` differs from the model in the path. Leave it out of the body.',
      { param: 'model' },
    );
  }
  const { generationConfig: config, generation_config: other } = fields;
  const maxOutputTokens =
    chosen(config?.maxOutputTokens, other?.maxOutputTokens) ??
    chosen(config?.max_output_tokens, other?.max_output_tokens);
  const candidates =
    chosen(config?.candidateCount, other?.candidateCount) ??
    chosen(config?.candidate_count, other?.candidate_count);
  const { inputTokens, mediaParts } = promptSize(scanned, target.operation);
  return {
    protocol: 'native',
    operation: target.operation,
    modelId: target.modelId,
    framing: target.framing,
    body: scanned.body,
    members: scanned.members,
    promptCacheKey: undefined,
    wantsUsage: true,
    demand: {
      inputTokens,
      mediaParts,
      maxOutputTokens: maxOutputTokens ?? undefined,
      candidates: candidates ?? 1,
      size: undefined,
      quality: undefined,
    },
  };
}

function fieldsOf(scanned: ScannedBody): { readonly [Name in keyof NativeFields]-?: unknown } {
  return {
    model: fieldOf(scanned, 'model'),
    generationConfig: insideField(scanned, 'generationConfig', configOf),
    generation_config: insideField(scanned, 'generation_config', configOf),
  };
}

/** A body may have both spellings of the object: the first one counts, even where it says null. */
function chosen<T>(first: T | undefined, second: T | undefined): T | undefined {
  return first === undefined ? second : first;
}

function configOf(inside: ScannedBody): { readonly [Name in keyof GenerationConfig]-?: unknown } {
  return {
    maxOutputTokens: fieldOf(inside, 'maxOutputTokens'),
    max_output_tokens: fieldOf(inside, 'max_output_tokens'),
    candidateCount: fieldOf(inside, 'candidateCount'),
    candidate_count: fieldOf(inside, 'candidate_count'),
  };
}

/** The commonest mistake here is a chat body (spec §7). */
function refuseMessages({ members }: ScannedBody): void {
  if (findMember(members, 'messages') === undefined) return;
  if (findMember(members, 'contents') !== undefined) return;
  throw new GatewayError(
    'invalid_request',
    'Unknown name "messages": this protocol takes `contents`. ' +
      'Send `contents`, or POST the body to /v1/chat/completions.',
    { param: 'contents' },
  );
}

function promptSize(scanned: ScannedBody, operation: Operation): PromptSize {
  const tally = promptTally(scanned.body.gaps);
  const wrapped =
    operation === 'count_tokens' && findMember(scanned.members, 'generateContentRequest');
  if (!wrapped) {
    const contents = arrayMember(
      scanned,
      'contents',
      'Send [{"role":"user","parts":[{"text":"…"}]}].',
    );
    addElements(tally, scanned.body.text, contents.value.start, addContent);
  }
  addMembers(tally, scanned, promptMembers);
  return sizeOf(tally);
}

/** Where the content that begins at `start` ends. */
function addContent(tally: PromptTally, bytes: Buffer, start: number): number {
  if (bytes[start] !== openBrace) throw noContent();
  tally.messages += 1;
  let at = firstInside(bytes, start);
  while (bytes[at] !== closeBrace) {
    const nameEnd = skipString(bytes, at);
    const value = afterName(bytes, nameEnd);
    const hasParts = bytes[value] === openBracket && isString(bytes, at, nameEnd, 'parts');
    const end = hasParts ? addElements(tally, bytes, value, addPart) : skipValue(bytes, value);
    at = nextInside(bytes, end);
  }
  return at + 1;
}

const addPart = partAdder((bytes, name, nameEnd) =>
  mediaMembers.some((member) => isString(bytes, name, nameEnd, member)),
);

function noContent(): GatewayError {
  return new GatewayError(
    'invalid_request',
    'Every element of `contents` must be an object with `parts`.',
    { param: 'contents' },
  );
}
