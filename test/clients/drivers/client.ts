/** A client library, reduced to what the scenarios need of it. */

/** Where a client sends its calls. */
export interface Target {
  /** With `/v1`. */
  readonly baseURL: string;
  readonly apiKey: string;
  readonly model: string;
  /** How often the client may retry. Default: 0. */
  readonly maxRetries?: number;
}

/** One question to a model. */
export interface Question {
  readonly prompt: string;
  /** A data URL that is sent with the prompt. */
  readonly imageUrl?: string;
  /** Whether the answer has to be an object of {@link placeSchema}. */
  readonly structured?: boolean;
  /** Sent with the prompt, by clients of the Messages API. */
  readonly document?: AppDocument;
  /** A tool that Anthropic may run, for clients of the Messages API. */
  readonly serverTool?: ServerTool;
  /** A model that Anthropic asks if the first refuses, for clients of the Messages API. */
  readonly fallback?: string;
  /** A stop sequence, for clients of the Messages API. */
  readonly stop?: string;
  /** Whether to mark the instructions for the cache, for clients of the Messages API. */
  readonly cached?: boolean;
  readonly signal?: AbortSignal;
  /** Called with each piece of text of a streamed answer. */
  readonly onText?: (text: string) => void;
}

/** A document, in one of the forms in which apps have them. */
export interface AppDocument {
  readonly form: 'base64' | 'url' | 'text';
  /** A PDF as Base64, the URL of a PDF, or a text. */
  readonly data: string;
  /** Whether the answer has to cite it. */
  readonly isCited?: boolean;
}

/** A tool that Anthropic runs. */
export type ServerTool = keyof typeof serverToolTypes;

/** The types of the tools that Anthropic runs, in a version that all clients have. */
export const serverToolTypes = {
  web_search: 'web_search_20250305',
  web_fetch: 'web_fetch_20250910',
  code_execution: 'code_execution_20250825',
} as const;

/** The answer as the client shows it to an app. */
export interface Answer {
  readonly text: string;
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  /** The URLs of the pages, and the passages of the documents, that the answer cites. */
  readonly cited?: readonly string[];
  /** The parsed object of a structured answer. */
  readonly parsed?: unknown;
  /** How the client says that the answer is not complete; undefined for a complete one. */
  readonly unfinished?: string | undefined;
  /** How the client says that the model refused; undefined where it did not. */
  readonly refusal?: string | undefined;
}

/** A tool that an app offers. */
export interface AppTool {
  readonly name: string;
  /** The name of its only parameter, a string. */
  readonly parameter: string;
  /** Returns a text, or an image as Base64 of a PNG. */
  run(argument: string): string | { readonly png: string };
}

/** Asks a question. Rejects with what the app would catch. */
export type Ask = (target: Target, question: Question) => Promise<Answer>;

/** What an app sets for a conversation. */
export interface Conversation {
  readonly prompts: readonly string[];
  readonly tools: readonly AppTool[];
  /** Whether to ask for reasoning and its summary; otherwise the client's defaults apply. */
  readonly reasons: boolean;
  /** A tool that Anthropic may run, for clients of the Messages API. */
  readonly serverTool?: ServerTool;
}

/**
 * Asks several prompts in one conversation, running tools until each has its answer; returns the
 * answers.
 */
export type Converse = (target: Target, conversation: Conversation) => Promise<readonly string[]>;

/** One way to use a client library. */
export interface Client {
  /** Package, major version and way: `openai 5 .stream()`. */
  readonly name: string;
  readonly streams: boolean;
  /**
   * Whether it takes the input tokens only from the first event of a stream, and adds the output
   * tokens of the first and the last.
   */
  readonly addsUsageOfEvents?: boolean;
  /** Whether it switches reasoning off where it is not asked for. */
  readonly disablesReasoning?: boolean;
  /** The tools of Anthropic whose results it doesn't send back with the turn. */
  readonly forgets?: readonly ServerTool[];
  /** Whether it continues by itself a turn that Anthropic paused. */
  readonly resumesTurns?: boolean;
  /** Whether it sends its signal with the request. */
  readonly abortsEarly?: boolean;
  readonly ask: Ask;
  readonly converse: Converse;
}

/** The tool of that name. */
export function calledTool(tools: readonly AppTool[], name: string): AppTool {
  const called = tools.find((one) => one.name === name);
  if (called === undefined) throw new Error(`The model called ${name}, which is not offered.`);
  return called;
}

/** The most rounds of calls for one prompt. */
export const maxRounds = 8;

/** The tokens that a client may ask a model to think for, where its API has a budget. */
export const thinkingBudget = 1024;

/** The base URL of clients that add `/v1` themselves. */
export function rootOf(baseURL: string): string {
  return baseURL.replace(/\/v1$/, '');
}

/** The system prompt of every conversation. */
export const instructions = 'Be brief.';
