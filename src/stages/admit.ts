/** Finds the model that a call names, and checks that the key's group may use it. */
import type { Call } from '../call.ts';
import { GatewayError } from '../errors.ts';
import type { Model } from '../ports/catalog.ts';
import { protocolsOf } from '../ports/model-defaults.ts';
import type { Caller, Protocol } from '../protocols/protocol.ts';
import type { Read } from './call-record.ts';
import { checkMembers } from './check-members.ts';
import type { RecordChecks } from './record-checks.ts';

/**
 * Returns the model with this id or alias, compared byte for byte.
 *
 * @throws GatewayError `model_not_found`, `model_not_allowed`, `store_unavailable`, and
 *   `invalid_request` for members that the model does not allow
 */
export async function admit(
  { call, key, route: { protocol }, received: { settings, guard } }: Read,
  records: RecordChecks,
): Promise<Model> {
  const model = await guard.ask('catalog', 'find', records.isModelOrMissing, () =>
    settings.catalog.find(call.modelId),
  );
  if (!model || !protocolsOf(model).includes(call.protocol)) {
    throw unknownModel(call.modelId, protocol.caller);
  }
  if (!model.groups.includes(key.group)) {
    throw new GatewayError(
      'model_not_allowed',
      `This key's group may not use the model ${named(call.modelId)}.`,
      { param: 'model' },
    );
  }
  checkCandidates(call, protocol, model);
  checkMembers(call, model);
  return model;
}

/** @throws GatewayError `invalid_request` if the model makes fewer candidates than requested */
export function checkCandidates(
  { demand }: Call,
  { candidates: { member: param, maximum } }: Protocol,
  { maxCandidates = maximum }: Model,
): void {
  if (demand.candidates <= maxCandidates) return;
  throw new GatewayError(
    'invalid_request',
    `\`${param}\` may be at most ${maxCandidates} for this model.`,
    { param },
  );
}

/** The error for an unknown model, the same for a call and for `GET /v1/models/<id>`. */
export function unknownModel(modelId: string, { models }: Caller): GatewayError {
  return new GatewayError(
    'model_not_found',
    `There is no model ${named(modelId)} here. ` +
      `List the models with ${models.request} and copy a name.`,
    { param: 'model' },
  );
}

/**
 * Quotes a model's name, the only input that error messages echo: truncated, and without control
 * characters.
 */
function named(modelId: string): string {
  return JSON.stringify(modelId.slice(0, 128).replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '?'));
}
