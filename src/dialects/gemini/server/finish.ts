/** Why a candidate ended, in Google's words (TRANSLATION §6.13). */
import { quoted } from '../../../canonical/raw-json.ts';
import type { FinishReason } from '../../../canonical/reply.ts';

/** What is known of an end; it grows while the events come. */
export interface Ending {
  reason: FinishReason | undefined;
  /** The upstream's explanation. */
  message: string | undefined;
  /** What the model said in refusing. */
  refusal: string;
}

const words: Readonly<Record<FinishReason, string>> = {
  stop: 'STOP',
  tool_calls: 'STOP',
  length: 'MAX_TOKENS',
  content_filter: 'SAFETY',
  other: 'OTHER',
};
const blockReasons: readonly string[] = [
  'SAFETY',
  'OTHER',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'IMAGE_SAFETY',
  'MODEL_ARMOR',
  'JAILBREAK',
];

/** The members that end a candidate, each with its comma in front. */
export function finishMembers({ reason = 'other', message, refusal }: Readonly<Ending>): {
  readonly text: string;
  /** A blocked answer has no content. */
  readonly isBlocked: boolean;
} {
  // A refusal ends with `stop` at OpenAI, but a client of Google's looks for it here.
  const word = refusal === '' ? words[reason] : 'SAFETY';
  const why = message ?? (refusal === '' ? undefined : refusal);
  const said = why === undefined ? '' : `,"finishMessage":${quoted(why)}`;
  return { text: `,"finishReason":"${word}"${said}`, isBlocked: word === 'SAFETY' };
}

/** The `promptFeedback` member of a prompt that was blocked. */
export function promptFeedback(reason: string, message: string | undefined): string {
  const upper = reason.toUpperCase();
  const known = blockReasons.includes(upper) ? upper : 'OTHER';
  const word = upper === 'CONTENT_FILTER' ? 'SAFETY' : known;
  const said = message === undefined ? '' : `,"blockReasonMessage":${quoted(message)}`;
  return `"promptFeedback":{"blockReason":"${word}"${said}}`;
}
