/** Replaces `${NAME}` in the strings of a configuration with environment variables. */
import { isJsonObject, items, type JsonValue } from '../../json.ts';
import { formatPath, type Path, type Problem } from '../../ports/problems.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** `${NAME}`, `${NAME:-default}`, or `$${`, which stands for `${`; and a `${` that has no end. */
const reference = /\$\$\{|\$\{([^}]*)(\}?)/g;
const content = /^([A-Za-z_]\w*)(?::-(.*))?$/s;

/**
 * Replaces all references; names of members are left as they are. An empty variable counts as not
 * set. The value of a variable is always text: it is not searched for references, nor parsed as
 * JSON. No problem contains the value of a variable.
 */
export function withEnvironment(value: JsonValue, env: Environment) {
  const problems: Problem[] = [];
  const replaced = replaceIn(value, [], (text, path) =>
    text.replace(reference, (all, inside: string | undefined, end: string) => {
      if (inside === undefined) return '${';
      if (end === '') return all.replaceAll('$${', '${');
      const [, name, fallback] = content.exec(inside) ?? [];
      if (name === undefined) {
        const form = `must name a variable as in ${referenceTo('NAME')}`;
        problems.push({ path, sentence: `${formatPath('', path)} ${form}.` });
        return '';
      }
      const found = (Object.hasOwn(env, name) ? env[name] : '') || fallback;
      if (found === undefined) {
        problems.push({ path, sentence: `${formatPath('', path)} needs ${notSet(name, path)}` });
      }
      return found ?? '';
    }),
  );
  return { value: replaced, problems };
}

export function referenceTo(name: string): string {
  return ['${', name, '}'].join('');
}

/** Whether a text is a single reference, and so contains no secret itself. */
export function isReference(text: string): boolean {
  return /^\$\{[A-Za-z_]\w*\}$/.test(text);
}

function notSet(name: string, path: Path): string {
  // A default for a secret would itself be a secret in the file.
  const remedy = isSecretMember(path) ? 'Set it.' : `Set it, or write \${${name}:-default}.`;
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

const secretNames: ReadonlySet<unknown> = new Set(['credential', 'secret', 'token', 'pepper']);
/** Members in which the user chooses the names, so that a name says nothing about a secret. */
const freeNames: ReadonlySet<unknown> = new Set(['metadata', 'headers', 'price', 'cost']);

/** Also an item of a list of secrets. */
export function isSecretMember(path: Path): boolean {
  const name = path.findLast((part) => typeof part === 'string');
  return secretNames.has(name) && !path.some((part) => freeNames.has(part));
}
