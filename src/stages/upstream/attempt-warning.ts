/** The process warning about an attempt that failed because of what only the host can change. */
import type { EventOf } from '../../events/events.ts';
import { hostFailures, isHostFailure } from '../../host/failures.ts';
import { type HostWarning, quoteOf } from '../../host/warnings.ts';
import { isWildcard } from '../../ports/models/listed-model.ts';

export function attemptWarning(event: EventOf<'attempt_ended'>): HostWarning | undefined {
  const { reason, channelId, modelId, upstreamModel, status } = event;
  if (!isHostFailure(reason)) return undefined;
  if (reason === 'credential_unavailable') {
    return {
      code: 'TOLLGATE_CREDENTIAL_FAILED',
      about: channelId,
      message:
        `The function \`credential\` of the channel ${quoted(channelId)} ` +
        `failed${quoteOf(event)}.`,
    };
  }
  const { meaning, remedy } = hostFailures[reason];
  const received = status === undefined ? '' : `, status ${status}`;
  const isOfModel = reason === 'upstream_model_not_found';
  const name = isOfModel ? `, there ${quoted(upstreamModel)}` : '';
  return {
    code: 'TOLLGATE_UPSTREAM_FAILED',
    // Callers choose the names of a wildcard's models, and there may be any number of them.
    about: [channelId, reason, isOfModel && !isWildcard({ id: modelId }) ? upstreamModel : ''].join(
      ' ',
    ),
    message:
      `The channel ${quoted(channelId)} can't serve the model ${quoted(modelId)}${name}: ` +
      `${meaning} (${reason}${received})${quoteOf(event)}. To do: ${remedy}.`,
  };
}

function quoted(name: string): string {
  return JSON.stringify(name);
}
