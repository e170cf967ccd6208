/**
 * The common form of a content request, used only if caller and upstream speak different dialects.
 * Order matters: parts are never sorted by kind, joined with separators, or trimmed. A member is
 * `undefined` if the caller didn't set it.
 */
import type { JsonObject, JsonValue } from '../json.ts';
import type { ReasoningEffort } from '../ports/models/capabilities.ts';
import type { ProviderData } from './provider-data.ts';

export interface ContentRequest {
  /** The system and developer messages at the beginning, one part for each, in order. */
  readonly system: readonly TextPart[];
  readonly turns: readonly Turn[];
  readonly tools: readonly Tool[];
  readonly toolChoice: ToolChoice | undefined;
  /** False: at most one tool call per reply. */
  readonly parallelToolCalls: boolean | undefined;
  readonly format: OutputFormat | undefined;
  /** Includes reasoning tokens. */
  readonly maxOutputTokens: number | undefined;
  readonly temperature: number | undefined;
  readonly topP: number | undefined;
  readonly topK: number | undefined;
  readonly presencePenalty: number | undefined;
  readonly frequencyPenalty: number | undefined;
  readonly seed: number | undefined;
  /** May contain empty strings, which upstreams reject; writers drop them and report that. */
  readonly stop: readonly string[];
  /** The number of candidates (`n`); 1 by default. */
  readonly candidates: number;
  /** Set if log probabilities are requested; `top` is the number of alternatives per token. */
  readonly logprobs: { readonly top: number | undefined } | undefined;
  readonly reasoning: Reasoning | undefined;
  /** The kinds of output that are allowed; undefined means text. */
  readonly modalities: readonly Modality[] | undefined;
  /** The end user's id, which providers use to detect abuse. */
  readonly endUserId: string | undefined;
  readonly serviceTier: string | undefined;
  /** How long the answer should be: `low`, `medium` or `high`. */
  readonly verbosity?: string | undefined;
  /** Shared by calls with a common beginning, so that they hit the same cache. Only a hint. */
  readonly promptCacheKey?: string | undefined;
  readonly streamed: boolean;
  /**
   * Members that only one provider understands. They are sent unchanged to that provider; elsewhere
   * they are dropped and reported by {@link ProviderMember.at}.
   */
  readonly providerMembers: readonly ProviderMember[];
  /** The caller's name for each field, used in error messages and in `x-tollgate-dropped`. */
  readonly names: Readonly<Record<RequestField, string>>;
  /** The caller's names of members that the reader had to drop. */
  readonly dropped: readonly string[];
}

export function changesVerbosity({ verbosity }: Pick<ContentRequest, 'verbosity'>): boolean {
  return verbosity !== undefined && verbosity !== 'medium';
}

export function asksForTier({ serviceTier }: Pick<ContentRequest, 'serviceTier'>): boolean {
  return serviceTier !== undefined && !usualTiers.has(serviceTier);
}

const usualTiers: ReadonlySet<string> = new Set(['auto', 'default', 'standard', 'standard_only']);

/** The fields that errors and headers name, by their names in OpenAI's chat API. */
export const chatNames = {
  toolChoice: 'tool_choice',
  parallelToolCalls: 'parallel_tool_calls',
  format: 'response_format',
  maxOutputTokens: 'max_completion_tokens',
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
  presencePenalty: 'presence_penalty',
  frequencyPenalty: 'frequency_penalty',
  seed: 'seed',
  stop: 'stop',
  candidates: 'n',
  logprobs: 'logprobs',
  reasoning: 'reasoning_effort',
  modalities: 'modalities',
  endUserId: 'user',
  serviceTier: 'service_tier',
  verbosity: 'verbosity',
  tools: 'tools',
  system: 'messages',
} as const;

export type RequestField = keyof typeof chatNames;

export interface ProviderMember {
  /** The dialect of that provider: `gemini` for `safetySettings`. */
  readonly provider: string;
  /** The provider's name for it: `safetySettings`, `thinkingConfig.thinkingBudget`. */
  readonly name: string;
  readonly value: JsonValue;
  /** The caller's name for it: `extra_body.google.safety_settings`. */
  readonly at: string;
  /**
   * Without this member the request would mean something else, so that other providers' writers
   * refuse the request instead of dropping the member.
   */
  readonly vital: boolean;
}

