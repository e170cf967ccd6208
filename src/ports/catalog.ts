/**
 * The port that lists the models: what exists, who may use it, what it costs, which channels serve
 * it.
 */
import type { Nanos, Price } from '../money.ts';
import type { MaybePromise } from './call-options.ts';

/** One of the ways to call the gateway. */
export type ProtocolName = 'chat' | 'images' | 'native';

/** Every wire format there is; the compiler asks for the row in `dialects/table.ts`. */
export const dialectNames = ['openai', 'gemini', 'anthropic'] as const;

/** A provider's wire format. */
export type DialectName = (typeof dialectNames)[number];

/**
 * What an upstream can take and give. A flag that is left out is what is true of the upstream model
 * by the gateway's own table (`docs/translation.md`); a name the table does not know counts as the
 * newest of its dialect. But for the first three, flags matter only where a call is translated.
 */
export interface Capabilities {
  /** Takes `stream_options.include_usage`. Default true. */
  readonly includeUsage?: boolean;
  /**
   * `usage.completion_tokens` leaves the reasoning out, which only `total_tokens` counts (xAI,
   * Google's compatible endpoint). Default false: then the total adds nothing to a completion that
   * is stated.
   */
  readonly reasoningOutsideCompletion?: boolean;
  /**
   * `unasked`: answers images in Base64 and refuses `response_format` (GPT-image, the default).
   * `response_format`: must be asked with `response_format: "b64_json"` (DALL·E, most compatible
   * servers).
   */
  readonly imageBase64?: 'unasked' | 'response_format';
  /** How the bound of the answer is called; compatible servers take `max_tokens`. */
  readonly maxTokensField?: 'max_completion_tokens' | 'max_tokens';
  /**
   * How reasoning is asked for: `effort` (OpenAI), `level` or `budget` (Gemini 3, 2.5), `adaptive`
   * or `budget` (Anthropic's newer and older models), `none` where it can't be.
   */
  readonly reasoning?: 'effort' | 'level' | 'budget' | 'adaptive' | 'none';
  /**
   * The efforts or levels it knows; another is moved to the nearest. Thinking can be switched off
   * where `none` is among them.
   */
  readonly efforts?: readonly ReasoningEffort[];
  /** The thinking budgets it takes, in tokens; `off` where 0 is allowed below `min`. */
  readonly thinkingBudget?: ThinkingBudget | undefined;
  /** Wants earlier thoughts back (`reasoning_content`: DeepSeek's tool turns). */
  readonly reasoningHistory?: boolean;
  /**
   * `schema`: JSON Schema. `subset`: Google's older OpenAPI subset. `json`: JSON without a schema
   * only. `none`: no such mode.
   */
  readonly structuredOutput?: 'schema' | 'subset' | 'json' | 'none';
  /** Takes a schema for the answer and tools in one request. */
  readonly jsonWithTools?: boolean;
  /** Holds arguments to the tool's schema (`strict`, Gemini's mode VALIDATED). */
  readonly strictTools?: boolean;
  /** Takes a choice among several named tools. */
  readonly allowedTools?: boolean;
  /** Takes `parallel_tool_calls` or its counterpart. */
  readonly parallelToolCalls?: boolean;
  /** Takes function tools only with `reasoning_effort: "none"` (GPT-5.6 on chat completions). */
  readonly toolEffortNone?: boolean;
  /** Takes ids on calls and results; Vertex refuses them. */
  readonly callIds?: boolean;
  /** Demands the signature of a call back (Gemini 3), of thoughts (Anthropic). */
  readonly signatures?: boolean;
  /** `temperature` and `top_p`: both, one of the two, or neither. */
  readonly sampling?: 'any' | 'one' | 'none';
  /** Takes `top_k`. */
  readonly topK?: boolean;
  /** Takes presence and frequency penalties. */
  readonly penalties?: boolean;
  readonly seed?: boolean;
  readonly logprobs?: boolean;
  /** Answers to one request. */
  readonly maxCandidates?: number;
  /** Takes more than one of them on a stream too. */
  readonly streamedCandidates?: boolean;
  /** How many stop sequences it takes. */
  readonly stopLimit?: number;
  /** Has a place for a system instruction; Gemma gets it in front of the first user turn. */
  readonly systemInstruction?: boolean;
  /** A system message in mid-conversation: where it stands, or lifted to the head. */
  readonly midSystem?: 'inline' | 'lift';
  /** Goes on from an assistant's turn at the end. */
  readonly prefill?: boolean;
  /** Fetches images by `http(s)` address itself; the gateway never does. */
  readonly mediaUrls?: boolean;
  /** Takes images inside a tool's result. */
  readonly resultMedia?: boolean;
  readonly mediaInput?: readonly ('image' | 'audio' | 'video' | 'document')[];
  /** Makes images or sound in a chat's answer. */
  readonly mediaOutput?: boolean;
  /** Takes the parts of an assistant's turn as a list; otherwise their text is one string. */
  readonly assistantParts?: boolean;
  /** Takes the provider's own tools beside functions. */
  readonly builtInWithFunctions?: boolean;
  /**
   * Leaves the tools of another provider (`googleSearch`) out and says so, in place of a refusal.
   */
  readonly dropBuiltInTools?: boolean;
}

