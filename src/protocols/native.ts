/**
 * Reads a native content-generation request (spec §2.3, WIRE §4.1). The path names model and
 * method.
 */
import { z } from 'zod';
import type { Span } from '../bytes/json-scan.ts';
import { findMember } from '../bytes/members.ts';
import type { Call, Framing, Operation } from '../call.ts';
import { GatewayError } from '../errors.ts';
import { arrayMember, type FieldName, readFields, type ScannedBody } from './fields.ts';
import {
  addMembers,
  objectAt,
  type PromptSize,
  type PromptTally,
  promptTally,
  spansOf,
  stringMember,
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
const configNames: readonly string[] = [
  'maxOutputTokens',
  'max_output_tokens',
  'candidateCount',
  'candidate_count',
];
const fieldNames: readonly FieldName[] = [
  'model',
  ['generationConfig', configNames],
  ['generation_config', configNames],
];
const promptMembers: readonly string[] = [
  'systemInstruction',
  'system_instruction',
  'tools',
  'generateContentRequest',
];
const mediaMembers: ReadonlySet<string> = new Set([
  'inlineData',
  'inline_data',
  'fileData',
  'file_data',
]);

/** @throws GatewayError `invalid_request` that names the member */
export function readNative(scanned: ScannedBody, target: NativeTarget): Call {
  refuseMessages(scanned);
  const fields = readFields(scanned, fieldNames, nativeFields);
  const named = fields.model?.replace(/^models\//, '');
  if (named !== undefined && named !== target.modelId) {
    throw new GatewayError(
      'invalid_request',
      '`model` differs from the model in the path. Leave it out of the body.',
      { param: 'model' },
    );
  }
  const config = { ...fields.generation_config, ...fields.generationConfig };
  return {
    protocol: 'native',
    ...target,
    ...scanned,
    promptCacheKey: undefined,
    wantsUsage: true,
    demand: {
      ...promptSize(scanned, target.operation),
      maxOutputTokens: config.maxOutputTokens ?? config.max_output_tokens ?? undefined,
      candidates: config.candidateCount ?? config.candidate_count ?? 1,
      size: undefined,
      quality: undefined,
    },
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
  const { body, members } = scanned;
  const tally = promptTally(body);
  const wrapped = operation === 'count_tokens' && findMember(members, 'generateContentRequest');
  if (!wrapped) {
    const contents = arrayMember(
      scanned,
      'contents',
      'Send [{"role":"user","parts":[{"text":"…"}]}].',
    );
    for (const span of spansOf(body, contents)) addContent(tally, body, span);
  }
  addMembers(tally, scanned, promptMembers);
  return tally.size();
}

function addContent(tally: PromptTally, body: Uint8Array, span: Span): void {
  const content = objectAt(body, span);
  if (content === undefined) {
    throw new GatewayError(
      'invalid_request',
      'Every element of `contents` must be an object with `parts`.',
      { param: 'contents' },
    );
  }
  tally.message();
  for (const part of spansOf(body, findMember(content, 'parts'))) addPart(tally, body, part);
}

function addPart(tally: PromptTally, body: Uint8Array, span: Span): void {
  const part = objectAt(body, span) ?? [];
  if (part.some(({ name }) => mediaMembers.has(name))) return tally.media();
  const text = stringMember(body, part, 'text');
  if (text !== undefined) return tally.text(text);
  tally.other(span);
}