export type Modality = 'text' | 'image' | 'audio';

/** One message. Tool results are in user turns, whatever role the caller gave them. */
export interface Turn {
  /** `system` is an instruction in the middle of the conversation. */
  readonly role: 'system' | 'user' | 'assistant';
  readonly parts: readonly Part[];
}

export type Part =
  | TextPart
  | ReasoningPart
  | MediaPart
  | ToolCallPart
  | ToolResultPart
  | ProviderPart;

interface PartBase {
  /** The path of the part in the caller's request: `messages[2].content[1]`. */
  readonly at: string;
  readonly providerData?: ProviderData | undefined;
  /**
   * The caller's name for the provider data, if it is a separate member: writers for other
   * providers list it as dropped. Undefined if the data came inside the part.
   */
  readonly providerDataAt?: string | undefined;
  /** Anthropic's `cache_control`, which callers of every dialect may send. */
  readonly cacheControl?: JsonObject | undefined;
  /** The caller's name for `cacheControl`, if it isn't `cache_control` of the part. */
  readonly cacheControlAt?: string | undefined;
}

export interface TextPart extends PartBase {
  readonly kind: 'text';
  readonly text: string;
}

/** Reasoning of the model. The text may be empty if only the provider data matters. */
export interface ReasoningPart extends PartBase {
  readonly kind: 'reasoning';
  readonly text: string;
  /**
   * The reasoning was shown to the caller, and no provider needs it back. A writer for an upstream
   * that doesn't accept it leaves it out without listing it.
   */
  readonly displayOnly?: boolean | undefined;
}

export interface MediaPart extends PartBase {
  readonly kind: 'media';
  /** In lower case; undefined if the caller didn't state it and the bytes don't reveal it. */
  readonly mimeType: string | undefined;
  readonly source:
    | { readonly type: 'base64'; readonly data: string }
    | { readonly type: 'url'; readonly url: string }
    /** A file stored at a provider: its id or its `gs://` URI. */
    | { readonly type: 'file'; readonly id: string };
  readonly fileName?: string | undefined;
  /** The caller's name for `fileName`, for upstreams that don't support it. */
  readonly fileNameAt?: string | undefined;
  /** A model made it. An upstream that takes no media of the assistant goes on without it. */
  readonly isGenerated?: boolean | undefined;
  /** OpenAI's image detail: `low`, `high` or `auto`. */
  readonly detail?: string | undefined;
  readonly detailAt?: string | undefined;
  /** The text of a plain-text document, for upstreams that don't accept such files. */
  readonly text?: string | undefined;
}

export interface ToolCallPart extends PartBase {
  readonly kind: 'tool_call';
  /** Never empty; derived from the call's position if the caller's protocol has no ids. */
  readonly id: string;
  readonly name: string;
  /** JSON text exactly as received. It may be something other than an object, or invalid JSON. */
  readonly arguments: string;
}

export interface ToolResultPart extends PartBase {
  readonly kind: 'tool_result';
  /** The id of the call; the id that the caller sent if there is no such call. */
  readonly callId: string;
  /** The name of the called function; undefined if the call wasn't found. */
  readonly name: string | undefined;
  readonly content: readonly (TextPart | MediaPart)[];
  readonly isError: boolean;
}

/**
 * A part that only one provider understands, such as a tool that it ran itself. It is returned
 * unchanged to that provider and dropped for others.
 */
export interface ProviderPart extends PartBase {
  readonly kind: 'provider_specific';
  readonly provider: string;
  readonly value: JsonObject;
}

export type Tool = FunctionTool | BuiltInTool;

export interface FunctionTool {
  readonly kind: 'function';
  readonly name: string;
  readonly description: string | undefined;
  /** JSON Schema, converted from any form that the caller used; undefined for no parameters. */
  readonly parameters: JsonObject | undefined;
  readonly strict: boolean | undefined;
  /** The caller's name for the request to be strict, if it isn't `strict` on the tool. */
  readonly strictAt?: string | undefined;
  readonly at: string;
  readonly cacheControl?: JsonObject | undefined;
  /**
   * It takes a text in place of arguments (OpenAI's custom tools). Here, and for upstreams without
   * such tools, it is a function whose only argument is that text: `{"input": "…"}`.
   */
  readonly custom?: CustomTool | undefined;
}

