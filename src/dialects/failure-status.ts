/** Reads the HTTP status that an error document names. */
import type { JsonValue } from '../json.ts';

/** A whole number from 400 to 599, as a number or as text; undefined for anything else. */
export function failureStatus(value: JsonValue | undefined): number | undefined {
  const status = typeof value === 'string' ? Number(value) : value;
  return typeof status === 'number' && Number.isInteger(status) && status >= 400 && status < 600
    ? status
    : undefined;
}
