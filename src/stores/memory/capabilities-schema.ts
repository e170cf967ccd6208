/** What the capabilities of a channel must be, flag by flag; each refusal says what to write. */
import { z } from 'zod';
import { type Capabilities, reasoningEfforts } from '../../ports/catalog.ts';
import { flag, oneOf } from '../../ports/set-up.ts';

const media = ['image', 'audio', 'video', 'document'] as const;

const count = z
  .int('must be a whole number of 0 or above')
  .nonnegative('must be a whole number of 0 or above');

const thinkingBudget = z.strictObject(
  { min: count, max: count, off: flag.optional() },
  'must be a range: { min, max }, in tokens',
);

/** A schema for each flag, so that none is forgotten. */
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
} satisfies Readonly<Record<keyof Capabilities, z.ZodType>>;

/** Strict: a flag with a slip in its name is told. */
export const capabilitiesSchema: z.ZodType = z.strictObject(flags, 'must be an object').optional();

function choice(words: readonly string[]): z.ZodType {
  return z.enum(words, oneOf(words)).optional();
}

function listOf(words: readonly string[]): z.ZodType {
  return z.array(z.enum(words, oneOf(words)), `must be a list; each ${oneOf(words)}`).optional();
}