export interface CustomTool {
  /**
   * OpenAI's `format`: free text or a grammar; undefined if the tool has none. A grammar may have
   * the form of Responses (`{type, syntax, definition}`) or that of chat.
   */
  readonly format: JsonObject | undefined;
  readonly formatAt: string;
}

/**
 * A tool that the provider runs itself, such as a search or code execution, or an OpenAI custom
 * tool of a chat request.
 */
export interface BuiltInTool {
  readonly kind: 'built_in';
  readonly provider: string;
  /** The provider's name for it, such as `googleSearch`. */
  readonly name: string;
  readonly value: JsonValue;
  readonly at: string;
  /**
   * The caller's name for the member that states the kind of tool, if that isn't the whole tool.
   */
  readonly typeAt?: string | undefined;
}

export interface ToolChoice {
  readonly mode: 'auto' | 'none' | 'required';
  /** The allowed functions; empty allows all. */
  readonly names: readonly string[];
}

export type OutputFormat =
  | { readonly type: 'json' }
  | {
      readonly type: 'json_schema';
      readonly name: string | undefined;
      readonly description: string | undefined;
      /** JSON Schema. */
      readonly schema: JsonObject;
      readonly strict: boolean | undefined;
    }
  /** Gemini's `text/x.enum`: the output is one of these values, without quotes. */
  | { readonly type: 'enum'; readonly values: readonly string[] };

export interface Reasoning {
  readonly effort: ReasoningEffort | undefined;
  /** Gemini's token budget: −1 is dynamic, 0 is off. */
  readonly budgetTokens: number | undefined;
  readonly includeThoughts: boolean | undefined;
  /**
   * The caller's name for the budget, if an effort is set too. A model takes one of them, and the
   * other is listed as dropped.
   */
  readonly budgetAt?: string | undefined;
}

/** Every part of the conversation, including the parts inside tool results. */
export function everyPart({ system, turns }: ContentRequest): readonly Part[] {
  const all: Part[] = [...system];
  for (const { parts } of turns) {
    for (const part of parts) {
      all.push(part);
      if (part.kind !== 'tool_result') continue;
      for (const inner of part.content) all.push(inner);
    }
  }
  return all;
}

/** Only Anthropic supports cache marks, so that other writers report them as dropped. */
export function cacheMarksIn(request: ContentRequest): readonly string[] {
  const marks: string[] = [];
  for (const { at, cacheControl, cacheControlAt } of everyPart(request)) {
    if (cacheControl !== undefined) marks.push(cacheControlAt ?? `${at}.cache_control`);
  }
  for (const tool of request.tools) {
    if (tool.kind !== 'function' || tool.cacheControl === undefined) continue;
    marks.push(`${tool.at}.cache_control`);
  }
  return marks;
}

/** The names of provider data that the upstream isn't sent, if the caller named it at all. */
export function unsentProviderData(
  request: ContentRequest,
  isSent: (data: ProviderData, part: Part) => boolean,
): readonly string[] {
  const unsent: string[] = [];
  for (const part of everyPart(request)) {
    const { providerData, providerDataAt } = part;
    if (providerData === undefined || providerDataAt === undefined) continue;
    if (!isSent(providerData, part)) unsent.push(providerDataAt);
  }
  return unsent;
}

/** The names of functions that are declared or were called; a renamed one is renamed everywhere. */
export function namesOfFunctions({ tools, turns }: ContentRequest): readonly string[] {
  const declared = tools.flatMap((tool) => (tool.kind === 'function' ? [tool.name] : []));
  return [...declared, ...turns.flatMap(({ parts }) => namesOfCalls(parts))];
}

export function namesOfCalls(parts: readonly Part[]): readonly string[] {
  return parts.flatMap((part) => (part.kind === 'tool_call' ? [part.name] : []));
}

/** What has no effect without tools, and what upstreams refuse there. */
export function droppedWithoutTools({
  toolChoice,
  parallelToolCalls,
  names,
}: ContentRequest): readonly string[] {
  return [
    ...(toolChoice === undefined ? [] : [names.toolChoice]),
    ...(parallelToolCalls === false ? [names.parallelToolCalls] : []),
  ];
}
