/**
 * The common form of a content request, used only when caller and upstream speak different
 * dialects. Order is data: parts are never sorted by kind, joined with separators, or trimmed.
 * `undefined` is what the caller did not say.
 */
import type { JsonObject, JsonValue } from '../json.ts';
import type { ReasoningEffort } from '../ports/catalog.ts';
import type { ProviderData } from './provider-data.ts';

/** What a caller asks for, whatever its dialect. */
export interface ContentRequest {
  /** The leading run of system and developer messages; one part each, in order. */
  readonly system: readonly TextPart[];
  readonly turns: readonly Turn[];
  readonly tools: readonly Tool[];
  readonly toolChoice: ToolChoice | undefined;
  /** False: at most one call an answer. */
  readonly parallelToolCalls: boolean | undefined;
  readonly format: OutputFormat | undefined;
  /** Reasoning is counted inside. */
  readonly maxOutputTokens: number | undefined;
  readonly temperature: number | undefined;
  readonly topP: number | undefined;
  readonly topK: number | undefined;
  readonly presencePenalty: number | undefined;
  readonly frequencyPenalty: number | undefined;
  readonly seed: number | undefined;
  /** An empty one could stop nothing; upstreams refuse it, so writers leave it out and say so. */
  readonly stop: readonly string[];
  /** Answers wanted; 1 where the caller did not say. */
  readonly candidates: number;
  /** Probabilities are wanted, with so many alternatives a token. */
  readonly logprobs: { readonly top: number | undefined } | undefined;
  readonly reasoning: Reasoning | undefined;
  /** What the answer may consist of; text where the caller did not say. */
  readonly modalities: readonly Modality[] | undefined;
  /** Who the caller serves, for the provider's abuse watch. */
  readonly endUserId: string | undefined;
  readonly serviceTier: string | undefined;
  /** Whether the whole request asks for a stream. */
  readonly streamed: boolean;
  /**
   * Members that one provider alone understands, by its dialect: written there as they are, and
   * dropped elsewhere by the caller's name in {@link ProviderMember.at}.
   */
  readonly providerMembers: readonly ProviderMember[];
  /** How the caller calls each field, for refusals and for `x-tollgate-dropped`. */
  readonly names: Readonly<Record<RequestField, string>>;
  /** What reading had to leave out already, in the caller's words. */
  readonly dropped: readonly string[];
}

/** The fields of a request that a dialect may have no words for. */
export type RequestField =
  | 'toolChoice'
  | 'parallelToolCalls'
  | 'format'
  | 'maxOutputTokens'
  | 'temperature'
  | 'topP'
  | 'topK'
  | 'presencePenalty'
  | 'frequencyPenalty'
  | 'seed'
  | 'stop'
  | 'candidates'
  | 'logprobs'
  | 'reasoning'
  | 'modalities'
  | 'endUserId'
  | 'serviceTier'
  | 'tools'
  | 'system';

/** A member of the request that belongs to one provider. */
export interface ProviderMember {
  /** The dialect whose provider knows it: `gemini` for `safetySettings`. */
  readonly provider: string;
  /** As the provider calls it, `safetySettings`, `thinkingConfig.thinkingBudget`. */
  readonly name: string;
  readonly value: JsonValue;
  /** As the caller wrote it, `extra_body.google.safety_settings`. */
  readonly at: string;
  /** Refused elsewhere instead of dropped: without it the request means something else. */
  readonly vital: boolean;
}

/** What an answer may consist of. */
export type Modality = 'text' | 'image' | 'audio';

/** One message. Tool results stand in user turns, whatever the caller's role for them was. */
export interface Turn {
  /** `system`: an instruction in mid-conversation. */
  readonly role: 'system' | 'user' | 'assistant';
  readonly parts: readonly Part[];
}

/** A piece of a message. */
export type Part =
  | TextPart
  | ReasoningPart
  | MediaPart
  | ToolCallPart
  | ToolResultPart
  | ProviderPart;

