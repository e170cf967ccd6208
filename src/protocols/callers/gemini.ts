/** Google's clients: a key in a header of its own, Google's errors and list of models. */
import { geminiErrorText } from '../../dialects/gemini/errors.ts';
import type { GatewayRequest } from '../../http.ts';
import type { Caller, KeySettings } from '../protocol.ts';
import { geminiModel, geminiModelList } from './gemini-models.ts';
import { headerOnce } from './key-header.ts';

/** Those who call below `/v1beta`. */
export const geminiCaller: Caller = {
  name: 'gemini',
  errors: { body: (error) => Buffer.from(geminiErrorText(error)) },
  keyHeaders: ({ nativeKeyHeaders }) => nativeKeyHeaders,
  secretOf: nativeSecret,
  keyExample: ({ nativeKeyHeaders }) => `${nativeKeyHeaders[0]}: <key>`,
  models: { request: 'GET /v1beta/models', list: geminiModelList, one: geminiModel },
};

/**
 * The first native header that is present decides: Google's SDKs put a placeholder into their own.
 */
function nativeSecret(request: GatewayRequest, settings: KeySettings): string | undefined {
  const name = settings.nativeKeyHeaders.find((header) => request.headers[header] !== undefined);
  if (name !== undefined) return headerOnce(request, name);
  return settings.allowQueryKey
    ? (new URLSearchParams(request.search).get('key') ?? undefined)
    : undefined;
}
