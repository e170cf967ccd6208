/**
 * The known numbers of the usage objects of all vendors: what each counts, and where it lies. A
 * vendor that is named here documents the member in its API reference, or a recorded reply has it.
 */

/** What a number counts. `input` and `output` are the totals that a usage object states. */
export type CountName =
  | 'input'
  | 'output'
  | 'total'
  | 'cached'
  | 'uncached'
  | 'written'
  | 'written5m'
  | 'written1h'
  | 'toolPrompt'
  | 'reasoning'
  | 'audioInput'
  | 'imageInput'
  | 'videoInput'
  | 'documentInput'
  | 'textInput'
  | 'audioOutput'
  | 'imageOutput'
  | 'cachedAudio'
  | 'cachedImage'
  | 'cachedVideo'
  | 'searches'
  | 'fetches';

/**
 * Where a part lies: inside the stated input or output, beside it, or inside only as long as there
 * is room. A stated total that is right only with the part on the other side decides otherwise.
 */
export type Place = 'inside' | 'beside' | 'inside_if_room';

/** What is known about a member of a usage object. A row without any of these is not a count. */
export interface UsageRow {
  readonly count?: CountName;
  readonly place?: Place;
  /** It is an amount of money: so many of the tenth powers of the currency unit. */
  readonly cost?: { readonly exponent: number; readonly ifOwnKey?: true };
  readonly members?: UsageRows;
  /** It is a list of Google's counts by modality. */
  readonly modalities?: Readonly<Record<string, CountName>>;
  /** It is Anthropic's list of the times that it ran a model. */
  readonly isIterations?: true;
}

export type UsageRows = ReadonlyMap<string, UsageRow>;

const rowsOf = (rows: Readonly<Record<string, UsageRow>>): UsageRows =>
  new Map(Object.entries(rows));
const of = (count: CountName, place?: Place): UsageRow =>
  place === undefined ? { count } : { count, place };
const objectOf = (rows: Readonly<Record<string, UsageRow>>): UsageRow => ({
  members: rowsOf(rows),
});
/** Numbers that are known not to change what a call costs. */
const notCounted = (...names: readonly string[]): Readonly<Record<string, UsageRow>> =>
  Object.fromEntries(names.map((name) => [name, {}]));

/** Anthropic, and LiteLLM in its details. */
const cacheCreation = (place: Place): UsageRow =>
  objectOf({
    ephemeral_5m_input_tokens: of('written5m', place),
    ephemeral_1h_input_tokens: of('written1h', place),
  });

const inputDetails = objectOf({
  cached_tokens: of('cached', 'inside'),
  // OpenAI and OpenRouter; LiteLLM calls them `cache_creation_tokens`, Alibaba as Anthropic does.
  cache_write_tokens: of('written', 'inside'),
  // vLLM.
  created_cache_tokens: of('written', 'inside'),
  cache_creation_tokens: of('written', 'inside'),
  cache_creation_input_tokens: of('written', 'inside'),
  cache_creation: cacheCreation('inside'),
  cache_creation_token_details: cacheCreation('inside'),
  audio_tokens: of('audioInput'),
  image_tokens: of('imageInput'),
  video_tokens: of('videoInput'),
  // vLLM; at others, if it is a number, the sum of them.
  multimodal_tokens: objectOf({
    audio: of('audioInput'),
    image: of('imageInput'),
    video: of('videoInput'),
  }),
  // LiteLLM, for the models of xAI and Google.
  web_search_requests: of('searches'),
  cached_tokens_details: objectOf({
    audio_tokens: of('cachedAudio'),
    image_tokens: of('cachedImage'),
    ...notCounted('text_tokens'),
  }),
  ...notCounted('text_tokens'),
});

const outputDetails = objectOf({
  // Inside at OpenAI; beside at xAI, which its total shows.
  reasoning_tokens: of('reasoning', 'inside'),
  audio_tokens: of('audioOutput'),
  image_tokens: of('imageOutput'),
  ...notCounted('text_tokens', 'video_tokens'),
  ...notCounted('accepted_prediction_tokens', 'rejected_prediction_tokens'),
});

const serverTools = objectOf({
  web_search_requests: of('searches'),
  ...notCounted('web_fetch_requests', 'tool_search_requests'),
  ...notCounted('tool_calls_requested', 'tool_calls_executed'),
});

