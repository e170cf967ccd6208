/** Decides which provider's clients a request comes from, where the path alone does not tell. */
import type { GatewayRequest } from '../http.ts';
import {
  anthropicCaller,
  anthropicKeyHeader,
  anthropicVersionHeader,
} from './callers/anthropic.ts';
import { geminiCaller } from './callers/gemini.ts';
import { openaiCaller } from './callers/openai.ts';
import type { Caller, KeySettings } from './protocol.ts';

/** The headers that decide, except those that carry keys. */
export const decidingHeaders: readonly string[] = [anthropicVersionHeader];

export const sharedPathCallers: readonly Caller[] = [openaiCaller, geminiCaller, anthropicCaller];

/**
 * The clients that sent these headers. `anthropic-version` comes before `Authorization`, because
 * Anthropic's newer SDKs send both; a native key counts only without `Authorization`, because
 * Google's SDKs put a placeholder there.
 */
export function callerByHeaders(
  { headers, search }: Pick<GatewayRequest, 'search' | 'headers'>,
  { nativeKeyHeaders, allowQueryKey }: KeySettings,
): Caller {
  if (headers[anthropicVersionHeader] !== undefined) return anthropicCaller;
  if (headers.authorization !== undefined) return openaiCaller;
  if (nativeKeyHeaders.some((name) => headers[name] !== undefined)) return geminiCaller;
  if (allowQueryKey && new URLSearchParams(search).has('key')) return geminiCaller;
  return headers[anthropicKeyHeader] === undefined ? openaiCaller : anthropicCaller;
}