interface PartBase {
  /** Where the caller wrote it: `messages[2].content[1]`. */
  readonly at: string;
  /** What its own provider wants back with it. */
  readonly providerData?: ProviderData | undefined;
  /** Anthropic's `cache_control`, which callers of every dialect may send. */
  readonly cacheControl?: JsonObject | undefined;
}

/** Text that is seen. */
export interface TextPart extends PartBase {
  readonly kind: 'text';
  readonly text: string;
}

/** A thought of the model. Its text may be empty where only the provider data counts. */
export interface ReasoningPart extends PartBase {
  readonly kind: 'reasoning';
  readonly text: string;
}

/** An image, a sound, a film or a document. */
export interface MediaPart extends PartBase {
  readonly kind: 'media';
  /** Lower case, undefined where nobody said and the bytes don't show it. */
  readonly mimeType: string | undefined;
  readonly source:
    | { readonly type: 'base64'; readonly data: string }
    | { readonly type: 'url'; readonly url: string }
    /** A file that lies at a provider: its id or its `gs://` address. */
    | { readonly type: 'file'; readonly id: string };
  readonly fileName?: string | undefined;
  /** How the caller called the file's name, for an upstream that has no place for it. */
  readonly fileNameAt?: string | undefined;
  /** OpenAI's `low`, `high`, `auto`. */
  readonly detail?: string | undefined;
  /** How the caller called it. */
  readonly detailAt?: string | undefined;
}

/** A call the model made. */
export interface ToolCallPart extends PartBase {
  readonly kind: 'tool_call';
  /** Never empty: derived from its place where the caller's protocol has none. */
  readonly id: string;
  readonly name: string;
  /** JSON text as it came, every digit kept; not always an object, not always valid. */
  readonly arguments: string;
}

/** What a tool gave back. */
export interface ToolResultPart extends PartBase {
  readonly kind: 'tool_result';
  /** The call it answers; a reader that can't find one leaves the id the caller sent. */
  readonly callId: string;
  /** The called function, looked up by the call; undefined where there is no such call. */
  readonly name: string | undefined;
  readonly content: readonly (TextPart | MediaPart)[];
  readonly isError: boolean;
}

/**
 * A part that one provider alone understands, such as a tool that it ran itself. It goes back to
 * that provider as it came, and is left out elsewhere.
 */
export interface ProviderPart extends PartBase {
  readonly kind: 'provider_specific';
  /** The dialect of that provider. */
  readonly provider: string;
  readonly value: JsonObject;
}

/** Something the model may use. */
export type Tool = FunctionTool | BuiltInTool;

/** A function of the caller. */
export interface FunctionTool {
  readonly kind: 'function';
  readonly name: string;
  readonly description: string | undefined;
  /** JSON Schema, whatever form the caller wrote it in; undefined for no parameters. */
  readonly parameters: JsonObject | undefined;
  readonly strict: boolean | undefined;
  /** How the caller asked for it, where not by `strict` on the tool. */
  readonly strictAt?: string | undefined;
  readonly at: string;
  readonly cacheControl?: JsonObject | undefined;
}

/** A tool that the provider runs itself: a search, code execution, an OpenAI custom tool. */
export interface BuiltInTool {
  readonly kind: 'built_in';
  readonly provider: string;
  /** As its provider calls it, `googleSearch`. */
  readonly name: string;
  readonly value: JsonValue;
  readonly at: string;
}

/** Which tools the model may or must call. */
export interface ToolChoice {
  readonly mode: 'auto' | 'none' | 'required';
  /** Only these; all where empty. */
  readonly names: readonly string[];
}

/** What form the answer's text must have. */
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
  /** Gemini's `text/x.enum`: the answer is one of these, bare. */
  | { readonly type: 'enum'; readonly values: readonly string[] };

/** How hard the model is to think. */
export interface Reasoning {
  readonly effort: ReasoningEffort | undefined;
  /** Gemini's own measure; −1 is dynamic, 0 is off. */
  readonly budgetTokens: number | undefined;
  /** Whether the caller wants to see the thoughts. */
  readonly includeThoughts: boolean | undefined;
}
