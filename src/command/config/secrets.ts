/** Refuses secrets in the configuration file itself, since files end up in repositories. */
import { isJsonObject, items, type JsonValue } from '../../json.ts';
import { formatPath, type Path, type Problem } from '../../ports/set-up.ts';
import { isReference } from './environment.ts';
import { isSecretMember } from './secret-members.ts';

/** The members that contain a secret instead of a reference to one. */
export function secretProblems(value: JsonValue, path: Path = []): readonly Problem[] {
  if (Array.isArray(value)) {
    return items(value).flatMap((item, index) => secretProblems(item, [...path, index]));
  }
  if (isJsonObject(value)) {
    return Object.entries(value).flatMap(([name, item]) => secretProblems(item, [...path, name]));
  }
  if (typeof value !== 'string' || !isSecretMember(path) || isReference(value)) return [];
  const sentence = `${formatPath('', path)} is a secret. Write \${NAME}, the name of a variable.`;
  return [{ path, sentence }];
}
