/**
 * What the stores of this folder need of a database, and the words in which databases differ. What
 * needs several statements is a function in the database: no transaction waits for this process.
 */
import type { JsonValue } from '../../json.ts';
import type { CallOptions } from '../../ports/call-options.ts';
import type { RateTake } from '../../ports/limits/rate-limiter.ts';
import type { ClaimInput } from '../../ports/replies/idempotency-store.ts';
import type { SqlValue } from './columns.ts';

/** A database. In the text of a statement `$1` is the first value, as often as it occurs. */
export interface SqlEngine {
  readonly dialect: SqlDialect;
  /** The deadline of statements for which no call waits. */
  readonly background: CallOptions;
  /** How often a closing usage log tries to write, and how long it waits after each failure. */
  readonly closing: { readonly maxTries: number; readonly pauseMs: number };
  /** Whether a row was refused for its content, so that a retry is useless. */
  isRefused(error: unknown): boolean;
  read(
    text: string,
    values: readonly SqlValue[],
    options?: CallOptions,
  ): Promise<readonly unknown[]>;
  /** Inserts rows in a transaction of its own, in their order. */
  insert(into: SqlInsert, rows: readonly SqlRow[], options?: CallOptions): Promise<void>;
  /** Inserts, updates or deletes rows in a transaction of its own, and returns how many. */
  change(text: string, values: readonly SqlValue[], options?: CallOptions): Promise<number>;
  /**
   * Runs a function of the database in a transaction of its own. Its result is JSON, and so is its
   * input but for the bytes.
   */
  call<Name extends keyof SqlFunctions>(
    name: Name,
    input: SqlFunctions[Name],
    options?: CallOptions,
    bytes?: Uint8Array,
  ): Promise<JsonValue | undefined>;
}

/** The functions of a database, with their inputs. */
export interface SqlFunctions {
  /** Claims a name, or returns the record that has it. */
  readonly claim: ClaimInput;
  /** Takes amounts from token buckets, or corrects them, which has no result. */
  readonly rates: RatesInput;
  /** Keeps entries, whose content is in the bytes, and forgets what is too much. */
  readonly keep: KeepInput;
  /** Makes items the latest ones that were used. */
  readonly use: { readonly owner: string; readonly ids: readonly string[] };
}

/** Takes of a rate limiter; amounts are at most the largest limit. */
export interface RatesInput {
  readonly operation: 'take' | 'adjust';
  readonly takes: readonly RateTake[];
  /** Also deletes buckets that are full. */
  readonly sweep: boolean;
}

/** Entries of one owner to keep. */
export interface KeepInput {
  readonly kind: KeptKind;
  readonly owner: string;
  readonly ttlMs: number;
  /** The bounds for all entries of this kind, and for those of one owner. */
  readonly maxBytes: number;
  readonly maxOwnerBytes: number;
  /** The content of each follows that of the one before it; its size counts for the bounds. */
  readonly entries: readonly {
    readonly id: string;
    readonly length: number;
    readonly size: number;
  }[];
}

/** What is kept: an item of a reply, or a reply, which is found without its owner. */
export type KeptKind = 'item' | 'result';

/** The tables, by the names that they have in PostgreSQL. */
export type SqlTable =
  | 'keys'
  | 'owners'
  | 'claims'
  | 'catalogs'
  | 'audit'
  | 'usage'
  | 'refusals'
  | 'kept'
  | 'responses'
  | 'replicas'
  | 'switches';

/** The differences in the text of statements. */
export interface SqlDialect {
  table(name: SqlTable): string;
  /** The columns of claims that differ by name. */
  readonly claims: { readonly ended: string; readonly forget: string };
  /** The current time in Unix milliseconds, by the clock that ends leases. */
  readonly now: string;
  /** Ends a query of rows to delete: those that another transaction changes meanwhile stay. */
  readonly unlocked: string;
  /**
   * A statement that writes a row only while the owner that it names exists. Removing that owner at
   * the same time fails, or makes it write nothing.
   */
  whileOwned(owner: string, write: (isOwned: string) => string): string;
  /** A value for a column of JSON. */
  json(value: string): string;
  /** The UTC day of Unix milliseconds, as `2026-11-21`. */
  utcDay(ms: string): string;
  /** The UTC hour of Unix milliseconds, as `2026-11-21T14:00Z`. */
  utcHour(ms: string): string;
  /** Whether text contains a value. */
  contains(text: string, value: string): string;
  /**
   * The text of a member of an object in a JSON column, or of one in such a member, or NULL; any
   * text may be a name.
   */
  member(object: string, ...names: readonly string[]): string;
  /** The items of a JSON array, as rows with the column `value`. */
  items(array: string): string;
}

/** A column, with its type in PostgreSQL. */
export interface SqlColumn {
  readonly name: string;
  readonly type: 'text' | 'boolean' | 'integer' | 'bigint' | 'double precision' | 'json';
}

/** A row, by the names of its columns. */
export type SqlRow = { readonly [Column in string]: SqlValue | undefined };

/** Where rows are inserted. */
export interface SqlInsert {
  readonly table: SqlTable;
  readonly columns: readonly SqlColumn[];
  /** What to do about a row that exists, after `ON CONFLICT`; the row itself is called `known`. */
  readonly conflict: string;
  /** Waits for no disk: a crash of the machine may lose the rows. */
  readonly mayBeLost?: true;
}

/** A whole number among the values. They are sent as text: drivers differ in their numbers. */
export function whole(value: string): string {
  return `CAST(CAST(${value} AS text) AS bigint)`;
}

/** Whether a column equals a value; true where the value is NULL. */
export function matches(column: string, value: string, type: 'text' | 'boolean' = 'text'): string {
  return `(CAST(${value} AS ${type}) IS NULL OR ${column} = ${value})`;
}
