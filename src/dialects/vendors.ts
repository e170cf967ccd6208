/**
 * Capabilities of well-known servers that speak OpenAI's dialect, to be spread into a channel. Only
 * the differences from OpenAI are listed; a host can override any of them after the spread.
 */
import type { Capabilities } from '../ports/models/capabilities.ts';

/** The vendors that have a preset. */
export type Vendor =
  | 'openai'
  | 'azure'
  | 'google'
  | 'deepseek'
  | 'moonshot'
  | 'mistral'
  | 'groq'
  | 'xai'
  | 'together'
  | 'openrouter'
  | 'fireworks'
  | 'cerebras'
  | 'zai'
  | 'alibaba'
  | 'vllm'
  | 'llamacpp'
  | 'ollama'
  | 'litellm';

/**
 * What only OpenAI is known to accept. The paths at which some serve the Responses API differ, and
 * a member that a server ignores is better listed as dropped than sent.
 */
const compatible: Capabilities = {
  allowedTools: false,
  imageBase64: 'response_format',
  customTools: false,
  verbosity: false,
  promptCacheKey: false,
  serviceTier: false,
  responses: false,
};

/** Servers of open models on one's own machines. */
const local: Capabilities = {
  ...compatible,
  maxTokensField: 'max_tokens',
  topK: true,
  // They have no limit.
  stopLimit: 1_000,
  strictTools: false,
  // What the template of a model does not know changes nothing.
  efforts: ['none', 'low', 'medium', 'high'],
  mediaInput: ['image', 'audio'],
};

/**
 * Presets as of November 2026. A comment names its source if the behaviour was read about and not
 * recorded; a date is that of the source. Image and embedding models were checked only where a
 * preset says something about them.
 */
