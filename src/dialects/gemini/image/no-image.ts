/** Why an answer of Google's holds no image, in words of our own (TRANSLATION §6.13, §6.14). */
import { billedReply, brokenReply, type FailureReport } from '../../tap.ts';

/** Ends by which an image, or what it was made of, was held to be unfit to show. */
const withheldReasons: ReadonlySet<string> = new Set([
  'SAFETY',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
  'RECITATION',
  'MODEL_ARMOR',
  'IMAGE_SAFETY',
  'IMAGE_PROHIBITED_CONTENT',
  'IMAGE_RECITATION',
]);

/** The upstream answered, and billed, without an image, or with what is none. */
export const noImage: FailureReport = billedReply('upstream_no_image');

/** An error that could not be read: too long to keep, or no JSON. */
export const unreadableError: FailureReport = brokenReply('upstream_error');

const refused: FailureReport = {
  status: 400,
  message: undefined,
  code: 'moderation_blocked',
  clientCode: 'moderation_blocked',
  param: undefined,
  retryAfterMs: undefined,
  fault: 'request',
};

/** Whether a finish reason says that an image was made, or could have been, and is not shown. */
export function isWithheld(finishReason: string): boolean {
  return withheldReasons.has(finishReason);
}

/** What a whole answer without an image is told as. */
export function whyNoImage(answer: {
  readonly isBlocked: boolean;
  readonly isHeldBack: boolean;
}): FailureReport {
  if (answer.isBlocked) {
    return { ...refused, message: "The prompt was blocked by the model's provider." };
  }
  if (answer.isHeldBack) {
    return { ...refused, message: "The image was withheld by the model's provider." };
  }
  return noImage;
}
