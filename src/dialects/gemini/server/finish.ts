/** Writes finish reasons and blocked prompts in Google's format. */
import { quoted } from '../../../canonical/raw-json.ts';
import type { FinishReason } from '../../../canonical/reply.ts';

export interface FinishState {
  reason: FinishReason | undefined;
  message: string | undefined;
  refusal: string;
}

const finishReasons: Readonly<Record<FinishReason, string>> = {
  stop: 'STOP',
  tool_calls: 'STOP',
  length: 'MAX_TOKENS',
  content_filter: 'SAFETY',
  other: 'OTHER',
};
const blockReasons: readonly string[] = [
  ...['SAFETY', 'OTHER', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'IMAGE_SAFETY', 'MODEL_ARMOR'],
  ...['JAILBREAK'],
];

/** The members for the finish of a candidate, each preceded by a comma. */
export function finishMembers({ reason = 'other', message, refusal }: Readonly<FinishState>): {
  readonly text: string;
  /** A blocked candidate has no content. */
  readonly isBlocked: boolean;
} {
  // A refusal ends with `stop` at OpenAI, but Google's clients expect SAFETY.
  const finishReason = refusal === '' ? finishReasons[reason] : 'SAFETY';
  const explanation = message ?? (refusal === '' ? undefined : refusal);
  const messageMember = explanation === undefined ? '' : `,"finishMessage":${quoted(explanation)}`;
  return {
    text: `,"finishReason":"${finishReason}"${messageMember}`,
    isBlocked: finishReason === 'SAFETY',
  };
}

export function promptFeedback(reason: string, message: string | undefined): string {
  const upper = reason.toUpperCase();
  const known = blockReasons.includes(upper) ? upper : 'OTHER';
  const blockReason = upper === 'CONTENT_FILTER' ? 'SAFETY' : known;
  const messageMember = message === undefined ? '' : `,"blockReasonMessage":${quoted(message)}`;
  return `"promptFeedback":{"blockReason":"${blockReason}"${messageMember}}`;
}
