/**
 * Model capabilities: one table for each dialect. A model name that no row matches gets the flags
 * of the newest generation, and a channel can override every flag.
 */
import {
  type Capabilities,
  type ReasoningEffort,
  reasoningEfforts,
} from '../ports/models/capabilities.ts';

/** A flag that only one dialect reads has a harmless value in the others. */
export type ResolvedCapabilities = { readonly [Flag in keyof Capabilities]-?: Capabilities[Flag] };

export interface CapabilityTable {
  readonly newest: ResolvedCapabilities;
  /** Names of models that the table covers. Any other model also gets the flags in `unknown`. */
  readonly known?: RegExp;
  /** For all other models, which are sent only what every current model accepts. */
  readonly unknown?: Capabilities;
  /** How older models differ; the first row that matches the upstream's model name applies. */
  readonly older: readonly { readonly models: RegExp; readonly flags: Capabilities }[];
}

/** What most models can do; of a flag that only one dialect reads, the harmless value. */
export const usualCapabilities = {
  includeUsage: true,
  reasoningOutsideCompletion: false,
  imageBase64: 'unasked',
  maxTokensField: 'max_completion_tokens',
  thinkingBudget: undefined,
  reasoningHistory: false,
  structuredOutput: 'schema',
  jsonWithTools: true,
  strictTools: true,
  toolChoice: 'any',
  allowedTools: true,
  parallelToolCalls: true,
  toolEffortNone: false,
  callIds: true,
  signatures: true,
  sampling: 'any',
  topK: false,
  penalties: false,
  seed: true,
  logprobs: true,
  maxCandidates: 1,
  streamedCandidates: false,
  systemInstruction: true,
  midSystem: 'inline',
  prefill: true,
  mediaUrls: true,
  resultMedia: true,
  mediaOutput: false,
  assistantParts: true,
  builtInWithFunctions: false,
  dropBuiltInTools: false,
  customTools: false,
  verbosity: false,
  promptCacheKey: false,
  endUserId: true,
  serviceTier: true,
  responses: false,
  dropBetas: [],
  embeddingBase64: false,
  embeddingFloat: true,
  embeddingTokens: false,
  unitLength: 'always',
} as const satisfies Capabilities;

/** The flags of the table, overridden by those of its channel. */
export function capabilitiesOf(
  { newest, known, unknown, older }: CapabilityTable,
  upstreamModel: string,
  own: Capabilities | undefined,
): ResolvedCapabilities {
  const row = older.find(({ models }) => models.test(upstreamModel));
  const isKnown = row !== undefined || known === undefined || known.test(upstreamModel);
  return { ...newest, ...(isKnown ? row?.flags : unknown), ...defined(own) };
}

/** An override whose value is undefined changes nothing. */
function defined(own: Capabilities = {}): Capabilities {
  return Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined));
}

const high = reasoningEfforts.indexOf('high');

/**
 * The nearest supported effort; undefined if there is none. A tie is rounded up, but above `high`
 * it is rounded down, because `xhigh` doesn't ask for the maximum. Thinking is switched off only if
 * the caller asked for `none`.
 */
export function nearestEffort(
  requested: ReasoningEffort,
  supported: readonly ReasoningEffort[],
): ReasoningEffort | undefined {
  if (supported.includes(requested)) return requested;
  const rank = reasoningEfforts.indexOf(requested);
  const distance = (effort: ReasoningEffort): number => {
    const steps = reasoningEfforts.indexOf(effort) - rank;
    const isLower = steps < 0;
    return Math.abs(steps) + (isLower === rank > high ? 0 : 0.5);
  };
  const thinking = supported.filter((effort) => effort !== 'none');
  return thinking.toSorted((one, other) => distance(one) - distance(other))[0];
}
