/** Tables of dialects and protocols with a bug at a moment of the test's choice. */
import { dialects } from '../../src/dialects/table.ts';
import type { Tables } from '../../src/gateway.ts';
import { protocols } from '../../src/protocols/table.ts';

/** The gateway's own tables, of which one function throws once. */
export interface Sabotage {
  readonly tables: Tables;
  /** The names of the functions that were called since `begin`. */
  readonly called: readonly string[];
  /** Begins to count; before, a gateway is made with the tables. */
  begin(): void;
}

type AnyFunction = (this: unknown, ...args: readonly unknown[]) => unknown;

/**
 * Wraps the rows of both tables, and what their functions return: taps, codecs, writers. The
 * `failAt`th call of any of these functions throws, counted from 1 since `begin`.
 */
export function sabotage(failAt: number): Sabotage {
  const called: string[] = [];
  let hasBegun = false;
  const known = new WeakMap<object, unknown>();
  const wrap = (value: unknown, name: string): unknown => {
    if (!isFunction(value) && !isPlain(value)) return value;
    // Each value has one wrapper, because code compares values.
    const existing = known.get(value);
    if (existing !== undefined) return existing;
    const wrapper = isFunction(value) ? wrapFunction(value, name) : wrapObject(value, name);
    known.set(value, wrapper);
    return wrapper;
  };
  const wrapFunction = (original: AnyFunction, name: string): AnyFunction =>
    function (...args) {
      if (hasBegun && called.push(name) === failAt) throw new TypeError(`a bug in ${name}`);
      return wrap(Reflect.apply(original, this, args), `${name}()`);
    };
  const wrapObject = <T extends object>(original: T, name: string): T =>
    new Proxy(original, {
      get: (target, member) => wrap(Reflect.get(target, member), `${name}.${String(member)}`),
    });
  const tables = {
    dialects: wrapObject(dialects, 'dialects'),
    protocols: wrapObject(protocols, 'protocols'),
  };
  const begin = (): void => {
    hasBegun = true;
  };
  return { tables, called, begin };
}

function isFunction(value: unknown): value is AnyFunction {
  return typeof value === 'function';
}

function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
