/** What one event of a native stream says, where its bytes alone do not tell. */
import { jsonText } from '../../canonical/raw-json.ts';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../json.ts';
import { charsPerAudioToken, contentTokens, imageTokens } from '../content-count.ts';
import { isFilled } from '../is-filled.ts';

const replyMembers = [
  'candidates',
  'promptFeedback',
  'usageMetadata',
  'modelVersion',
  'responseId',
];

/** Whether it is part of a reply: what has none of a reply's members says something else. */
export function isReplyEvent(document: JsonValue | undefined): document is JsonObject {
  return (
    isJsonObject(document) && replyMembers.some((name) => member(document, name) !== undefined)
  );
}

/** Whether it holds content, a finish or a block: not only usage or who the model is. */
export function saysSomething(document: JsonValue): boolean {
  if (isWord(member(member(document, 'promptFeedback'), 'blockReason'))) return true;
  return items(member(document, 'candidates')).some(
    (candidate) =>
      isWord(member(candidate, 'finishReason')) ||
      items(member(member(candidate, 'content'), 'parts')).some(isFilled),
  );
}

/** Whether it says that the prompt was blocked, and has no answer. */
export function isBlockedPrompt(event: JsonValue): boolean {
  return (
    isWord(member(member(event, 'promptFeedback'), 'blockReason')) &&
    items(member(event, 'candidates')).length === 0
  );
}

function isWord(value: JsonValue | undefined): boolean {
  return typeof value === 'string' && value !== '';
}

/** What the calls and the media of a reply count, which a search for text does not find. */
export function partTokens(reply: JsonValue): number {
  let tokens = 0;
  const events = Array.isArray(reply) ? items(reply) : [reply];
  for (const candidate of events.flatMap((event) => items(member(event, 'candidates')))) {
    for (const part of items(member(member(candidate, 'content'), 'parts'))) {
      const args = member(member(part, 'functionCall'), 'args');
      if (args !== undefined) tokens += contentTokens(Buffer.byteLength(jsonText(args)));
      const media = member(part, 'inlineData');
      if (media !== undefined) tokens += mediaTokens(media);
    }
  }
  return tokens;
}

function mediaTokens(media: JsonValue): number {
  const [mimeType, data] = [member(media, 'mimeType'), member(media, 'data')];
  const isAudio = typeof mimeType === 'string' && mimeType.startsWith('audio/');
  return isAudio && typeof data === 'string'
    ? Math.ceil(data.length / charsPerAudioToken)
    : imageTokens;
}
