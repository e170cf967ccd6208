/** Whether a value of a reply holds content: empty texts may be wrapped in lists and objects. */
import { isJsonObject, type JsonValue } from '../json.ts';

/** What only says of which kind an element is, and says nothing without the element's content. */
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

/** Whether there is a text in it that is not empty, at any depth. */
export function isFilled(value: JsonValue): boolean {
  if (typeof value === 'string') return value !== '';
  if (Array.isArray(value)) return value.some(isFilled);
  return (
    isJsonObject(value) &&
    Object.entries(value).some(([name, inner]) => !labels.has(name) && isFilled(inner))
  );
}
