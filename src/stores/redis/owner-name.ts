/** The name of an owner in keys of Redis: an owner may be any text, and a cluster reads braces. */
import { hash } from 'node:crypto';

/** 128 bits of a digest. */
export function ownerName(owner: string): string {
  return hash('sha256', owner, 'hex').slice(0, 32);
}
