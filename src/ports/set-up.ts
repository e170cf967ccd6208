/**
 * How what a host sets up is checked at start-up, the same for options, models and keys: one strict
 * schema each, and the first problem said with its path and its cure.
 */
import { z } from 'zod';
import { ConfigurationError } from '../errors.ts';
import type { Nanos } from '../money.ts';
import { isName, isNanos } from './quota-input.ts';

/** Where a value stands below the root: `['channels', 0, 'weight']`. */
export type Path = readonly PropertyKey[];

/** How problems are said. A cure is a sentence without its full stop; none where it is plain. */
export interface Wording {
  /** What the value itself is called, and whose it is: `options`, `jsonlUsageSink: options`. */
  readonly root: string;
  readonly cureOf: (path: Path) => string | undefined;
  /** Where the names are listed, for one that does not exist. */
  readonly names: string;
}

/** @throws ConfigurationError that names the first value the schema refuses, and the cure */
export function checkSetUp(schema: z.ZodType, value: unknown, wording: Wording): void {
  const issue = schema.safeParse(value).error?.issues[0];
  if (issue !== undefined) throw new ConfigurationError(sentenceOf(issue, wording));
}

/** The options of one of the functions that make a store, a sink or a client. */
export function checkMakerOptions(
  maker: string,
  schema: z.ZodType,
  options: unknown,
  cures: Readonly<Record<string, string>> = {},
): void {
  checkSetUp(schema, options, {
    root: `${maker}: options`,
    cureOf: ([name]) => {
      if (typeof name !== 'string') return undefined;
      return Object.hasOwn(cures, name) ? cures[name] : 'Leave it out for the default';
    },
    names: `the type of ${maker}'s options`,
  });
}

/** It never holds the value itself, which may be a secret. */
function sentenceOf(issue: z.core.$ZodIssue, { root, cureOf, names }: Wording): string {
  const { path } = issue;
  if (issue.code === 'unrecognized_keys') {
    const place = written(root, [...path, ...issue.keys.slice(0, 1)]);
    return `${place} does not exist. Take it out, or look for its name in ${names}.`;
  }
  // A name that a record may not have: the reason lies inside.
  const reason = issue.code === 'invalid_key' ? (issue.issues[0] ?? issue) : issue;
  const sentence = `${written(root, path)} ${reason.message}.`;
  const cure = cureOf(path);
  return cure === undefined ? sentence : `${sentence} ${cure}.`;
}

/** `models[2].channels[0].headers["x-org"]` */
function written(root: string, path: Path): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    const name = String(part);
    return /^[\w$]+$/.test(name) ? `${text}.${name}` : `${text}[${JSON.stringify(name)}]`;
  }, root);
}

/** A count, a size. */
export const positive: z.ZodType<number> = z
  .int('must be a positive integer')
  .positive('must be a positive integer');

/** Node's timers end there: a longer wait would be none at all. */
const longestTimerMs = 2_147_483_647;

/** What a timer is set to. */
export const wait: z.ZodType = z
  .int('must be a positive integer of ms')
  .positive('must be a positive integer of ms')
  .max(longestTimerMs, `must be at most ${longestTimerMs} ms`);

/** True or false, and nothing that only looks like it. */
export const flag: z.ZodType = z.boolean('must be true or false');

/** What is called. */
export const aFunction: z.ZodType = z.custom(
  (value) => typeof value === 'function',
  'must be a function',
);

/** The name of a subject, a key or a partition. */
export const aName: z.ZodType = z.custom(
  (value) => typeof value === 'string' && isName(value),
  'must match /^[A-Za-z0-9._-]{1,64}$/',
);

/** An amount of money. */
export const nanos: z.ZodType<Nanos> = z.custom<Nanos>(
  isNanos,
  'must be a bigint of nanos, 0n to 2^53 − 1',
);

/** An object that can do all of these. */
export function methods(...names: readonly string[]): z.ZodType {
  return z.custom(
    (value) =>
      typeof value === 'object' &&
      value !== null &&
      names.every((name) => typeof Reflect.get(value, name) === 'function'),
    `must be an object with ${names.map((name) => `${name}()`).join(', ')}`,
  );
}

/** A `Clock`. */
export const aClock: z.ZodType = methods('now', 'monotonicMs', 'every');

/** Text of at least one character, none of them a control character. */
export function text(message: string): z.ZodType<string> {
  return z.string(message).regex(/^\P{Cc}+$/u, message);
}

/** What a choice among words says of any other: `must be 'a', 'b' or 'c'`. */
export function oneOf(words: readonly string[]): string {
  const quoted = words.map((word) => `'${word}'`);
  return `must be ${[quoted.slice(0, -1).join(', '), quoted.at(-1)].join(' or ')}`;
}
