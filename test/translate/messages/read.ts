/** Reads Messages requests with the codec alone. */
import type { ContentRequest } from '../../../src/canonical/request.ts';
import {
  type ReadRequest,
  readRequest,
} from '../../../src/dialects/anthropic/server/read-request.ts';
import type { JsonObject, JsonValue } from '../../../src/json.ts';

/** Reads the body for a whole reply. */
export function readBody(body: JsonObject): ReadRequest {
  return readRequest(body, { streamed: false });
}

/** Reads a request with these messages. */
export function conversation(...messages: readonly JsonObject[]): ContentRequest {
  return readBody({ model: 'm', max_tokens: 64, messages }).request;
}

/** Reads a request with one message and these members. */
export function requestWith(members: JsonObject): ContentRequest {
  return readBody({ ...plainBody, ...members }).request;
}

/** A request with one message of the user. */
export const plainBody: JsonObject = {
  model: 'm',
  max_tokens: 64,
  messages: [{ role: 'user', content: 'Hi' }],
};

/** A message of the user. */
export function user(...content: readonly JsonValue[]): JsonObject {
  return { role: 'user', content };
}

/** A message of the assistant. */
export function assistant(...content: readonly JsonValue[]): JsonObject {
  return { role: 'assistant', content };
}
