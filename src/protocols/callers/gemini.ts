/** Google's clients: their key headers, error format and model list. */
import { geminiErrorText } from '../../dialects/gemini/errors.ts';
import { invalidRequest } from '../../errors.ts';
import type { GatewayRequest } from '../../http.ts';
import type { JsonObject } from '../../json.ts';
import type { Model, ProtocolName } from '../../ports/models/catalog.ts';
import { protocolsOf } from '../../ports/models/model-defaults.ts';
import type { Caller, KeySettings } from '../protocol.ts';
import { headerOnce } from './key-header.ts';

/** The page sizes of Google's API. */
const defaultPageSize = 50;
const maxPageSize = 1_000;

/**
 * `GET /v1beta/models`, in pages. A page token encodes the name of the last model on the page, so
 * that models added or removed in between don't shift the next page. The last page has no
 * `nextPageToken`: an empty one makes Google's SDK ask forever.
 */
function geminiModelList(models: readonly Model[], search: string): JsonObject {
  const query = new URLSearchParams(search);
  const size = pageSize(query.get('pageSize'));
  const start = pageStart(models, query.get('pageToken'));
  const page = models.slice(start, start + size);
  const last = page.at(-1);
  const more = start + size < models.length;
  return {
    models: page.map(geminiModel),
    ...(more && last !== undefined ? { nextPageToken: tokenOf(last) } : {}),
  };
}

/** `GET /v1beta/models/{model}` */
function geminiModel(model: Model): JsonObject {
  return {
    name: `models/${model.id}`,
    baseModelId: model.id,
    version: '001',
    displayName: model.displayName ?? model.id,
    description: model.description ?? '',
    ...(model.contextTokens === undefined ? {} : { inputTokenLimit: model.contextTokens }),
    ...(model.maxOutputTokens === undefined ? {} : { outputTokenLimit: model.maxOutputTokens }),
    supportedGenerationMethods: methodsOf(model),
  };
}

const methods: { readonly [Name in ProtocolName]?: readonly string[] } = {
  native: ['generateContent', 'streamGenerateContent', 'countTokens'],
  embeddings: ['embedContent', 'batchEmbedContents', 'countTokens'],
};

function methodsOf(model: Model): readonly string[] {
  return [...new Set(protocolsOf(model).flatMap((name) => methods[name] ?? []))];
}

function pageSize(text: string | null): number {
  if (text === null || text === '' || text === '0') return defaultPageSize;
  if (!/^\d{1,9}$/.test(text)) {
    throw invalidRequest('`pageSize` must be a number from 1 to 1000.', 'pageSize');
  }
  return Math.min(Number(text), maxPageSize);
}

function pageStart(models: readonly Model[], token: string | null): number {
  if (token === null || token === '') return 0;
  const previous = models.findIndex((model) => tokenOf(model) === token);
  if (previous === -1) {
    throw invalidRequest(
      '`pageToken` is not a token of this list. Start again without it.',
      'pageToken',
    );
  }
  return previous + 1;
}

function tokenOf(model: Model): string {
  return Buffer.from(model.id).toString('base64url');
}

const googleHeader = 'x-goog-api-key';

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
