/** Every dialect by its name: a new one is a folder and a row here. */
import type { DialectName, ProtocolName } from '../ports/catalog.ts';
import { anthropic } from './anthropic/dialect.ts';
import type { CallerDialect, CallerDialectName, Dialect } from './dialect.ts';
import { geminiCaller } from './gemini/caller.ts';
import { gemini } from './gemini/dialect.ts';
import { openaiCaller } from './openai/caller.ts';
import { openai } from './openai/dialect.ts';

/** Dialects by their names; a host's own catalog may name one that is not there. */
export type DialectTable = Readonly<Record<string, Dialect | undefined>>;

/** What stands toward upstreams. Complete by its type: no name without a row. */
export const dialects: Readonly<Record<DialectName, Dialect>> = { openai, gemini, anthropic };

/** What stands toward callers. */
export const callerDialects: Readonly<Record<CallerDialectName, CallerDialect>> = {
  openai: openaiCaller,
  gemini: geminiCaller,
};

/** The dialect in which each protocol is spoken: an upstream of the same one is relayed to. */
export const spokenIn: Readonly<Record<ProtocolName, CallerDialectName>> = {
  chat: 'openai',
  images: 'openai',
  native: 'gemini',
};

/** Whether an upstream of this dialect can serve a protocol, relayed or translated. */
export function serves(dialect: Dialect | undefined, protocol: ProtocolName): boolean {
  if (dialect === undefined) return false;
  if (spokenIn[protocol] === dialect.name) return true;
  return protocol !== 'images' || dialect.images !== undefined;
}
