/** Blocks of messages, and how a part of the common form is shown in a test. */
import type { Part } from '../../../src/canonical/request.ts';
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import { user } from './read.ts';

/** A block of text. */
export const text = (value: string): JsonObject => ({ type: 'text', text: value });
/** A source of an image. */
export const png = { type: 'base64', media_type: 'image/PNG', data: 'iVBORw0KGgo=' };
/** A source of a document. */
export const pdf = { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0xLjQ=' };
/** A call without arguments. */
export const call = (id = 'a', name = 'f'): JsonObject => ({
  type: 'tool_use',
  id,
  name,
  input: {},
});
/** The result of a call. */
export const result = (id: string, content?: JsonValue): JsonObject => ({
  type: 'tool_result',
  tool_use_id: id,
  ...(content === undefined ? {} : { content }),
});

/** A message of the user. */
export const question: JsonObject = user(text('Hi'));

/** A part in a few words. */
export function brief(part: Part): string {
  switch (part.kind) {
    case 'text':
      return part.text;
    case 'tool_call':
      return `call ${part.id}`;
    case 'tool_result': {
      const texts = part.content.map((one) => (one.kind === 'text' ? one.text : one.kind));
      return `result ${part.callId} of ${part.name}: ${texts.join()}`;
    }
    default:
      return part.kind;
  }
}
