/** Reads the beginning of a body, so that it can be checked before the first byte is forwarded. */

import { ChunkBuffer } from '../../bytes/chunk-buffer.ts';
import type { ByteSink, UpstreamBody } from '../../ports/upstream-client.ts';

/** One reader checks the beginning, and is replaced by the one that forwards the rest. */
export interface DetachableBody extends UpstreamBody {
  /** Chunks that arrived while no reader was attached are passed first, joined into one. */
  start(sink: ByteSink): void;
  detach(): void;
}

export interface BodyHead {
  readonly bytes: Uint8Array;
  readonly ended: boolean;
}

/**
 * Reads until `isEnough` returns true for a chunk, or to the end.
 *
 * @throws UpstreamError if the body fails before that
 */
export async function readHead(
  body: DetachableBody,
  isEnough: (chunk: Uint8Array) => boolean,
): Promise<BodyHead> {
  const collected = new ChunkBuffer();
  const { ended } = await peekHead(body, (chunk) => {
    collected.add(chunk);
    return isEnough(chunk);
  });
  return { bytes: collected.join(), ended };
}

/**
 * Like {@link readHead}, but keeps no bytes. `interruptible` receives a function that stops the
 * reading early; once reading has ended it does nothing.
 *
 * @throws UpstreamError if the body fails before that
 */
export function peekHead(
  body: DetachableBody,
  isEnough: (chunk: Uint8Array) => boolean,
  interruptible?: (interrupt: () => void) => void,
): Promise<Pick<BodyHead, 'ended'>> {
  return new Promise((resolve, reject) => {
    let isDone = false;
    const stop = (): void => {
      if (isDone) return;
      isDone = true;
      body.detach();
      resolve({ ended: false });
    };
    interruptible?.(stop);
    body.start({
      write: (chunk) => {
        try {
          if (!isEnough(chunk)) return;
        } catch (error) {
          isDone = true;
          body.abort();
          reject(error);
          return;
        }
        stop();
      },
      end: () => {
        isDone = true;
        resolve({ ended: true });
      },
      fail: (error) => {
        isDone = true;
        reject(error);
      },
    });
  });
}
