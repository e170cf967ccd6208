/** Validates the capabilities of a channel; each message says what to write instead. */
import { z } from 'zod';
import { type Capabilities, reasoningEfforts } from '../ports/catalog.ts';
import { flag, oneOf } from '../ports/set-up.ts';

const media = ['image', 'audio', 'video', 'document'] as const;

const count = z
  .int('must be a whole number of 0 or above')
  .nonnegative('must be a whole number of 0 or above');

const aboveZero = 'must be a whole number above 0';

const thinkingBudget = z.strictObject(
  { min: count, max: count, off: flag.optional() },
  'must be a range: { min, max }, in tokens',
);

/** The type requires a schema for every flag, so that a new one can't be forgotten. */
const flags = {
  includeUsage: flag.optional(),
  reasoningOutsideCompletion: flag.optional(),
  imageBase64: choice(['unasked', 'response_format']),
  maxTokensField: choice(['max_completion_tokens', 'max_tokens']),
  reasoning: choice(['effort', 'level', 'budget', 'adaptive', 'none']),
  efforts: listOf(reasoningEfforts),
  thinkingBudget: thinkingBudget.optional(),
  reasoningHistory: flag.optional(),
  structuredOutput: choice(['schema', 'subset', 'json', 'none']),
  jsonWithTools: flag.optional(),
  strictTools: flag.optional(),
  allowedTools: flag.optional(),
  parallelToolCalls: flag.optional(),
  toolEffortNone: flag.optional(),
  callIds: flag.optional(),
  signatures: flag.optional(),
  sampling: choice(['any', 'one', 'none']),
  topK: flag.optional(),
  penalties: flag.optional(),
  seed: flag.optional(),
  logprobs: flag.optional(),
  maxCandidates: count.optional(),
  streamedCandidates: flag.optional(),
  stopLimit: count.optional(),
  systemInstruction: flag.optional(),
  midSystem: choice(['inline', 'lift']),
  prefill: flag.optional(),
  mediaUrls: flag.optional(),
  resultMedia: flag.optional(),
  mediaInput: listOf(media),
  mediaOutput: flag.optional(),
  assistantParts: flag.optional(),
  builtInWithFunctions: flag.optional(),
  dropBuiltInTools: flag.optional(),
  customTools: flag.optional(),
  verbosity: flag.optional(),
  promptCacheKey: flag.optional(),
  responses: flag.optional(),
  dropBetas: z
    .array(
      z.string('must be a flag of anthropic-beta'),
      'must be a list of flags of anthropic-beta',
    )
    .optional(),
  embeddingBatch: z.int(aboveZero).positive(aboveZero).optional(),
  embeddingBase64: flag.optional(),
  embeddingFloat: flag.optional(),
  embeddingTokens: flag.optional(),
  unitLength: choice(['always', 'full']),
} satisfies Readonly<Record<keyof Capabilities, z.ZodType>>;

/** Strict, so that a misspelt flag is reported. */
export const capabilitiesSchema: z.ZodType = z.strictObject(flags, 'must be an object').optional();

function choice(values: readonly string[]): z.ZodType {
  return z.enum(values, oneOf(values)).optional();
}

function listOf(values: readonly string[]): z.ZodType {
  return z.array(z.enum(values, oneOf(values)), `must be a list; each ${oneOf(values)}`).optional();
}
