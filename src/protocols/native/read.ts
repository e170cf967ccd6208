/** Reads a native (Gemini) content request. Model and method are in the path. */
import { z } from 'zod';
import { operations } from '../../apis.ts';
import { none, root, type Tape, type Value } from '../../bytes/json/tape.ts';
import type { Call, PromptSize } from '../../call.ts';
import { measureNative } from '../../dialects/gemini/prompt-size.ts';
import { invalidRequest } from '../../errors.ts';
import type { JsonValue } from '../../json.ts';
import { arrayMember, checkedFields, fieldOf, readObject } from '../fields.ts';
import type { CallTarget } from '../protocol.ts';
import { newCall, positiveField } from '../rules.ts';
import { refuseTwoSpellings } from '../spellings.ts';

const generationConfig = z.object(
  {
    maxOutputTokens: positiveField,
    max_output_tokens: positiveField,
    candidateCount: positiveField,
    candidate_count: positiveField,
  },
  'must be an object',
);
const nativeFields = z.object({
  model: z.string('must be a string').optional(),
  generationConfig: generationConfig.nullish(),
  generation_config: generationConfig.nullish(),
});

export function readNative(tape: Tape, { operation, framing, modelId = '' }: CallTarget): Call {
  refuseMessages(tape);
  const configIn = (name: string) =>
    readObject(tape, tape.get(root, name), (config) => configOf(tape, config));
  const fields = checkedFields(nativeFields, {
    model: fieldOf(tape, 'model'),
    generationConfig: configIn('generationConfig'),
    generation_config: configIn('generation_config'),
  });
  refuseOtherModel(fields.model, modelId);
  refuseTwoSpellings(tape);
  const config = fields.generationConfig ?? fields.generation_config;
  return newCall(tape, {
    protocol: 'native',
    operation,
    modelId,
    framing,
    prompt: promptSize(tape, operation === operations.count_tokens, modelId),
    maxOutputTokens: config?.maxOutputTokens ?? config?.max_output_tokens ?? undefined,
    candidates: config?.candidateCount ?? config?.candidate_count ?? 1,
    toolForm: 'members',
  });
}

/** The path decides: a body may only repeat its model. */
export function refuseOtherModel(model: JsonValue | undefined, inPath: string, at = 'model'): void {
  if (model === undefined) return;
  if (typeof model === 'string' && model.replace(/^models\//, '') === inPath) return;
  throw invalidRequest(
    `\`${at}\` differs from the model in the path. Leave it out of the body.`,
    at,
  );
}

function configOf(
  tape: Tape,
  object: Value,
): Record<keyof z.infer<typeof generationConfig>, unknown> {
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
  throw invalidRequest(
    'Unknown name "messages": this API expects `contents`. ' +
      'Send `contents`, or POST the body to /v1/chat/completions.',
    'contents',
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
  if (hasObjects) return size;
  throw invalidRequest('Every element of `contents` must be an object with `parts`.', 'contents');
}
