/** Loads packages of the host, which are no dependencies of ours and no bundler should look for. */
import nodeModule from 'node:module';
import { join } from 'node:path';
import { ConfigurationError } from '../errors.ts';

/**
 * Looked for in the host's project.
 *
 * @param user what needs the package, to be read before "needs"
 * @throws ConfigurationError that names the package
 */
export function hostPackage(name: string, user: string): unknown {
  try {
    return nodeModule.createRequire(join(process.cwd(), 'package.json'))(name);
  } catch (cause) {
    const sentence = `${user} needs the package ${name}. Run: npm install ${name}`;
    throw new ConfigurationError(`${sentence}.`, { cause });
  }
}

/** A new object of a class that a package exports; undefined if it exports none of this name. */
export function constructed(
  library: unknown,
  name: string,
  ...args: readonly unknown[]
): object | undefined {
  const made = propertyOf(library, name);
  if (typeof made !== 'function') return undefined;
  const instance: unknown = Reflect.construct(made, args);
  return typeof instance === 'object' && instance !== null ? instance : undefined;
}

/** What a method returns; undefined if there is none of this name. */
export function called(owner: unknown, name: string, ...args: readonly unknown[]): unknown {
  const method = propertyOf(owner, name);
  return typeof method === 'function' ? Reflect.apply(method, owner, args) : undefined;
}

/** A member of an object, its own or inherited; undefined if there is none. */
export function propertyOf(owner: unknown, name: string): unknown {
  return typeof owner === 'object' && owner !== null ? Reflect.get(owner, name) : undefined;
}
