/** Keeps a passage of a stream of chunks: from one place to another, which may be chunks later. */
import { utf8Text } from '../../decode.ts';

/** One passage at a time, as often as needed. */
export interface Passage {
  /** The passage begins at this offset of the present chunk; one that had begun is given up. */
  begin(at: number): void;
  /** The present chunk is over. Must be told before the next one comes. */
  carry(chunk: Uint8Array): void;
  /** The passage, which ends at this offset; undefined where none had begun or it is too long. */
  finish(chunk: Uint8Array, end: number): string | undefined;
}

/** @param limitBytes a longer passage is dropped while it still arrives */
export function passage(limitBytes: number): Passage {
  let start: number | undefined;
  let carried: Uint8Array[] = [];
  let carriedBytes = 0;

  function fits(bytes: number): boolean {
    return carriedBytes + bytes <= limitBytes;
  }

  function reset(at: number | undefined): void {
    start = at;
    carried = [];
    carriedBytes = 0;
  }

  return {
    begin: reset,
    carry(chunk) {
      if (start === undefined) return;
      if (!fits(chunk.length - start)) {
        reset(undefined);
        return;
      }
      // A copy: whoever pushes the chunks may use their memory again.
      carried.push(Uint8Array.prototype.slice.call(chunk, start));
      carriedBytes += chunk.length - start;
      start = 0;
    },
    finish(chunk, end) {
      if (start === undefined) return undefined;
      const whole = fits(end - start)
        ? Buffer.concat([...carried, chunk.subarray(start, end)])
        : undefined;
      reset(undefined);
      return whole && utf8Text(whole, 0, whole.length);
    },
  };
}
