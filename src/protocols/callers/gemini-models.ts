/** Writes Google's lists of models. Every listed name works verbatim in a path. */
import { GatewayError } from '../../errors.ts';
import type { JsonObject } from '../../json.ts';
import type { Model } from '../../ports/catalog.ts';

/** Google's page sizes. */
const defaultPageSize = 50;
const largestPageSize = 1_000;

/**
 * `GET /v1beta/models`, in Google's pages. The token of a page is the name it follows on, so that a
 * model that comes or goes between two pages shifts nothing. The last page has no `nextPageToken`
 * at all: an empty one makes Google's own SDK ask for ever.
 *
 * @throws GatewayError `invalid_request` for a page size or token that makes no sense
 */
export function geminiModelList(models: readonly Model[], search: string): JsonObject {
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
export function geminiModel(model: Model): JsonObject {
  return {
    name: `models/${model.id}`,
    baseModelId: model.id,
    version: '001',
    displayName: model.displayName ?? model.id,
    description: model.description ?? '',
    ...(model.contextTokens === undefined ? {} : { inputTokenLimit: model.contextTokens }),
    ...(model.maxOutputTokens === undefined ? {} : { outputTokenLimit: model.maxOutputTokens }),
    supportedGenerationMethods: ['generateContent', 'streamGenerateContent', 'countTokens'],
  };
}

function pageSize(text: string | null): number {
  if (text === null || text === '' || text === '0') return defaultPageSize;
  if (!/^\d{1,9}$/.test(text)) {
    throw new GatewayError('invalid_request', '`pageSize` must be a number from 1 to 1000.', {
      param: 'pageSize',
    });
  }
  return Math.min(Number(text), largestPageSize);
}

function pageStart(models: readonly Model[], token: string | null): number {
  if (token === null || token === '') return 0;
  const previous = models.findIndex((model) => tokenOf(model) === token);
  if (previous === -1) {
    throw new GatewayError(
      'invalid_request',
      '`pageToken` is not one that this list gave. Start again without it.',
      { param: 'pageToken' },
    );
  }
  return previous + 1;
}

function tokenOf(model: Model): string {
  return Buffer.from(model.id).toString('base64url');
}
