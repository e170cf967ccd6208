/**
 * Reads members of a chat request that only Google supports, at the paths where callers of Google's
 * chat-compatible endpoint put them.
 */
import type { ProviderMember } from '../../../canonical/request.ts';
import { isJsonObject, type JsonObject, type JsonValue, member } from '../../../json.ts';
import { objectIn, presentMember } from '../../read-members.ts';

/** Returns the members under Google's own names. */
export function readGoogleMembers(body: JsonObject): readonly ProviderMember[] {
  const extra = objectIn(body, 'extra_body', '') ?? {};
  const google = objectIn(extra, 'google', 'extra_body') ?? {};
  return [
    ...googleMember(google, 'safety_settings', 'extra_body.google.'),
    ...googleMember(extra, 'safety_settings', 'extra_body.'),
    ...googleMember(body, 'safety_settings', ''),
    ...googleMember(google, 'cached_content', 'extra_body.google.'),
    ...googleMember(google, 'thinking_config', 'extra_body.google.'),
    ...readVoice(body),
  ].filter((own, index, all) => all.findIndex(({ name }) => name === own.name) === index);
}

function googleMember(source: JsonObject, name: string, at: string): readonly ProviderMember[] {
  const value = presentMember(source, name);
  if (value === undefined) return [];
  return [
    {
      provider: 'gemini',
      name: camelCase(name),
      value: camelCased(value),
      at: `${at}${name}`,
      // Without the cached content, the model would miss context that the prompt refers to.
      vital: name === 'cached_content',
    },
  ];
}

/** Voice names differ between providers; the name is passed on unchanged. */
function readVoice(body: JsonObject): readonly ProviderMember[] {
  const voiceName = member(objectIn(body, 'audio', ''), 'voice');
  if (typeof voiceName !== 'string') return [];
  const value = { voiceConfig: { prebuiltVoiceConfig: { voiceName } } };
  return [{ provider: 'gemini', name: 'speechConfig', value, at: 'audio.voice', vital: false }];
}

function camelCased(value: JsonValue): JsonValue {
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, held]) => [camelCase(name), held]));
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
