/** Reads text from an untrusted value. */
import type { JsonValue } from '../../../json.ts';

export function stringOrEmpty(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}
