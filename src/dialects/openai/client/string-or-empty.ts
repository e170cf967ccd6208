/** Reads text that may be anything. */
import type { JsonValue } from '../../../json.ts';

/** The text, or an empty one for what is no text. */
export function stringOrEmpty(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}
