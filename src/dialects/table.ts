/** Maps names to dialects. To add a dialect, add a folder and a row here. */
import type { DialectName } from '../ports/models/capabilities.ts';
import { anthropic } from './anthropic/dialect.ts';
import type { Dialect } from './dialect.ts';
import { gemini } from './gemini/dialect.ts';
import { openai } from './openai/dialect.ts';

/** Dialects by name; a host's catalog may name one that does not exist. */
export type DialectTable = Readonly<Record<string, Dialect | undefined>>;

export const dialects: Readonly<Record<DialectName, Dialect>> = { openai, gemini, anthropic };
