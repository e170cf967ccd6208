/** Every dialect by its name: a new one is a folder and a row here. */
import type { DialectName } from '../ports/catalog.ts';
import type { Dialect } from './dialect.ts';
import { gemini } from './gemini/dialect.ts';
import { openai } from './openai/dialect.ts';

/** Complete by its type: no name without a row. */
export const dialects: Readonly<Record<DialectName, Dialect>> = { openai, gemini };
