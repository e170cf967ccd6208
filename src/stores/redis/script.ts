/** A Lua script and the SHA-1 digest by which Redis knows it. */
import { createHash } from 'node:crypto';

/** Sent by its digest, or by its text if the server does not know it. */
export interface Script {
  readonly text: string;
  readonly sha1: string;
}

export function scriptOf(text: string): Script {
  return { text, sha1: createHash('sha1').update(text).digest('hex') };
}
