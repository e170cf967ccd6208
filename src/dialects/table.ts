/** Every dialect by its name: a new one is a folder and a row here. */
import type { DialectName } from '../ports/catalog.ts';
import { anthropic } from './anthropic/dialect.ts';
import type { Dialect } from './dialect.ts';
import { gemini } from './gemini/dialect.ts';
import { openai } from './openai/dialect.ts';

/** Dialects by their names; a host's own catalog may name one that is not there. */
export type DialectTable = Readonly<Record<string, Dialect | undefined>>;

/** Complete by its type: no name without a row. */
export const dialects: Readonly<Record<DialectName, Dialect>> = { openai, gemini, anthropic };
