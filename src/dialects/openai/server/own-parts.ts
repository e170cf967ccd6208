/**
 * Reads the parts of an earlier answer that one provider alone understands, out of `extra_content`,
 * where the gateway has put them for callers who echo their messages.
 */
import type { ProviderPart } from '../../../canonical/request.ts';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../../json.ts';
import type { ObjectAtPath } from './read-members.ts';

interface PartLocation {
  readonly provider: string;
  /** Its member of `extra_content`, and the list of parts in it. */
  readonly path: readonly [string, string];
  /**
   * Whether it is something that the provider's own tools leave in an answer. Nothing else is sent:
   * a caller could put any content there, past the checks on the content of a message.
   */
  readonly isToolResult: (part: JsonObject) => boolean;
}

const anthropicEcho =
  /^(?:server_tool_use|mcp_tool_use|compaction|[a-z][a-z0-9_]{0,60}_tool_result)$/;

const locations: readonly PartLocation[] = [
  {
    provider: 'anthropic',
    path: ['anthropic', 'blocks'],
    isToolResult: (block) => anthropicEcho.test(String(member(block, 'type'))),
  },
  {
    provider: 'gemini',
    path: ['google', 'parts'],
    isToolResult: (part) => isJsonObject(member(part, 'toolCall') ?? member(part, 'toolResponse')),
  },
];

/** The parts that can go back to their provider. */
export function readOwnParts({ value: message, at }: ObjectAtPath): readonly ProviderPart[] {
  return locations.flatMap((place) =>
    partsAt(message, place).flatMap((value, index): readonly ProviderPart[] => {
      if (!isJsonObject(value) || !place.isToolResult(value)) return [];
      const path = `${at}.extra_content.${place.path.join('.')}[${index}]`;
      return [{ kind: 'provider_specific', at: path, provider: place.provider, value }];
    }),
  );
}

/** Which of the lists hold something that is sent to nobody. */
export function unreadOwnParts(message: JsonValue): readonly string[] {
  return locations
    .filter((place) =>
      partsAt(message, place).some((part) => !isJsonObject(part) || !place.isToolResult(part)),
    )
    .map(({ path }) => `messages.extra_content.${path.join('.')}`);
}

function partsAt(
  message: JsonValue,
  { path: [provider, name] }: PartLocation,
): readonly JsonValue[] {
  return items(member(member(member(message, 'extra_content'), provider), name));
}