/** How hard a model may be asked to think, from not at all on. */
export const reasoningEfforts: readonly [
  'none',
  'minimal',
  'low',
  'medium',
  'high',
  'xhigh',
  'max',
] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/** How hard a model is to think. */
export type ReasoningEffort = (typeof reasoningEfforts)[number];

/** A range of thinking budgets, in tokens. */
export interface ThinkingBudget {
  readonly min: number;
  readonly max: number;
  readonly off?: boolean;
}

/**
 * Members of a request that reach beyond the call: they name another model, property of the
 * upstream account, or a server of the caller's choice. They are refused on every model unless its
 * record allows them ({@link Model.allow}).
 */
export type ReachMember =
  | 'fallbacks'
  | 'models'
  | 'route'
  | 'provider'
  | 'plugins'
  | 'preset'
  | 'advisor'
  | 'file_id'
  | 'container'
  | 'thread'
  | 'mcp'
  | 'file_search'
  | 'code_interpreter'
  | 'shell'
  | 'endpoint'
  | 'billing_policy';

/** Which members of {@link ReachMember} callers may use: any value, or these models only. */
export type AllowedMembers = {
  readonly [Row in ReachMember]?: true | { readonly models: readonly string[] };
};

/** What one part of a prompt may count at most, in tokens, by its kind. */
export interface MediaPartTokens {
  /** One image; 4,096 where left out. */
  readonly image?: number;
  /** One recording, or 0.05 tokens a byte of it if that is more; 4,096 where left out. */
  readonly audio?: number;
  /** One video, or 0.05 tokens a byte of it if that is more; 4,096 where left out. */
  readonly video?: number;
  /** One PDF or other document that is not text; `contextTokens` where left out. */
  readonly document?: number;
  /**
   * What is only named: a file, an address that is no image, cached content; `contextTokens` where
   * left out.
   */
  readonly reference?: number;
}

