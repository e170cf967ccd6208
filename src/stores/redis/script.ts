/** A Lua script and the name that Redis knows it by. */
import { createHash } from 'node:crypto';

/** Sent by its digest; by its text where the server does not know it. */
export interface Script {
  readonly text: string;
  readonly sha1: string;
}

/** The script of a text. */
export function scriptOf(text: string): Script {
  return { text, sha1: createHash('sha1').update(text).digest('hex') };
}
