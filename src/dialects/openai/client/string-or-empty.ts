/** Reads text from an untrusted value. */
import type { JsonValue } from '../../../json.ts';

/** Returns the value if it is a string, else an empty string. */
export function stringOrEmpty(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}
