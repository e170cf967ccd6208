/**
 * Capabilities of well-known servers that speak OpenAI's dialect but differ from OpenAI, to be
 * spread into a channel. Only the differences are listed; a host can override any of them after the
 * spread.
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

/**
 * No server but OpenAI was seen to accept `tool_choice: {type: "allowed_tools"}`, custom tools,
 * `verbosity` or `prompt_cache_key`, and the paths at which some serve the Responses API differ.
 */
const compatible: Capabilities = {
  allowedTools: false,
  imageBase64: 'response_format',
  customTools: false,
  verbosity: false,
  promptCacheKey: false,
  responses: false,
};

/**
 * Presets as of November 2026. A comment names its source if the behaviour was read about and not
 * recorded.
 */
export const vendorCapabilities: Readonly<Record<Vendor, Capabilities>> = {
  deepseek: {
    ...compatible,
    maxTokensField: 'max_tokens',
    // JSON mode has no schema (api-docs.deepseek.com, JSON Output); `strict` works only on its beta
    // URL.
    structuredOutput: 'json',
    strictTools: false,
    // 400 "reasoning_content in the thinking mode must be passed back" (earendil-works/pi#3636).
    reasoningHistory: true,
    // V4 has two levels (hermes-agent#14958); reasoning is switched off only by a separate member.
    efforts: ['high', 'max'],
    // Not in its list of parameters.
    seed: false,
    parallelToolCalls: false,
    maxCandidates: 1,
    stopLimit: 16,
    mediaInput: [],
  },
  groq: {
    ...compatible,
    // It responds with 400 to `logprobs`, `top_logprobs` and `n` above 1
    // (console.groq.com/docs/openai).
    logprobs: false,
    maxCandidates: 1,
    // A schema cannot be combined with tools or streaming (its docs, Structured Outputs).
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
    // `reasoning_tokens` are not part of `completion_tokens`; the total is the sum of all (fixtures
    // xai-*).
    reasoningOutsideCompletion: true,
    // Its reasoning models reject both penalties and `stop` (docs.x.ai, Reasoning).
    penalties: false,
    stopLimit: 0,
    // The levels of Grok 4.5; 4.3 also accepts `none` (opencode#39448).
    efforts: ['low', 'medium', 'high'],
    mediaInput: ['image'],
  },
  mistral: {
    ...compatible,
    // It responds with 422 `extra_forbidden` to every member it does not know (eca#231).
    maxTokensField: 'max_tokens',
    // Usage is in the last chunk without being requested.
    includeUsage: false,
    // Mistral calls it `random_seed`.
    seed: false,
    logprobs: false,
    reasoning: 'none',
    // A trailing assistant message needs Mistral's member `prefix: true`.
    prefill: false,
    // Mistral has different members for documents and audio.
    mediaInput: ['image'],
  },
  openrouter: {
    ...compatible,
    // It accepts both names, but only this one works for every model behind it.
    maxTokensField: 'max_tokens',
    topK: true,
    // It accepts `reasoning_details` in the history, including Anthropic's signatures (fixture
    // openrouter-reasoning-details).
    signatures: true,
    efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'],
    maxCandidates: 1,
  },
  google: {
    ...compatible,
    // Reasoning tokens are included only in `total_tokens` (fixtures google-compat-*).
    reasoningOutsideCompletion: true,
    maxTokensField: 'max_tokens',
    // It responds with 400 to `seed` and to penalties (page-assist#418, ChatterUI#227).
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
    // It responds with 400 to `encoding_format: "base64"` (Roo-Code#7761).
    embeddingBase64: false,
    // It is not known to fetch image URLs.
    mediaUrls: false,
    mediaInput: ['image', 'audio'],
  },
  azure: {
    // Azure serves OpenAI's models under names that the host chose, so the capability table cannot
    // recognise them.
    allowedTools: false,
    // It does not accept `file` parts in chat completions.
    mediaInput: ['image', 'audio'],
  },
  zai: {
    ...compatible,
    // agentscope's formatter for GLM strips or renames these members (java.agentscope.io).
    maxTokensField: 'max_tokens',
    includeUsage: false,
    penalties: false,
    strictTools: false,
    structuredOutput: 'json',
    // Reasoning between tool calls must be sent back (docs.z.ai, Thinking Mode; fixture
    // zai-thinking-roundtrip).
    reasoningHistory: true,
    // The levels of GLM-5.3; older models ignore the member.
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
    // It responds with 400 to each of these (hexdocs.pm/req_llm, Cerebras).
    penalties: false,
    parallelToolCalls: false,
    // It responds with 422 if `strict` differs between tools (Roo-Code#10334).
    strictTools: false,
    jsonWithTools: false,
    efforts: ['low', 'medium', 'high'],
    maxCandidates: 1,
    mediaInput: [],
  },
};
