/**
 * Checks what a host sets up (options, models, keys) at start-up, with one strict schema each.
 * Problems are named by their paths, with what to do.
 */
import { z } from 'zod';
import { ConfigurationError } from '../errors.ts';
import type { Nanos } from '../money.ts';
import { likeliestName, namesAt } from './likely-names.ts';
import { isName, isNanos, isPrintableId, printableId } from './limits/quota-input.ts';
import { formatPath, type Path, type Problem } from './problems.ts';

/**
 * How problems are worded. A remedy is a sentence without its full stop; undefined where the
 * message alone is clear.
 */
export interface Wording {
  /**
   * The name of the checked value, with its owner: `options`, `jsonlUsageSink: options`. Empty
   * where a path says enough.
   */
  readonly root: string;
  readonly remedyFor: (path: Path) => string | undefined;
  /** Where the legal names are listed; the error about an unknown name points there. */
  readonly names: string;
}

/** @throws ConfigurationError that names the first value that the schema refuses, and the remedy */
export function checkSetUp(schema: z.ZodType, value: unknown, wording: Wording): void {
  const [issue] = issuesOf(schema, value);
  if (issue !== undefined) throw new ConfigurationError(messageFor(issue, schema, wording));
}

/** What a schema refuses, unknown members first: one that is missing may be one of them. */
export function issuesOf(schema: z.ZodType, value: unknown): readonly z.core.$ZodIssue[] {
  const issues = schema.safeParse(value, { reportInput: true }).error?.issues ?? [];
  return issues.toSorted((one, other) => rankOf(one) - rankOf(other));
}

function rankOf({ code }: z.core.$ZodIssue): number {
  return code === 'unrecognized_keys' ? 0 : 1;
}

/** All problems of a value. */
export function setUpProblems(
  schema: z.ZodType,
  value: unknown,
  wording: Wording,
): readonly Problem[] {
  return issuesOf(schema, value)
    .flatMap(eachName)
    .map((issue) => ({
      path: issuePath(issue),
      sentence: messageFor(issue, schema, wording),
    }));
}

/** Zod reports all unknown members of an object as one issue. */
function eachName(issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] {
  if (issue.code !== 'unrecognized_keys') return [issue];
  return issue.keys.map((name) => ({ ...issue, keys: [name] }));
}

/** The path of the member that an issue is about. */
export function issuePath(issue: z.core.$ZodIssue): Path {
  return issue.code === 'unrecognized_keys'
    ? [...issue.path, ...issue.keys.slice(0, 1)]
    : issue.path;
}

/** The remedy for an option that has a default. */
export function defaultRemedy([name, ...below]: Path): string {
  return `Leave ${below.length === 0 ? 'it' : String(name)} out for the default`;
}

/**
 * Checks the options of a function that makes a store, a sink or a client.
 *
 * @throws ConfigurationError that names the first wrong option, and the remedy
 */
export function checkMakerOptions(
  maker: string,
  schema: z.ZodType,
  options: unknown,
  remedies: Readonly<Record<string, string>> = {},
): void {
  checkSetUp(schema, options, {
    root: `${maker}: options`,
    remedyFor: (path) => {
      const [name] = path;
      if (typeof name !== 'string') return undefined;
      return Object.hasOwn(remedies, name) ? remedies[name] : defaultRemedy(path);
    },
    names: `the type of ${maker}'s options`,
  });
}

function messageFor(issue: z.core.$ZodIssue, schema: z.ZodType, wording: Wording): string {
  return `${formatPath(wording.root, issuePath(issue))} ${sentenceOf(issue, wording, schema)}`;
}

/**
 * What is wrong with the member of an issue, to be read after its path, and the remedy. It never
 * contains the value itself, which may be a secret. With the schema, it names the member that a
 * misspelt one may stand for.
 */
export function sentenceOf(
  issue: z.core.$ZodIssue,
  { remedyFor, names }: Pick<Wording, 'remedyFor' | 'names'>,
  schema?: z.ZodType,
): string {
  if (issue.code === 'unrecognized_keys') {
    const meant = schema && likeliestName(issue.keys[0] ?? '', namesAt(schema, issue.path));
    return meant === undefined
      ? `does not exist. Take it out, or look for its name in ${names}.`
      : `does not exist. Did you mean ${meant}? The names are in ${names}.`;
  }
  // For an illegal name in a record, Zod puts the reason into a nested issue.
  const reason = issue.code === 'invalid_key' ? (issue.issues[0] ?? issue) : issue;
  const remedy = remedyFor(issue.path);
  const isMissing = 'input' in reason && reason.input === undefined && issue.path.length > 0;
  const sentence = isMissing
    ? reason.message.replace(/^must /, 'is missing, and must ')
    : reason.message;
  return `${sentence}.${guessOf(reason)}${remedy === undefined ? '' : ` ${remedy}.`}`;
}

