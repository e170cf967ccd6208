/** The wire formats of upstreams, and what differs between their models. */

/** All wire formats. `dialects/table.ts` needs a row for each; the compiler checks it. */
export const dialectNames = ['openai', 'gemini', 'anthropic'] as const;

/** A provider's wire format. */
export type DialectName = (typeof dialectNames)[number];

/**
 * The features of an upstream model. Each flag defaults to what the gateway's own table
 * (`docs/translation.md`) has for the upstream model; a name that the table does not know is
 * treated as the newest model of its dialect. Except for the first three, the flags matter only
 * where a call is translated.
 */
export interface Capabilities {
  /** Accepts `stream_options.include_usage`. Default true. */
  readonly includeUsage?: boolean;
  /**
   * `usage.completion_tokens` excludes reasoning tokens, which only `total_tokens` includes (xAI,
   * Google's OpenAI-compatible endpoint). Default false: `total_tokens` is then ignored where the
   * upstream states completion tokens.
   */
  readonly reasoningOutsideCompletion?: boolean;
  /**
   * `unasked`: returns images in Base64 and refuses `response_format` (GPT-image, the default).
   * `response_format`: returns Base64 only for `response_format: "b64_json"` (DALL·E, most
   * compatible servers).
   */
  readonly imageBase64?: 'unasked' | 'response_format';
  /** The member that bounds the output; compatible servers take `max_tokens`. */
  readonly maxTokensField?: 'max_completion_tokens' | 'max_tokens';
  /**
   * How reasoning is requested: `effort` (OpenAI), `level` or `budget` (Gemini 3, 2.5), `adaptive`
   * or `budget` (Anthropic's newer and older models), `none` for models without reasoning settings.
   */
  readonly reasoning?: 'effort' | 'level' | 'budget' | 'adaptive' | 'none';
  /**
   * The efforts or levels that the model accepts; any other is replaced by the nearest. Reasoning
   * can be switched off if `none` is listed.
   */
  readonly efforts?: readonly ReasoningEffort[];
  /**
   * The thinking budgets that the model accepts, in tokens. `off`: 0 is accepted although it is
   * below `min`.
   */
  readonly thinkingBudget?: ThinkingBudget | undefined;
  /**
   * Expects the reasoning of earlier turns to be sent back (`reasoning_content`: DeepSeek's tool
   * turns).
   */
  readonly reasoningHistory?: boolean;
  /**
   * `schema`: JSON Schema. `subset`: Google's older OpenAPI subset. `json`: JSON mode without a
   * schema. `none`: no JSON mode.
   */
  readonly structuredOutput?: 'schema' | 'subset' | 'json' | 'none';
  /** Accepts a response schema together with tools. */
  readonly jsonWithTools?: boolean;
  /** Can enforce the schema of a tool on its arguments (`strict`, Gemini's mode VALIDATED). */
  readonly strictTools?: boolean;
  /**
   * The tool choices that the model accepts (dialect `openai`). `any`: all. `required`: not a named
   * tool; it is then the only one that is offered. `auto`: none, so that the model cannot be forced
   * to call a tool.
   */
  readonly toolChoice?: 'any' | 'required' | 'auto';
  /** Accepts a tool choice that lists several named tools (`allowed_tools`). */
  readonly allowedTools?: boolean;
  /** Accepts `parallel_tool_calls` or its counterpart. */
  readonly parallelToolCalls?: boolean;
  /** Accepts function tools only with `reasoning_effort: "none"` (GPT-5.6 on chat completions). */
  readonly toolEffortNone?: boolean;
  /** Accepts ids on function calls and their results; Vertex refuses them. */
  readonly callIds?: boolean;
  /**
   * Requires the signatures of earlier function calls (Gemini 3) or of thinking blocks (Anthropic)
   * to be sent back.
   */
  readonly signatures?: boolean;
  /** How many of `temperature` and `top_p` a request may set: `any` for both, `one`, or `none`. */
  readonly sampling?: 'any' | 'one' | 'none';
  /** Accepts `top_k`. */
  readonly topK?: boolean;
  /** Accepts presence and frequency penalties. */
  readonly penalties?: boolean;
  /** Accepts `seed`. */
  readonly seed?: boolean;
  /** Accepts `logprobs` and `top_logprobs`. */
  readonly logprobs?: boolean;
  /** The most candidates (`n`, `candidateCount`) that one request may ask for. */
  readonly maxCandidates?: number;
  /** Accepts more than one candidate for streamed replies too. */
  readonly streamedCandidates?: boolean;
  /** The most stop sequences that one request may have. */
  readonly stopLimit?: number;
  /**
   * Has a field for the system instruction. Without one (Gemma) it is put in front of the first
   * user turn.
   */
  readonly systemInstruction?: boolean;
  /**
   * System messages in mid-conversation: `inline` keeps them in place, `lift` moves them to the
   * system instruction at the top.
   */
  readonly midSystem?: 'inline' | 'lift';
  /** Continues an assistant message at the end of the conversation (prefill). */
  readonly prefill?: boolean;
  /** Fetches images by `http(s)` URL itself; the gateway never fetches any. */
  readonly mediaUrls?: boolean;
  /** Accepts images inside a tool's result. */
  readonly resultMedia?: boolean;
  /** The kinds of media that a message may contain. */
  readonly mediaInput?: readonly ('image' | 'audio' | 'video' | 'document')[];
  /** Can return images or audio in a chat reply. */
  readonly mediaOutput?: boolean;
  /**
   * Accepts an assistant message's content as a list of parts; without it their text is sent as one
   * string.
   */
  readonly assistantParts?: boolean;
  /** Accepts the provider's built-in tools together with functions. */
  readonly builtInWithFunctions?: boolean;
  /**
   * Drops built-in tools of another provider (`googleSearch`) and lists them in
   * `x-tollgate-dropped`, where the call would otherwise be refused.
   */
  readonly dropBuiltInTools?: boolean;
  /** Accepts OpenAI's custom tools, which take a text in place of JSON arguments. */
  readonly customTools?: boolean;
  /** Accepts `verbosity`. */
  readonly verbosity?: boolean;
  /** Accepts `prompt_cache_key`, by which calls with a common beginning find one cache. */
  readonly promptCacheKey?: boolean;
  /** Accepts the id of the end user, `user` (dialect `openai`). */
  readonly endUserId?: boolean;
  /** Accepts OpenAI's values of `service_tier` (dialect `openai`). */
  readonly serviceTier?: boolean;
  /**
   * Serves OpenAI's Responses API itself (`POST {baseUrl}/responses`); calls of other channels are
   * translated.
   */
  readonly responses?: boolean;
  /**
   * Flags of `anthropic-beta` that the account refuses. They are taken out of relayed Messages
   * calls and listed in `x-tollgate-dropped` as `anthropic-beta:<flag>`. A header `anthropic-beta`
   * of the channel replaces all flags of callers.
   */
  readonly dropBetas?: readonly string[];
  /** Embeddings: the most inputs that one request may have. Longer calls are split. */
  readonly embeddingBatch?: number;
  /**
   * Embeddings: accepts `encoding_format: "base64"`. Where it is false, the upstream is asked for
   * numbers, and callers that asked for Base64 get it from the gateway.
   */
  readonly embeddingBase64?: boolean;
  /**
   * Embeddings: accepts `encoding_format: "float"`. Where it is false, the upstream is asked for
   * Base64, and callers that asked for numbers get them from the gateway.
   */
  readonly embeddingFloat?: boolean;
  /** Embeddings: accepts token ids as input. */
  readonly embeddingTokens?: boolean;
  /**
   * `full`: vectors have length one only if they have all the dimensions of the model
   * (gemini-embedding-001), so that callers of OpenAI's API, which rely on it, get them scaled.
   * `always`: vectors are passed on as they are.
   */
  readonly unitLength?: 'always' | 'full';
}

/** All reasoning efforts, from the lowest to the highest. */
export const reasoningEfforts: readonly [
  'none',
  'minimal',
  'low',
  'medium',
  'high',
  'xhigh',
  'max',
] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/** How much reasoning a call asks for. */
export type ReasoningEffort = (typeof reasoningEfforts)[number];

/** A range of thinking budgets, in tokens. */
export interface ThinkingBudget {
  /** The smallest budget that the model accepts. */
  readonly min: number;
  /** The largest budget that the model accepts. */
  readonly max: number;
  /** Whether thinking can be switched off. */
  readonly off?: boolean;
}
