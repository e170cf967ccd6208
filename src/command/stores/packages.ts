/**
 * Loads packages that the user installs: drivers of databases and prom-client. They are looked for
 * in the user's project first, because `npx` may run Tollgate from another folder.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { PriceOfListed } from '../../ports/models/listed-model.ts';
import { pricesFrom } from '../../prices/public-list.ts';
import { usageError } from '../command.ts';

interface FoundPackage<Name extends string> {
  readonly name: Name;
  readonly content: unknown;
}

/**
 * The first of these packages that is installed.
 *
 * @param member the member of the configuration that needs it
 * @throws CommandError that says what to install
 */
export async function loadPackage<Name extends string>(
  names: readonly Name[],
  member: string,
  folder: string,
): Promise<FoundPackage<Name>> {
  for (const name of names) {
    const path = pathOf(name, folder);
    if (path !== undefined) return { name, content: await import(path) };
  }
  const [first] = names;
  const others = names.slice(1).filter((name) => !name.startsWith('node:'));
  const choice = others.length === 0 ? '' : ` (or ${others.join(', ')})`;
  throw usageError(`${member} needs the package ${first}${choice}. Run: npm install ${first}`);
}

/** The prices of wildcards, from the public list where it is installed. */
export async function listedPrices(folder: string): Promise<PriceOfListed | undefined> {
  const path = pathOf('@pydantic/genai-prices', folder);
  const calcPrice = path === undefined ? undefined : exported(await import(path), 'calcPrice');
  if (typeof calcPrice !== 'function') return undefined;
  return pricesFrom({ calcPrice: (...args) => Reflect.apply(calcPrice, undefined, args) });
}

/** The specifier for `import`; undefined if the package is not installed. */
function pathOf(name: string, folder: string): string | undefined {
  if (name.startsWith('node:')) return hasModule(name) ? name : undefined;
  for (const base of [join(folder, 'package.json'), import.meta.filename]) {
    try {
      return pathToFileURL(createRequire(base).resolve(name)).href;
    } catch {
      // Not installed there.
    }
  }
  return undefined;
}

function hasModule(name: string): boolean {
  try {
    createRequire(import.meta.filename)(name);
    return true;
  } catch {
    return false;
  }
}

/** A member of a module, which may be on its default export. */
export function exported(content: unknown, name: string): unknown {
  return property(content, name) ?? property(property(content, 'default'), name);
}

/** A member of a value, its own or inherited; undefined if there is none. */
export function property(value: unknown, name: string): unknown {
  const canHave = (typeof value === 'object' && value !== null) || typeof value === 'function';
  return canHave ? Reflect.get(value, name) : undefined;
}

export function hasMethods(value: unknown, ...names: readonly string[]): boolean {
  return names.every((name) => typeof property(value, name) === 'function');
}

export function construct(created: unknown, ...args: readonly unknown[]): unknown {
  if (typeof created !== 'function') throw usageError('an installed package is too old.');
  return Reflect.construct(created, args);
}
