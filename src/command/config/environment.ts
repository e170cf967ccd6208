/** Replaces `${NAME}` in the texts of a configuration by the variables of the environment. */
import { ConfigurationError } from '../../errors.ts';
import { isJsonObject, items, type JsonValue } from '../../json.ts';
import { formatPath, type Path } from '../../ports/set-up.ts';

/** The variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** `${NAME}`, `${NAME:-default}`, or `$${`, which stands for `${`. */
const reference = /\$\$\{|\$\{([^}]*)\}/g;
const content = /^([A-Za-z_]\w*)(?::-(.*))?$/s;

/**
 * The value with all references replaced; names of members are left as they are. An empty variable
 * counts as not set.
 *
 * @throws ConfigurationError that names every member whose variable is not set, never a value
 */
export function withEnvironment(value: JsonValue, env: Environment): JsonValue {
  const problems: string[] = [];
  const replaced = replaceIn(value, [], (text, path) =>
    text.replace(reference, (whole, inside: string | undefined) => {
      if (inside === undefined) return '${';
      const [, name, fallback] = content.exec(inside) ?? [];
      if (name === undefined) {
        problems.push(`${formatPath('', path)} must have the name of a variable in ${whole}.`);
        return '';
      }
      const found = env[name] || fallback;
      if (found === undefined) problems.push(`${formatPath('', path)} needs ${notSet(name)}`);
      return found ?? '';
    }),
  );
  if (problems.length > 0) throw new ConfigurationError(problems.join(' '));
  return replaced;
}

/** The reference to a variable, as it is written in the file. */
export function referenceTo(name: string): string {
  return ['${', name, '}'].join('');
}

/** Whether a text is a single reference, so that the secret itself is not in the file. */
export function isReference(text: string): boolean {
  return /^\$\{[A-Za-z_]\w*\}$/.test(text);
}

function notSet(name: string): string {
  const remedy = `Set it, or write \${${name}:-default}.`;
  return `the environment variable ${name}, which is not set. ${remedy}`;
}

type Replace = (text: string, path: Path) => string;

function replaceIn(value: JsonValue, path: Path, replace: Replace): JsonValue {
  if (typeof value === 'string') return replace(value, path);
  if (Array.isArray(value)) {
    return items(value).map((item, index) => replaceIn(item, [...path, index], replace));
  }
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, replaceIn(item, [...path, name], replace)]),
  );
}
