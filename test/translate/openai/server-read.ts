/** Reads requests as a chat caller sends them. */
import type { ContentRequest } from '../../../src/canonical/request.ts';
import { readRequest } from '../../../src/dialects/openai/server/read-request.ts';
import { isJsonObject, type JsonObject, parseJson } from '../../../src/json.ts';

/** The message of a user. */
export const user: JsonObject = { role: 'user', content: 'Hi' };

/** The body, read for a whole reply. */
export function read(body: JsonObject): ContentRequest {
  return readRequest(body, { streamed: false });
}

/** Reads a request with these messages. */
export function conversation(...messages: readonly JsonObject[]): ContentRequest {
  return read({ model: 'm', messages });
}

/** The body of a recorded request. */
export function bodyOf(request: Uint8Array | undefined): JsonObject {
  const body = parseJson(Buffer.from(request ?? []).toString('utf8'));
  if (!isJsonObject(body)) throw new Error('The recorded request is not an object.');
  return body;
}
