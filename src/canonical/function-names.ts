/** Names of functions that an upstream would refuse, renamed on the way up and named back. */
import { createHash } from 'node:crypto';

/** What a provider takes as a function's name. */
export interface NameRule {
  /** Matches a whole name that fits. */
  readonly pattern: RegExp;
  readonly maxLength: number;
}

/** The names of one request. */
export interface FunctionNames {
  /** What the upstream is told. */
  upstream(name: string): string;
  /** What the caller calls it; a name nobody asked about passes unchanged. */
  caller(name: string): string;
}

/**
 * Names that fit stay as they are; the others get a hash, the same in every request, and never one
 * that another name has already.
 *
 * @param names all that the request speaks of, in its history and its choice too: only these are
 *   named back
 */
export function functionNames(names: readonly string[], rule: NameRule): FunctionNames {
  const taken = new Set(names.filter((name) => fits(name, rule)));
  const renamed = new Map<string, string>();
  const back = new Map<string, string>();
  for (const name of names) {
    if (taken.has(name) || renamed.has(name)) continue;
    const replacement = freeName(name, rule, (other) => taken.has(other) || back.has(other));
    renamed.set(name, replacement);
    back.set(replacement, name);
  }
  return {
    upstream: (name) => renamed.get(name) ?? (fits(name, rule) ? name : renamedTo(name, rule, 0)),
    caller: (name) => back.get(name) ?? name,
  };
}

function fits(name: string, { pattern, maxLength }: NameRule): boolean {
  return name.length <= maxLength && pattern.test(name);
}

function freeName(name: string, rule: NameRule, isTaken: (name: string) => boolean): string {
  for (let attempt = 0; ; attempt += 1) {
    const replacement = renamedTo(name, rule, attempt);
    if (!isTaken(replacement)) return replacement;
  }
}

const hashLength = 6;

/** In the letters that every provider takes, and none that may not stand first. */
function renamedTo(name: string, { maxLength }: NameRule, attempt: number): string {
  const salted = attempt === 0 ? name : `${name}#${attempt}`;
  const hash = createHash('sha256').update(salted).digest('hex').slice(0, hashLength);
  const plain = name.replace(/[^a-zA-Z0-9_-]/g, '_').replace(/^[^a-zA-Z_]/, '_');
  return `${plain.slice(0, maxLength - hashLength - 1)}_${hash}`;
}
