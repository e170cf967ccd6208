/** Reads the HTTP status that an error document names. */
import type { JsonValue } from '../json.ts';

/**
 * Accepts an integer from 400 to 599, given as a number or as text; undefined for anything else.
 */
export function failureStatus(value: JsonValue | undefined): number | undefined {
  const status = typeof value === 'string' ? Number(value) : value;
  return typeof status === 'number' && Number.isInteger(status) && status >= 400 && status < 600
    ? status
    : undefined;
}