export const vendorCapabilities: Readonly<Record<Vendor, Capabilities>> = {
  // The table of the dialect has OpenAI's models by name.
  openai: {},
  azure: {
    // Azure serves OpenAI's models under names that the host chose, so the capability table cannot
    // recognise them. Only its recorded replies were checked (fixtures openai-chat/azure-*).
    allowedTools: false,
    // It does not accept `file` parts in chat completions (openai-python#2300).
    mediaInput: ['image', 'audio'],
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
  deepseek: {
    ...compatible,
    maxTokensField: 'max_tokens',
    // JSON mode has no schema (api-docs.deepseek.com, JSON Output); `strict` works only on its beta
    // URL.
    structuredOutput: 'json',
    strictTools: false,
    // 400 "reasoning_content in the thinking mode must be passed back" (earendil-works/pi#3636).
    reasoningHistory: true,
    // api-docs.deepseek.com, Thinking Mode; reasoning is switched off only by a member of its own.
    efforts: ['low', 'high', 'max'],
    // 400 "Thinking mode does not support this tool_choice" (DeepSeek-V3#1376).
    toolChoice: 'auto',
    // Not in its list of parameters.
    seed: false,
    parallelToolCalls: false,
    maxCandidates: 1,
    stopLimit: 16,
    mediaInput: [],
  },
  moonshot: {
    // platform.kimi.ai/docs/api/chat, for K3. It charges for cache writes since September 2026; the
    // member in which it counts them could not be checked.
    ...compatible,
    promptCacheKey: true,
    // 400 "only 1 is allowed": sampling, penalties and `n` are fixed.
    sampling: 'none',
    penalties: false,
    maxCandidates: 1,
    // 400 if the reasoning before a tool call is missing.
    reasoningHistory: true,
    // It always reasons.
    efforts: ['low', 'high', 'max'],
    // 400 "tool_choice 'specified' is incompatible with thinking enabled" (inspect_ai#5152); models
    // other than K3 refuse `required` too.
    toolChoice: 'required',
    stopLimit: 5,
    // Not in its list of parameters.
    seed: false,
    parallelToolCalls: false,
    // Its URLs are those of its own files.
    mediaUrls: false,
    mediaInput: ['image'],
  },
  mistral: {
    // Its API schema of 2026-08-21. It responds with 422 `extra_forbidden` to every member that it
    // does not know (eca#231).
    ...compatible,
    maxTokensField: 'max_tokens',
    promptCacheKey: true,
    endUserId: false,
    // Usage is in the last chunk without being requested.
    includeUsage: false,
    // Mistral calls it `random_seed`.
    seed: false,
    logprobs: false,
    efforts: ['none', 'high'],
    // A trailing assistant message needs Mistral's member `prefix: true`.
    prefill: false,
    // Mistral has different members for documents and audio.
    mediaInput: ['image'],
    embeddingTokens: false,
  },
  groq: {
    // groq-typescript of 2026-07-24; the values of its `service_tier` are its own.
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
    // Those of gpt-oss; Qwen's are `none` and `default`.
    efforts: ['low', 'medium', 'high'],
    mediaInput: ['image'],
  },
  xai: {
    ...compatible,
    serviceTier: true,
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
  together: {
    // together-typescript of 2026-08-19.
    ...compatible,
    maxTokensField: 'max_tokens',
    topK: true,
    // A number for older models, and true for newer ones (inspect_ai#5149).
    logprobs: false,
    // Models that reason between tool calls read it as `reasoning_content`.
    reasoningHistory: true,
    efforts: ['low', 'medium', 'high'],
    // Not in its list of parameters.
    parallelToolCalls: false,
    mediaInput: ['image'],
  },
  openrouter: {
    // openrouter.ai/docs and its typescript-sdk of 2026-08-22.
    ...compatible,
    promptCacheKey: true,
    serviceTier: true,
    verbosity: true,
    // It accepts both names, but only this one works for every model behind it.
    maxTokensField: 'max_tokens',
    topK: true,
    // It accepts `reasoning_details` in the history, including Anthropic's signatures (fixture
    // openrouter-reasoning-details).
    signatures: true,
    efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
    maxCandidates: 1,
  },
  fireworks: {
    // Its python-sdk of 2026-07-21.
    ...compatible,
    maxTokensField: 'max_tokens',
    topK: true,
    promptCacheKey: true,
    serviceTier: true,
    reasoningHistory: true,
    // gpt-oss and MiniMax refuse `none`.
    efforts: ['low', 'medium', 'high'],
    mediaInput: ['image'],
  },
  cerebras: {
    // cerebras-cloud-sdk-node of 2026-07-08.
    ...compatible,
    promptCacheKey: true,
    serviceTier: true,
    // 400 "parallel_tool_calls=False is not supported by this model" (agno#4508).
    parallelToolCalls: false,
    // It responds with 422 if `strict` differs between tools (Roo-Code#10334).
    strictTools: false,
    jsonWithTools: false,
    efforts: ['low', 'medium', 'high'],
    maxCandidates: 1,
    mediaInput: [],
  },
  zai: {
    // docs.z.ai, Chat Completion.
    ...compatible,
    // 400 "Tool choice must be auto" (hindsight#4246).
    toolChoice: 'auto',
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
  alibaba: {
    // alibabacloud.com/help/en/model-studio, Qwen API via OpenAI Chat Completions.
    ...compatible,
    maxTokensField: 'max_tokens',
    topK: true,
    // It has only the presence penalty.
    penalties: false,
    // Only some models accept a schema.
    structuredOutput: 'json',
    strictTools: false,
    // Reasoning is set by members of its own, `enable_thinking` and `thinking_budget`.
    reasoning: 'none',
    // 400 for `required` and a named tool in thinking mode, the default of Qwen 3.5 and newer
    // (eino#994).
    toolChoice: 'auto',
    mediaInput: ['image'],
  },
  vllm: {
    // Its code of November 2026 (entrypoints/openai), which ignores members that it does not know.
    ...local,
    reasoningHistory: true,
  },
  llamacpp: {
    // Its code of November 2026 (tools/server); it has efforts since August (llama.cpp#26941).
    ...local,
    // It takes the choice of one tool for `auto` (llama.cpp#28806).
    toolChoice: 'required',
    // The templates of most models ignore the schema when there are tools.
    jsonWithTools: false,
    // 400 together with tools in a stream.
    logprobs: false,
    reasoningHistory: true,
    // Up to the number of its slots.
    maxCandidates: 1,
  },
  ollama: {
    // docs/api/openai-compatibility.mdx of 2026-08-21. It ignores `max_completion_tokens` and
    // `tool_choice`.
    ...local,
    toolChoice: 'auto',
    topK: false,
    parallelToolCalls: false,
    efforts: ['none', 'low', 'medium', 'high', 'max'],
    maxCandidates: 1,
    mediaUrls: false,
    embeddingTokens: false,
  },
  litellm: {
    // docs.litellm.ai. What it accepts depends on the model behind it; with its `drop_params` it
    // drops what that model does not take, and otherwise responds with 400.
    ...compatible,
    maxTokensField: 'max_tokens',
  },
};
