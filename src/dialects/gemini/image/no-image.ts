/** The failures that are reported when Google's reply has no image. */
import { billedReply, brokenReply, type FailureReport } from '../../tap.ts';

/** Finish reasons that mean that the image or its prompt was judged unsafe. */
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

/** The upstream replied, and billed, but sent no image, or something that isn't one. */
export const noImage: FailureReport = billedReply('upstream_no_image');

/** An error that can't be read because it is too long to keep or not JSON. */
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

/** Whether the finish reason means that an image was withheld. */
export function isWithheld(finishReason: string): boolean {
  return withheldReasons.has(finishReason);
}

/** The failure for a complete reply without an image. */
export function failureWithoutImage(reply: {
  readonly isBlocked: boolean;
  readonly wasWithheld: boolean;
}): FailureReport {
  if (reply.isBlocked) {
    return { ...refused, message: "The prompt was blocked by the model's provider." };
  }
  if (reply.wasWithheld) {
    return { ...refused, message: "The image was withheld by the model's provider." };
  }
  return noImage;
}