/** OpenAI's APIs for chat, responses, embeddings and images, and all that are compatible. */
export const openaiRows: UsageRows = rowsOf({
  prompt_tokens: of('input'),
  completion_tokens: of('output'),
  input_tokens: of('input'),
  output_tokens: of('output'),
  total_tokens: of('total'),
  prompt_tokens_details: inputDetails,
  // Mistral, beside the one above.
  prompt_token_details: inputDetails,
  input_tokens_details: inputDetails,
  completion_tokens_details: outputDetails,
  output_tokens_details: outputDetails,
  // DeepSeek: the two are the prompt.
  prompt_cache_hit_tokens: of('cached', 'inside'),
  prompt_cache_miss_tokens: of('uncached'),
  // Moonshot, Together.
  cached_tokens: of('cached', 'inside'),
  // Mistral.
  num_cached_tokens: of('cached', 'inside'),
  // Cerebras.
  image_tokens: of('imageInput'),
  // LiteLLM, for the models of Anthropic and Bedrock: its prompt has all of them.
  cache_read_input_tokens: of('cached', 'inside'),
  cache_creation_input_tokens: of('written', 'inside'),
  cache_creation: cacheCreation('inside'),
  // Inside at SGLang. Perplexity's deep research bills it beside the completion and the total.
  reasoning_tokens: of('reasoning', 'inside_if_room'),
  // OpenRouter, Perplexity and xAI; OpenAI reports no searches here.
  server_tool_use: serverTools,
  // OpenRouter, by its SDK.
  server_tool_use_details: serverTools,
  num_search_queries: of('searches'),
  num_sources_used: of('searches'),
  // OpenRouter; with a key of the operator's own, `cost` is only its fee.
  cost: {
    cost: { exponent: 0 },
    // Perplexity.
    members: rowsOf({
      total_cost: { cost: { exponent: 0 } },
      ...notCounted('input_tokens_cost', 'output_tokens_cost', 'request_cost'),
      ...notCounted('citation_tokens_cost', 'reasoning_tokens_cost', 'search_queries_cost'),
      ...notCounted('input_cost', 'output_cost', 'tool_calls_cost'),
    }),
  },
  cost_details: objectOf({
    upstream_inference_cost: { cost: { exponent: 0, ifOwnKey: true } },
    ...notCounted('upstream_inference_prompt_cost', 'upstream_inference_completions_cost'),
    ...notCounted('upstream_inference_input_cost', 'upstream_inference_output_cost'),
  }),
  // xAI: ten billion to the dollar.
  cost_in_usd_ticks: { cost: { exponent: -10 } },
  ...notCounted('num_server_side_tools_used', 'server_side_tool_usage_details', 'context_details'),
  // Perplexity bills them for one model only; DeepInfra's is an estimate.
  ...notCounted('citation_tokens', 'estimated_cost'),
  // Groq, Mistral, MiniMax and SambaNova: times, rates and lengths.
  ...notCounted('queue_time', 'prompt_time', 'completion_time', 'total_time'),
  ...notCounted('prompt_audio_seconds', 'total_characters'),
  ...notCounted('start_time', 'end_time', 'time_to_first_token', 'total_latency'),
  ...notCounted('acceptance_rate', 'total_tokens_per_sec', 'completion_tokens_per_sec'),
  ...notCounted(
    'completion_tokens_after_first_per_sec',
    'completion_tokens_after_first_per_sec_first_ten',
  ),
});

/** Anthropic's API: `input_tokens` are what was neither read from a cache nor written to one. */
export const anthropicRows: UsageRows = rowsOf({
  input_tokens: of('input'),
  output_tokens: of('output'),
  cache_read_input_tokens: of('cached', 'beside'),
  cache_creation_input_tokens: of('written', 'beside'),
  cache_creation: cacheCreation('beside'),
  output_tokens_details: objectOf({ thinking_tokens: of('reasoning', 'inside') }),
  server_tool_use: objectOf({
    web_search_requests: of('searches'),
    web_fetch_requests: of('fetches'),
    ...notCounted('code_execution_requests', 'tool_search_requests'),
  }),
  iterations: { isIterations: true },
});

const promptModalities = {
  TEXT: 'textInput',
  MODALITY_UNSPECIFIED: 'textInput',
  AUDIO: 'audioInput',
  IMAGE: 'imageInput',
  VIDEO: 'videoInput',
  DOCUMENT: 'documentInput',
} as const;

/** Google's API: the total is the sum of prompt, prompt of tools, candidates and thoughts. */
export const geminiRows: UsageRows = rowsOf({
  promptTokenCount: of('input'),
  candidatesTokenCount: of('output'),
  totalTokenCount: of('total'),
  cachedContentTokenCount: of('cached', 'inside'),
  toolUsePromptTokenCount: of('toolPrompt', 'beside'),
  // Some proxies count them among the candidates.
  thoughtsTokenCount: of('reasoning', 'beside'),
  promptTokensDetails: { modalities: promptModalities },
  // The Gemini API for embeddings; Vertex uses the name above.
  promptTokenDetails: { modalities: promptModalities },
  candidatesTokensDetails: { modalities: { AUDIO: 'audioOutput', IMAGE: 'imageOutput' } },
  cacheTokensDetails: {
    modalities: { AUDIO: 'cachedAudio', IMAGE: 'cachedImage', VIDEO: 'cachedVideo' },
  },
  ...notCounted('toolUsePromptTokensDetails'),
});
