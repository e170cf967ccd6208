/** Short forms of what requests and replies consist of. The place of every part is `at`. */
import type { ProviderData } from '../../../src/canonical/provider-data.ts';
import type { ContentEvent, FinishReason } from '../../../src/canonical/reply.ts';
import type {
  BuiltInTool,
  FunctionTool,
  MediaPart,
  Part,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
  Turn,
} from '../../../src/canonical/request.ts';
import type { JsonValue } from '../../../src/json.ts';
import { functionTool } from '../../support/codec.ts';

/** An instruction in the middle of a conversation. */
export const system = (...parts: readonly Part[]): Turn => ({ role: 'system', parts });
/** A text. */
export const text = (value: string, more: Partial<TextPart> = {}): TextPart => ({
  kind: 'text',
  text: value,
  at: 'at',
  ...more,
});
/** Reasoning. */
export const thought = (value: string, more: Partial<ReasoningPart> = {}): ReasoningPart => ({
  kind: 'reasoning',
  text: value,
  at: 'at',
  ...more,
});
/** A call. */
export const call = (
  id: string,
  name: string,
  json = '{}',
  more: Partial<ToolCallPart> = {},
): ToolCallPart => ({ kind: 'tool_call', id, name, arguments: json, at: 'at', ...more });
/** The result of a call of `f`: a text, or parts. */
export const result = (
  callId: string,
  content: string | ToolResultPart['content'],
  more: Partial<ToolResultPart> = {},
): ToolResultPart => ({
  kind: 'tool_result',
  callId,
  name: 'f',
  content: typeof content === 'string' ? [text(content)] : content,
  isError: false,
  at: 'at',
  ...more,
});
/** Bytes in Base64. */
export const bytes = (
  mimeType: string | undefined,
  data = 'iVBORw0KGgo=',
  more: Partial<MediaPart> = {},
): MediaPart => ({ kind: 'media', mimeType, source: { type: 'base64', data }, at: 'at', ...more });
/** Media at a URL. */
export const remote = (
  url: string,
  mimeType?: string,
  more: Partial<MediaPart> = {},
): MediaPart => ({ kind: 'media', mimeType, source: { type: 'url', url }, at: 'at', ...more });
/** A file that a provider stores. */
export const stored = (id: string, mimeType?: string): MediaPart => ({
  kind: 'media',
  mimeType,
  source: { type: 'file', id },
  at: 'at',
});
/** Data of Gemini, Anthropic or another provider. */
export const signedBy = (
  provider: string,
  data: string,
  kind: ProviderData['kind'] = 'signature',
): { readonly providerData: ProviderData } => ({ providerData: { provider, kind, data } });

/** A function. */
export const tool = (name: string, more: Partial<FunctionTool> = {}): FunctionTool =>
  functionTool(name, { at: 'tools[0]', ...more });
/** A tool that a provider runs. */
export const builtIn = (provider: string, name: string, value: JsonValue = {}): BuiltInTool => ({
  kind: 'built_in',
  provider,
  name,
  value,
  at: 'tools[1]',
});

/** Events of the first choice. */
export const says = (value: string, more: object = {}): ContentEvent => ({
  type: 'text',
  choice: 0,
  text: value,
  ...more,
});
/** Reasoning. */
export const thinks = (value: string, more: object = {}): ContentEvent => ({
  type: 'reasoning',
  choice: 0,
  text: value,
  ...more,
});
/** A refusal. */
export const refuses = (value: string): ContentEvent => ({
  type: 'refusal',
  choice: 0,
  text: value,
});
/** A call and its end. */
export const calls = (
  name: string,
  json: string,
  number = 0,
  more: object = {},
): readonly ContentEvent[] => [
  { type: 'tool_begin', choice: 0, call: number, id: `c${number}`, name, arguments: json, ...more },
  { type: 'tool_end', choice: 0, call: number },
];
/** The finish. */
export const ends = (
  reason: FinishReason,
  more: { readonly native?: string; readonly message?: string; readonly choice?: number } = {},
): ContentEvent => ({ type: 'finish', choice: 0, reason, ...more });
