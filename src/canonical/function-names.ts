/** Renames functions whose names an upstream would reject, and restores the names in its reply. */

import { hashOf } from './call-ids.ts';
export interface NameRule {
  readonly pattern: RegExp;
  readonly maxLength: number;
}

/** The mapping between the caller's and the upstream's function names in one request. */
export interface FunctionNames {
  upstream(name: string): string;
  /** The caller's name for an upstream name. An unknown name is returned unchanged. */
  caller(name: string): string;
  /**
   * Whether an upstream name begins with both pieces joined, and no upstream name is just the
   * first.
   */
  isInPieces(first: string, second: string): boolean;
}

/**
 * Valid names stay unchanged. Any other name gets a hash suffix that is the same in every request
 * and never collides with another name of the request.
 *
 * @param names all names in the request's declarations, history and tool choice; only these are
 *   mapped back
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
  const known = [...taken, ...back.keys()];
  return {
    isInPieces: (first, second) =>
      !known.includes(first) && known.some((name) => name.startsWith(first + second)),
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

/** Uses only characters that every provider accepts, and only letters or `_` as the first one. */
function renamedTo(name: string, { maxLength }: NameRule, attempt: number): string {
  const salted = attempt === 0 ? name : `${name}#${attempt}`;
  const hash = hashOf(salted).slice(0, hashLength);
  const plain = name.replace(/[^a-zA-Z0-9_-]/g, '_').replace(/^[^a-zA-Z_]/, '_');
  return `${plain.slice(0, maxLength - hashLength - 1)}_${hash}`;
}
