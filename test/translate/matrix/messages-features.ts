/** Makes rows of Messages requests. */
import type { JsonObject } from '../../../src/json.ts';
import type { DialectName } from '../../../src/ports/models/capabilities.ts';
import type { RequestFeature } from './request-features.ts';

/** How each dialect says it upstream. */
export type Carried = Readonly<Partial<Record<DialectName, JsonObject>>>;

/** One row. */
export function feature(
  title: string,
  body: JsonObject,
  names: string | readonly string[],
  carried: Carried = {},
): RequestFeature {
  return {
    title,
    messages: { body, names: typeof names === 'string' ? [names] : names },
    carried,
  };
}

/** A message of the user. */
export const user = (...content: readonly JsonObject[]): JsonObject => ({ role: 'user', content });
/** A message of the assistant. */
export const assistant = (...content: readonly JsonObject[]): JsonObject => ({
  role: 'assistant',
  content,
});
/** A block of text. */
export const text = (said: string): JsonObject => ({ type: 'text', text: said });
/** A plain question. */
export const hi: JsonObject = user(text('hi'));
/** A message with this block. */
export const inBlock = (block: JsonObject): JsonObject => ({ messages: [user(block)] });

/** An image of eight bytes. */
export const png = 'iVBORw0KGgo=';

/** A block with it. */
export const image: JsonObject = {
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: png },
};
