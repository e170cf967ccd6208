/**
 * Reads provider-specific parts of an earlier reply from `extra_content`, where the gateway put
 * them so that callers send them back with the message.
 */
import type { ProviderPart } from '../../../canonical/request.ts';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../../json.ts';
import type { ObjectAtPath } from '../../read-members.ts';

interface PartLocation {
  readonly provider: string;
  /** The provider's member of `extra_content`, and the array of parts in it. */
  readonly path: readonly [string, string];
  /**
   * Returns whether the provider's built-in tools produce such a part. No other part is sent,
   * because a caller could use it to get content past the checks on messages.
   */
  readonly isProviderOutput: (part: JsonObject) => boolean;
}

const anthropicOutput =
  /^(?:server_tool_use|mcp_tool_use|compaction|[a-z][a-z0-9_]{0,60}_tool_result)$/;

const locations: readonly PartLocation[] = [
  {
    provider: 'anthropic',
    path: ['anthropic', 'blocks'],
    isProviderOutput: (block) => anthropicOutput.test(String(member(block, 'type'))),
  },
  {
    provider: 'gemini',
    path: ['google', 'parts'],
    isProviderOutput: (part) =>
      isJsonObject(member(part, 'toolCall') ?? member(part, 'toolResponse')),
  },
];

export function readProviderParts({ value: message, at }: ObjectAtPath): readonly ProviderPart[] {
  return locations.flatMap((location) =>
    partsAt(message, location).flatMap((value, index): readonly ProviderPart[] => {
      if (!isJsonObject(value) || !location.isProviderOutput(value)) return [];
      const path = `${at}.extra_content.${location.path.join('.')}[${index}]`;
      return [{ kind: 'provider_specific', at: path, provider: location.provider, value }];
    }),
  );
}

/** Returns the paths of the arrays that contain a part which is not sent to any provider. */
export function unreadProviderParts(message: JsonValue): readonly string[] {
  return locations
    .filter((location) =>
      partsAt(message, location).some(
        (part) => !isJsonObject(part) || !location.isProviderOutput(part),
      ),
    )
    .map(({ path }) => `messages.extra_content.${path.join('.')}`);
}

function partsAt(
  message: JsonValue,
  { path: [provider, name] }: PartLocation,
): readonly JsonValue[] {
  return items(member(member(member(message, 'extra_content'), provider), name));
}
