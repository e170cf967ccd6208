/**
 * Detects content in a value of a reply, in which empty strings may be nested in arrays and
 * objects.
 */
import { isJsonObject, type JsonValue } from '../json.ts';

/** Members that describe an element without being content. */
const labels: ReadonlySet<string> = new Set([
  'type',
  'role',
  'id',
  'index',
  'format',
  'mimeType',
  'mime_type',
  'thought',
]);

/** Returns whether the value contains a non-empty string at any depth. */
export function isFilled(value: JsonValue): boolean {
  if (typeof value === 'string') return value !== '';
  if (Array.isArray(value)) return value.some(isFilled);
  return (
    isJsonObject(value) &&
    Object.entries(value).some(([name, inner]) => !labels.has(name) && isFilled(inner))
  );
}
