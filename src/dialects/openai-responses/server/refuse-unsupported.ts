/** Refuses members without which a request would mean something else. */
import { GatewayError } from '../../../errors.ts';
import type { JsonObject } from '../../../json.ts';
import { objectIn, presentMember, refuseModeration } from '../../read-members.ts';

/** @throws GatewayError `not_portable` that names the member */
export function refuseUnsupported(body: JsonObject): void {
  refuseModeration(body);
  for (const [name, message] of refusals) {
    if (presentMember(body, name) !== undefined) throw refusal(name, message);
  }
  if (presentMember(body, 'background') === true) {
    throw refusal('background', 'This model cannot reply in the background. Leave it out.');
  }
  const cache = objectIn(body, 'prompt_cache_options', '');
  if (cache !== undefined && presentMember(cache, 'prewarm') === true) {
    throw refusal(
      'prompt_cache_options.prewarm',
      'This model cannot fill its cache without a reply. Leave it out.',
    );
  }
}

const refusals: readonly (readonly [name: string, message: string])[] = [
  ['previous_response_id', 'This model keeps no conversations. Send the whole history as `input`.'],
  ['conversation', 'This model keeps no conversations. Send the whole history as `input`.'],
  ['prompt', 'This model has no stored prompts. Send the text as `instructions` and `input`.'],
];

function refusal(param: string, message: string): GatewayError {
  return new GatewayError('not_portable', message, { param });
}