/** The legal value that a misspelt one may stand for. */
function guessOf(issue: z.core.$ZodIssue): string {
  if (issue.code !== 'invalid_value' || typeof issue.input !== 'string') return '';
  const meant = likeliestName(
    issue.input,
    issue.values.filter((value) => typeof value === 'string'),
  );
  return meant === undefined ? '' : ` Did you mean '${meant}'?`;
}

/** Requires a schema for every member of a type, so that a new one can't be forgotten. */
export type Members<T> = Readonly<Record<keyof T, z.ZodType>>;

/** A positive integer: a count or a size. */
export const positive: z.ZodType<number> = z
  .int('must be a positive integer')
  .positive('must be a positive integer');

/** The longest delay of Node's timers; a longer one fires immediately. */
const longestTimerMs = 2_147_483_647;

/** A delay for a timer. */
export const wait = z
  .int('must be a positive integer of ms')
  .positive('must be a positive integer of ms')
  .max(longestTimerMs, `must be at most ${longestTimerMs} ms`);

/** Exactly true or false. */
export const flag = z.boolean('must be true or false');

/** A function. */
export const aFunction: z.ZodType = z.custom(
  (value) => typeof value === 'function',
  'must be a function',
);

/** The id of a subject or a key. */
export const anId: z.ZodType = z.custom(isPrintableId, `must be ${printableId}`);

/** The name of a partition. */
export const aName: z.ZodType = z.custom(
  (value) => typeof value === 'string' && isName(value),
  'must match /^[A-Za-z0-9._-]{1,64}$/',
);

/** An amount of money, in nanos. */
export const nanos: z.ZodType<Nanos> = z.custom<Nanos>(isNanos, {
  error: ({ input }) =>
    `must be a bigint of nanos, such as money('0.15'), from 0n to 2^53 − 1${
      typeof input === 'bigint' ? '' : otherThan(input)
    }`,
});

/** An object with all of these methods. */
export function methods(...names: readonly string[]): z.ZodType {
  const form = `must be an object with ${called(names)}`;
  return z.custom(
    // Arrays have a find() of their own.
    (value) => isObject(value) && missingIn(value, names).length === 0,
    {
      error: ({ input }) =>
        isObject(input)
          ? `${form}; this one has ${lackedOf(input, names)}`
          : form + otherThan(input),
    },
  );
}

function called(names: readonly string[]): string {
  return names.map((name) => `${name}()`).join(', ');
}

function lackedOf(value: object, names: readonly string[]): string {
  const missing = missingIn(value, names);
  return missing.length > 1 && missing.length === names.length
    ? 'none of them'
    : `no ${called(missing)}`;
}

function missingIn(value: object, names: readonly string[]): readonly string[] {
  return names.filter((name) => typeof Reflect.get(value, name) !== 'function');
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The kind of a value of the wrong kind, which says nothing of the value: it may be a secret. */
function otherThan(value: unknown): string {
  if (value === undefined) return '';
  if (Array.isArray(value)) return ', not an array';
  return value === null ? ', not null' : `, not a ${typeof value}`;
}

/** A `Clock`. */
export const aClock: z.ZodType = methods('now', 'monotonicMs', 'every');

/** Text of at least one character, without control characters. */
export function text(message: string): z.ZodType<string> {
  return matching(/^\P{Cc}+$/u, message);
}

/** Text in which there is something to see, such as who makes a change. */
export function visibleText(message: string): z.ZodType<string> {
  return text(message).refine((value) => value.trim() !== '', message);
}

const currencyForm = 'must be the ISO 4217 code of a currency: USD';
/** The code of a currency. */
export const aCurrency: z.ZodType<string> = text(currencyForm).refine(
  (code) => Intl.supportedValuesOf('currency').includes(code),
  currencyForm,
);

const zoneForm = 'must be the IANA name of a time zone: Europe/Berlin';
/** The name of a time zone. */
export const aTimeZone: z.ZodType<string> = text(zoneForm).refine(isTimeZone, zoneForm);

function isTimeZone(timeZone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/** Text of this pattern; `form` is said of any other value. */
export function matching(pattern: RegExp, form: string) {
  return z.string(form).regex(pattern, form);
}

/** The message of an enum's schema for any other value: `must be 'a', 'b' or 'c'`. */
export function oneOf(values: readonly string[]): string {
  const quoted = values.map((value) => `'${value}'`);
  return `must be ${[quoted.slice(0, -1).join(', '), quoted.at(-1)].join(' or ')}`;
}

/** The schema of an object with these members and no others; `form` is said of other values. */
export function strict<const Members extends z.core.$ZodLooseShape>(
  form: string,
  members: Members,
) {
  return z.strictObject(members, form);
}

/** The schema of an object with exactly the members of `like`. */
export function each<T, Schema extends z.ZodType>(
  like: Readonly<Record<string, T>>,
  schemaOf: (value: T) => Schema,
  message = 'must be an object',
) {
  const members = Object.entries(like).map(([name, value]) => [name, schemaOf(value)] as const);
  return z.strictObject(Object.fromEntries(members), message);
}
