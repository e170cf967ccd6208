/** Inspects single parsed events of a native stream. */
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../json.ts';
import { isFilled } from '../is-filled.ts';

const replyMembers = [
  'candidates',
  'promptFeedback',
  'usageMetadata',
  'modelVersion',
  'responseId',
];

/** Whether the document has any member of a reply. */
export function isReplyEvent(document: JsonValue | undefined): document is JsonObject {
  return (
    isJsonObject(document) && replyMembers.some((name) => member(document, name) !== undefined)
  );
}

/**
 * Whether the event has content, a finish reason or a block reason, rather than only usage or
 * metadata.
 */
export function hasContentOrFinish(document: JsonValue): boolean {
  if (isNonEmptyString(member(member(document, 'promptFeedback'), 'blockReason'))) return true;
  return items(member(document, 'candidates')).some(
    (candidate) =>
      isNonEmptyString(member(candidate, 'finishReason')) ||
      items(member(member(candidate, 'content'), 'parts')).some(isFilled),
  );
}

/** Whether the event reports a blocked prompt and has no candidates. */
export function isBlockedPrompt(event: JsonValue): boolean {
  return (
    isNonEmptyString(member(member(event, 'promptFeedback'), 'blockReason')) &&
    items(member(event, 'candidates')).length === 0
  );
}

function isNonEmptyString(value: JsonValue | undefined): boolean {
  return typeof value === 'string' && value !== '';
}
