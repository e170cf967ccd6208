/** Google's clients: their key headers, error format and model list. */
import { geminiErrorText } from '../../dialects/gemini/errors.ts';
import type { GatewayRequest } from '../../http.ts';
import type { Caller, KeySettings } from '../protocol.ts';
import { geminiModel, geminiModelList } from './gemini-models.ts';
import { headerOnce } from './key-header.ts';

const googleHeader = 'x-goog-api-key';

/** The clients that call paths below `/v1beta`. */
export const geminiCaller: Caller = {
  name: 'gemini',
  errors: { body: (error) => Buffer.from(geminiErrorText(error)) },
  keyHeaders: ({ nativeKeyHeaders }) => nativeKeyHeaders,
  secretOf: nativeSecret,
  keyExample: ({ nativeKeyHeaders }) =>
    // That of Google's clients first: the others are the host's own.
    nativeKeyHeaders
      .toSorted((one, other) => Number(other === googleHeader) - Number(one === googleHeader))
      .map((name) => `${name}: <key>`)
      .join('` or `'),
  models: { request: 'GET /v1beta/models', list: geminiModelList, one: geminiModel },
  rateHeaders: undefined,
};

/**
 * The key is in the first native header that is present: Google's SDKs put a placeholder into
 * theirs if another one is used.
 */
function nativeSecret(request: GatewayRequest, settings: KeySettings): string | undefined {
  const name = settings.nativeKeyHeaders.find((header) => request.headers[header] !== undefined);
  if (name !== undefined) return headerOnce(request, name);
  return settings.allowQueryKey
    ? (new URLSearchParams(request.search).get('key') ?? undefined)
    : undefined;
}
