/** OpenAI's clients, those for Azure among them: key headers, error format and model list. */
import { openaiErrorText } from '../../dialects/openai/errors.ts';
import type { JsonObject } from '../../json.ts';
import type { Model } from '../../ports/models/catalog.ts';
import { vendorOf } from '../../ports/models/model-defaults.ts';
import type { Caller } from '../protocol.ts';
import { bearerHeader, bearerSecret, headerOnce } from './key-header.ts';
import { openaiRateHeaders } from './rate-headers.ts';

export const openaiCaller: Caller = {
  name: 'openai',
  errors: { body: (error) => Buffer.from(openaiErrorText(error)) },
  keyHeaders: () => [bearerHeader],
  secretOf: bearerSecret,
  keyExample: () => 'Authorization: Bearer <key>',
  models: {
    request: 'GET /v1/models',
    list: (models) => ({
      object: 'list',
      data: models.map(openaiModel),
    }),
    one: openaiModel,
  },
  rateHeaders: openaiRateHeaders,
};

/** Azure's own header for keys. Only its clients' keys are read from it. */
export const azureKeyHeader = 'api-key';

/** OpenAI's clients for Azure, which send tokens of Microsoft as bearers. */
export const azureCaller: Caller = {
  ...openaiCaller,
  keyHeaders: () => [bearerHeader, azureKeyHeader],
  secretOf: (request) => bearerSecret(request) ?? headerOnce(request, azureKeyHeader),
  keyExample: () => `${azureKeyHeader}: <key>`,
};

function openaiModel(model: Model): JsonObject {
  return {
    id: model.id,
    object: 'model',
    created: model.createdAtSeconds ?? 0,
    owned_by: vendorOf(model),
  };
}
