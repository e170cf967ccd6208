/**
 * The whole replies that are being sent. One whose caller does not read is cut off, like a stream.
 */
import { type PacedReply, pacedReply, type ReplyPieces } from '../../bytes/body/paced-reply.ts';
import { swallowErrors } from '../../events/thrown.ts';
import type { Settings } from '../../options.ts';

export interface UnreadReplies {
  /** A body sent as fast as its caller reads. `onOver` is called once its memory is free. */
  add(pieces: ReplyPieces, onOver?: () => void): PacedReply;
  /** Cuts off the replies of callers that have not read for `callerStallMs`. */
  tick(): void;
}

interface UnreadReply {
  readonly reply: PacedReply;
  readonly callerStallMs: number;
  readAtMs: number;
}

export function unreadReplies(settings: () => Settings): UnreadReplies {
  const replies = new Set<UnreadReply>();
  const nowMs = (): number => settings().clock.monotonicMs();
  const isStalled = ({ readAtMs, callerStallMs }: UnreadReply): boolean =>
    nowMs() - readAtMs >= callerStallMs;

  return {
    add: (pieces, onOver) => {
      const reply = pacedReply(pieces, {
        advanced: () => {
          unread.readAtMs = nowMs();
        },
        over: () => {
          replies.delete(unread);
          onOver?.();
        },
      });
      const { callerStallMs } = settings();
      const unread: UnreadReply = { reply, callerStallMs, readAtMs: nowMs() };
      replies.add(unread);
      return reply;
    },
    tick: () => {
      for (const unread of replies) {
        if (!isStalled(unread)) continue;
        // Checked again after this turn of the event loop: if the host blocked the loop, the turn
        // may deliver that the caller has read.
        setImmediate(() => {
          if (replies.has(unread) && isStalled(unread)) swallowErrors(unread.reply.cut);
        });
      }
    },
  };
}