/** One upstream account that serves a model. The same id under two models is the same account. */
export interface Channel {
  readonly id: string;
  readonly dialect: DialectName;
  /**
   * `https://api.openai.com/v1`, `https://generativelanguage.googleapis.com/v1beta`: up to the
   * version.
   */
  readonly baseUrl: string;
  /** The account's secret; a function is asked once a call, for secrets that rotate. */
  readonly credential: string | (() => Promise<string>);
  /** What this account calls the model; the model's id where left out. */
  readonly upstreamModel?: string;
  /** Lower is tried first; 0 where left out. */
  readonly priority?: number;
  /** Share of the calls among channels of one priority; 1 where left out. 0 takes none. */
  readonly weight?: number;
  /**
   * The channel serves only models that cost the caller at most this, in nanos: per million output
   * tokens, or the most expensive image.
   */
  readonly maxPriceNanos?: Nanos;
  /**
   * What the account's provider charges the operator. With it each usage record says what the call
   * cost; it changes nothing for callers.
   */
  readonly cost?: Price;
  /** The channel serves only keys of these groups; of all that the model has where left out. */
  readonly groups?: readonly string[];
  /** Calls at once through this account, in this process; beyond, other channels are asked. */
  readonly maxConcurrentCalls?: number;
  /**
   * Keeps a caller on one account, where its prompts are cached: by its key, or by the
   * `prompt_cache_key` that a chat names. Drawn by weight where left out.
   */
  readonly stickyBy?: 'key' | 'prompt_cache_key';
  /** Says 503 and 529 only before it does any work: an image may then be tried elsewhere. */
  readonly rejectsBeforeWork?: boolean;
  readonly capabilities?: Capabilities;
  /** Static headers of the account, sent with every call. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * `reported`: calls are charged what the account reports, above their hold too (the default).
   * `held`: never more than their hold, for an account whose reports you do not trust.
   */
  readonly usageTrust?: 'reported' | 'held';
  /** Passes none of the upstream's own words about a bad request to the caller. */
  readonly hideErrors?: boolean;
  readonly timeouts?: Partial<Timeouts>;
}

/** How long an upstream may take, in ms. */
export interface Timeouts {
  readonly connectMs: number;
  /** Until the status line: of a streamed reply, and of one that comes whole. */
  readonly firstByteStreamedMs: number;
  readonly firstByteMs: number;
  /** Between two pieces of the reply, not counting what we hold back for a slow caller. */
  readonly idleMs: number;
  /** How long a stream may say nothing but pings and comments, at first and between events. */
  readonly firstTokenMs: number;
  /**
   * How long the status line of a stream waits for the reply to say something, so that an early
   * failure has its own status; then 200 goes out. From there on also how long a stream may be
   * quiet before a comment keeps its connection alive, where the caller's clients take comments.
   */
  readonly quietMs: number;
  readonly totalMs: number;
}

/** What a caller names. */
export interface Model {
  /** Exact and case-sensitive; slashes and colons are legal. */
  readonly id: string;
  /**
   * Named to callers in lists of models and in `No available <vendor> accounts`. Where left out,
   * the provider of the first channel: `OpenAI`, `Google` or `Anthropic`.
   */
  readonly vendor?: string;
  /** Where left out: `images` for a price per image, else `chat` and `native`. */
  readonly protocols?: readonly ProtocolName[];
  /** Groups whose keys may use it; none means nobody. */
  readonly groups: readonly string[];
  readonly price: Price;
  readonly channels: readonly Channel[];
  /** Other ids it answers to. */
  readonly aliases?: readonly string[];
  readonly maxOutputTokens?: number;
  readonly contextTokens?: number;
  /**
   * How many tokens one byte of a request may count at most, for the hold; 0.4 where left out. No
   * text exceeds 1.
   */
  readonly tokensPerByte?: number;
  readonly mediaPartTokens?: MediaPartTokens;
  /** Members that callers may send although they reach beyond the call; none where left out. */
  readonly allow?: AllowedMembers;
  /** The largest `n` or `candidateCount`; where left out 10 for images, else unbounded. */
  readonly maxCandidates?: number;
  /**
   * Refuses with 400 what a translated call would otherwise leave out and list in
   * `x-tollgate-dropped`.
   */
  readonly strict?: boolean;
  /** Unix seconds, as `GET /v1/models` shows it. */
  readonly createdAtSeconds?: number;
  readonly displayName?: string;
  readonly description?: string;
  readonly timeouts?: Partial<Timeouts>;
}

/**
 * The live list of models.
 *
 * A model that was answered is read through once, and known by its object from then on: whoever
 * changes a model answers with a new object, and never changes the old one.
 */
export interface Catalog {
  /** The model of this id or alias, byte for byte, or undefined. */
  find(modelId: string): MaybePromise<Model | undefined>;
  /** The models a group may use by a protocol, in a stable order. */
  list(group: string, protocol: ProtocolName): MaybePromise<readonly Model[]>;
}
