/** Reads a native (Gemini) content request. Model and method are in the path. */
import { z } from 'zod';
import { findMember, membersOf } from '../../bytes/json/read/members.ts';
import type { ScannedBody, WholeScan } from '../../bytes/json/scan/body.ts';
import { type Call, operations, type PromptSize } from '../../call.ts';
import { measureNative } from '../../dialects/gemini/prompt-size.ts';
import { GatewayError } from '../../errors.ts';
import type { JsonValue } from '../../json.ts';
import { arrayMember, checkedFields, fieldOf, insideField } from '../fields.ts';
import { guardedUses } from '../find-guarded.ts';
import type { CallTarget } from '../protocol.ts';
import { positiveField } from '../rules.ts';
import { refuseTwoSpellings } from '../spellings.ts';

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

/**
 * Reads the request.
 *
 * @throws GatewayError `invalid_request` that names the member
 */
export function readNative(scanned: WholeScan, target: CallTarget): Call {
  const { modelId = '' } = target;
  refuseMessages(scanned);
  const fields = checkedFields(nativeFields, fieldsOf(scanned));
  refuseOtherModel(fields.model, modelId);
  refuseTwoSpellings(scanned);
  const config = fields.generationConfig ?? fields.generation_config ?? {};
  const maxOutputTokens = config.maxOutputTokens ?? config.max_output_tokens;
  const candidates = config.candidateCount ?? config.candidate_count;
  const prompt = promptSize(scanned, target.operation === operations.count_tokens, modelId);
  return {
    protocol: 'native',
    operation: target.operation,
    modelId,
    framing: target.framing,
    body: scanned.body,
    members: scanned.members,
    promptCacheKey: undefined,
    wantsUsage: true,
    demand: {
      prompt,
      predictedBytes: 0,
      maxOutputTokens: maxOutputTokens ?? undefined,
      candidates: candidates ?? 1,
      size: undefined,
      quality: undefined,
      guarded: guardedUses(scanned, prompt.media, 'members'),
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

/**
 * The path decides: a body may only repeat its model.
 *
 * @throws GatewayError `invalid_request` for another value
 */
export function refuseOtherModel(model: JsonValue | undefined, inPath: string, at = 'model'): void {
  if (model === undefined) return;
  if (typeof model === 'string' && model.replace(/^models\//, '') === inPath) return;
  throw new GatewayError(
    'invalid_request',
    `\`${at}\` differs from the model in the path. Leave it out of the body.`,
    { param: at },
  );
}

function configOf(inside: ScannedBody): { readonly [Name in keyof GenerationConfig]-?: unknown } {
  refuseTwoSpellings(inside, 'generationConfig.');
  for (const { name, value } of inside.members) {
    // Nested objects also price and bound the call: `imageConfig`, `thinkingConfig`.
    const members = membersOf(inside.body.text, value);
    if (members.length > 1) refuseTwoSpellings({ ...inside, members }, `generationConfig.${name}.`);
  }
  return {
    maxOutputTokens: fieldOf(inside, 'maxOutputTokens'),
    max_output_tokens: fieldOf(inside, 'max_output_tokens'),
    candidateCount: fieldOf(inside, 'candidateCount'),
    candidate_count: fieldOf(inside, 'candidate_count'),
  };
}

/** The most common mistake is to send a chat body. */
function refuseMessages({ members }: ScannedBody): void {
  if (findMember(members, 'messages') === undefined) return;
  if (findMember(members, 'contents') !== undefined) return;
  throw new GatewayError(
    'invalid_request',
    'Unknown name "messages": this API expects `contents`. ' +
      'Send `contents`, or POST the body to /v1/chat/completions.',
    { param: 'contents' },
  );
}

/**
 * The size of the prompt. A token count may wrap its request, which then has a model member too.
 */
function promptSize(scanned: ScannedBody, isCount: boolean, modelId: string): PromptSize {
  const wrapped = isCount && findMember(scanned.members, 'generateContentRequest');
  if (wrapped) {
    const members = membersOf(scanned.body.text, wrapped.value);
    const model = fieldOf({ ...scanned, members }, 'model');
    refuseOtherModel(typeof model === 'string' ? model : undefined, modelId);
    return measureNative(scanned.body, members).size;
  }
  arrayMember(scanned, 'contents', 'Send [{"role":"user","parts":[{"text":"…"}]}].');
  const { size, hasObjects } = measureNative(scanned.body, scanned.members);
  if (!hasObjects) throw noContent();
  return size;
}

function noContent(): GatewayError {
  return new GatewayError(
    'invalid_request',
    'Every element of `contents` must be an object with `parts`.',
    { param: 'contents' },
  );
}
