/** Shortens tool-call ids for OpenAI, which rejects ids of more than 40 characters. */
import { createHash } from 'node:crypto';
import { portableCallId } from '../../../canonical/call-ids.ts';

const maxLength = 40;

/** Returns the same id for the same call, so that a call and its result match. */
export function upstreamCallId(id: string): string {
  const portable = portableCallId(id);
  if (portable.length <= maxLength) return portable;
  const hash = createHash('sha256').update(id).digest('hex').slice(0, 12);
  return `${portable.slice(0, maxLength - hash.length - 1)}_${hash}`;
}
