/** Reads a native (Gemini) content request. Model and method are in the path. */
import { z } from 'zod';
import { operations } from '../../apis.ts';
import { none, root, type Tape, type Value } from '../../bytes/json/tape.ts';
import type { Call, PromptSize } from '../../call.ts';
import { measureNative } from '../../dialects/gemini/prompt-size.ts';
import { GatewayError } from '../../errors.ts';
import type { JsonValue } from '../../json.ts';
import { arrayMember, checkedFields, fieldOf, readObject } from '../fields.ts';
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

/** @throws GatewayError `invalid_request` that names the member */
export function readNative(tape: Tape, target: CallTarget): Call {
  const { modelId = '' } = target;
  refuseMessages(tape);
  const fields = checkedFields(nativeFields, fieldsOf(tape));
  refuseOtherModel(fields.model, modelId);
  refuseTwoSpellings(tape);
  const config = fields.generationConfig ?? fields.generation_config ?? {};
  const maxOutputTokens = config.maxOutputTokens ?? config.max_output_tokens;
  const candidates = config.candidateCount ?? config.candidate_count;
  const prompt = promptSize(tape, target.operation === operations.count_tokens, modelId);
  return {
    protocol: 'native',
    operation: target.operation,
    modelId,
    framing: target.framing,
    body: tape.body,
    tape,
    promptCacheKey: undefined,
    wantsUsage: true,
    demand: {
      prompt,
      predictedBytes: 0,
      maxOutputTokens: maxOutputTokens ?? undefined,
      candidates: candidates ?? 1,
      size: undefined,
      quality: undefined,
      guarded: guardedUses(tape, prompt.media, 'members'),
    },
  };
}

function fieldsOf(tape: Tape): { readonly [Name in keyof NativeFields]-?: unknown } {
  const configIn = (name: string) =>
    readObject(tape, tape.get(root, name), (config) => configOf(tape, config));
  return {
    model: fieldOf(tape, 'model'),
    generationConfig: configIn('generationConfig'),
    generation_config: configIn('generation_config'),
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

function configOf(
  tape: Tape,
  object: Value,
): { readonly [Name in keyof GenerationConfig]-?: unknown } {
  refuseTwoSpellings(tape, { object, at: 'generationConfig.' });
  for (const inner of tape.members(object)) {
    // Nested objects also price and bound the call: `imageConfig`, `thinkingConfig`.
    refuseTwoSpellings(tape, { object: inner, at: `generationConfig.${tape.name(inner)}.` });
  }
  return {
    maxOutputTokens: fieldOf(tape, 'maxOutputTokens', object),
    max_output_tokens: fieldOf(tape, 'max_output_tokens', object),
    candidateCount: fieldOf(tape, 'candidateCount', object),
    candidate_count: fieldOf(tape, 'candidate_count', object),
  };
}

/** The most common mistake is to send a chat body. */
function refuseMessages(tape: Tape): void {
  if (tape.get(root, 'messages') === none || tape.get(root, 'contents') !== none) return;
  throw new GatewayError(
    'invalid_request',
    'Unknown name "messages": this API expects `contents`. ' +
      'Send `contents`, or POST the body to /v1/chat/completions.',
    { param: 'contents' },
  );
}

/** A token count may wrap its request, which then has a model member too. */
function promptSize(tape: Tape, isCount: boolean, modelId: string): PromptSize {
  const wrapped = isCount ? tape.get(root, 'generateContentRequest') : none;
  if (wrapped !== none) {
    const model = fieldOf(tape, 'model', wrapped);
    refuseOtherModel(typeof model === 'string' ? model : undefined, modelId);
    return measureNative(tape, wrapped).size;
  }
  arrayMember(tape, 'contents', 'Send [{"role":"user","parts":[{"text":"…"}]}].');
  const { size, hasObjects } = measureNative(tape);
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
