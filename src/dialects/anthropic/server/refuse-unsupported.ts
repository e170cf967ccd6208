/** Refuses members without which a request would mean something else. */
import { GatewayError } from '../../../errors.ts';
import { items, type JsonObject, member } from '../../../json.ts';
import { integerIn, presentMember } from '../../read-members.ts';

/** @throws GatewayError `not_portable` that names the member */
export function refuseUnsupported(body: JsonObject): void {
  if (integerIn(body, 'max_tokens', '') === 0) {
    throw refusal(
      'max_tokens',
      'This model cannot fill its cache without a reply. Send 1 or more.',
    );
  }
  if (member(presentMember(body, 'thread'), 'type') === 'continue') {
    throw refusal('thread', 'This model keeps no conversations. Send the whole history.');
  }
  if (presentMember(body, 'container') !== undefined) {
    throw refusal('container', 'This model has no containers. Leave it out.');
  }
  if (items(presentMember(body, 'mcp_servers')).length > 0) {
    throw refusal(
      'mcp_servers',
      'This model calls no MCP servers. Offer their tools as functions.',
    );
  }
  const geo = presentMember(body, 'inference_geo') ?? everywhere;
  if (geo !== everywhere) {
    throw refusal('inference_geo', 'This model cannot guarantee a region. Leave it out.');
  }
}

/** The value that requires no region. */
const everywhere = 'global';

function refusal(param: string, message: string): GatewayError {
  return new GatewayError('not_portable', message, { param });
}
