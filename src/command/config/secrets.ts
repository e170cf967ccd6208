/** Refuses secrets in the configuration file itself, since files end up in repositories. */
import { isJsonObject, items, type JsonValue } from '../../json.ts';
import { formatPath, type Path } from '../../ports/set-up.ts';
import { isReference } from './environment.ts';

/** Members that hold a secret, by their names. */
const secretMembers: ReadonlySet<string> = new Set(['credential', 'secret', 'token', 'pepper']);
/** Members whose content has free names. */
const freeNames: ReadonlySet<string> = new Set(['metadata', 'headers', 'price', 'cost']);

/** The members with a secret in place of a reference, each as a sentence without the value. */
export function secretProblems(value: JsonValue, path: Path = []): readonly string[] {
  if (Array.isArray(value)) {
    return items(value).flatMap((item, index) => secretProblems(item, [...path, index]));
  }
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, item]) => {
    if (freeNames.has(name)) return [];
    const place = [...path, name];
    const isOpen = secretMembers.has(name) && typeof item === 'string' && !isReference(item);
    if (!isOpen) return secretProblems(item, place);
    return [`${formatPath('', place)} is a secret. Write \${NAME}, the name of a variable.`];
  });
}
