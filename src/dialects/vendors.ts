/**
 * What the well-known servers that speak OpenAI's dialect take otherwise than OpenAI, to be spread
 * into a channel. Only differences are listed; a host overrides any of them behind the spread.
 */
import type { Capabilities } from '../ports/catalog.ts';

/** The vendors that have a preset. */
export type Vendor =
  | 'deepseek'
  | 'groq'
  | 'xai'
  | 'mistral'
  | 'openrouter'
  | 'google'
  | 'azure'
  | 'zai'
  | 'cerebras';

/** Nobody but OpenAI was seen to take `tool_choice: {type: "allowed_tools"}`. */
const compatible: Capabilities = { allowedTools: false, imageBase64: 'response_format' };

/** As of November 2026; what was only read of, and not recorded, names its source. */
export const vendorCapabilities: Readonly<Record<Vendor, Capabilities>> = {
  deepseek: {
    ...compatible,
    maxTokensField: 'max_tokens',
    // JSON without a schema (api-docs.deepseek.com, JSON Output); strict only on its beta address.
    structuredOutput: 'json',
    strictTools: false,
    // 400 "reasoning_content in the thinking mode must be passed back" (earendil-works/pi#3636).
    reasoningHistory: true,
    // V4 knows two (hermes-agent#14958); it is switched off only by a member of its own.
    efforts: ['high', 'max'],
    // Not among its parameters.
    seed: false,
    parallelToolCalls: false,
    maxCandidates: 1,
    stopLimit: 16,
    mediaInput: [],
  },
  groq: {
    ...compatible,
    // 400 for each of the two and for `n` above 1 (console.groq.com/docs/openai).
    logprobs: false,
    maxCandidates: 1,
    // A schema goes with neither tools nor a stream (its docs, Structured Outputs).
    structuredOutput: 'json',
    jsonWithTools: false,
    strictTools: false,
    // "Not yet supported by any of our models" (its API reference).
    penalties: false,
    efforts: ['low', 'medium', 'high'],
    mediaInput: ['image'],
  },
  xai: {
    ...compatible,
    // `reasoning_tokens` stand beside `completion_tokens`, and the total is the sum of all
    // (fixtures xai-*).
    reasoningOutsideCompletion: true,
    // Its reasoning models refuse both penalties and `stop` (docs.x.ai, Reasoning).
    penalties: false,
    stopLimit: 0,
    // Grok 4.5; 4.3 takes `none` too (opencode#39448).
    efforts: ['low', 'medium', 'high'],
    mediaInput: ['image'],
  },
  mistral: {
    ...compatible,
    // It answers 422 `extra_forbidden` to every member it does not know (eca#231).
    maxTokensField: 'max_tokens',
    // Sent unasked in the last chunk.
    includeUsage: false,
    // Called `random_seed` there.
    seed: false,
    logprobs: false,
    reasoning: 'none',
    // An assistant's message at the end needs `prefix: true` of its own.
    prefill: false,
    // Documents and sound have members of their own there.
    mediaInput: ['image'],
  },
  openrouter: {
    ...compatible,
    // Both names are taken; only this one by every model behind it.
    maxTokensField: 'max_tokens',
    topK: true,
    // Takes `reasoning_details` back, Anthropic's signatures among them (fixture
    // openrouter-reasoning-details).
    signatures: true,
    efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'],
    maxCandidates: 1,
  },
  google: {
    ...compatible,
    // Thoughts are counted in `total_tokens` alone (fixtures google-compat-*).
    reasoningOutsideCompletion: true,
    maxTokensField: 'max_tokens',
    // 400 on both (page-assist#418, ChatterUI#227; TRANSLATION §6.11).
    seed: false,
    penalties: false,
    logprobs: false,
    // 400 "Parallel tool calls are not supported" (TheAgenticBrowser#4).
    parallelToolCalls: false,
    strictTools: false,
    // `extra_content.google.thought_signature` (fixture google-compat-tool-empty-id).
    signatures: true,
    efforts: ['none', 'low', 'medium', 'high'],
    maxCandidates: 1,
    // Nobody has shown that it fetches addresses.
    mediaUrls: false,
    mediaInput: ['image', 'audio'],
  },
  azure: {
    // OpenAI's own models, under names that the host chose: the table can't know them by name.
    allowedTools: false,
    // Takes no `file` parts in chat completions.
    mediaInput: ['image', 'audio'],
  },
  zai: {
    ...compatible,
    // What agentscope's formatter for GLM has to strip or rename (java.agentscope.io).
    maxTokensField: 'max_tokens',
    includeUsage: false,
    penalties: false,
    strictTools: false,
    structuredOutput: 'json',
    // Thoughts between tool calls must come back (docs.z.ai, Thinking Mode; fixture
    // zai-thinking-roundtrip).
    reasoningHistory: true,
    // GLM-5.3; older models take no notice of it.
    efforts: ['low', 'high', 'max'],
    parallelToolCalls: false,
    seed: false,
    logprobs: false,
    maxCandidates: 1,
    stopLimit: 1,
    mediaInput: ['image'],
  },
  cerebras: {
    ...compatible,
    // 400 for each of these (hexdocs.pm/req_llm, Cerebras).
    penalties: false,
    parallelToolCalls: false,
    // 422 where `strict` differs between tools (Roo-Code#10334).
    strictTools: false,
    jsonWithTools: false,
    efforts: ['low', 'medium', 'high'],
    maxCandidates: 1,
    mediaInput: [],
  },
};
