/** Reads the beginning of a body, so that somebody can judge it before the first byte goes out. */
import type { ByteSink, UpstreamBody } from '../../ports/upstream-client.ts';
import { pieces } from '../pieces.ts';

/** A body whose reader may change: first who judges how it begins, then who hands the rest on. */
export interface HeldBody extends UpstreamBody {
  /**
   * From now on this one is told, and nobody else. What came while nobody was is given first, as
   * one chunk.
   */
  start(sink: ByteSink): void;
  /** For now nobody is told. */
  hold(): void;
}

/** What arrived; the body goes on behind it. */
export interface Head {
  readonly bytes: Uint8Array;
  /** Whether the body has ended with `bytes`. */
  readonly ended: boolean;
}

/**
 * Reads until `enough` says so of a chunk, or to the end.
 *
 * @throws UpstreamError when the body breaks off before
 */
export async function readHead(
  body: HeldBody,
  enough: (chunk: Uint8Array) => boolean,
): Promise<Head> {
  const collected = pieces();
  const { ended } = await lookAtHead(body, (chunk) => {
    collected.add(chunk);
    return enough(chunk);
  });
  return { bytes: collected.join(), ended };
}

/**
 * The same, but keeps nothing of what came. `interruptible` is given a function that ends the
 * reading as it stands; later it does nothing.
 *
 * @throws UpstreamError when the body breaks off before
 */
export function lookAtHead(
  body: HeldBody,
  enough: (chunk: Uint8Array) => boolean,
  interruptible?: (interrupt: () => void) => void,
): Promise<Pick<Head, 'ended'>> {
  return new Promise((resolve, reject) => {
    let isDone = false;
    const stop = (): void => {
      if (isDone) return;
      isDone = true;
      body.hold();
      resolve({ ended: false });
    };
    interruptible?.(stop);
    body.start({
      write: (chunk) => {
        try {
          if (!enough(chunk)) return;
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
