/** Captures one range of bytes from a stream of chunks, even if it spans several chunks. */

/** Captures one range at a time; reusable. */
export interface RangeCapture {
  /** Begins a range at this offset of the current chunk; an unfinished range is dropped. */
  begin(at: number): void;
  /** Must be called at the end of each chunk, before the next. */
  endChunk(chunk: Uint8Array): void;
  /** The range up to this offset; undefined if none was begun or it is longer than the limit. */
  finish(chunk: Uint8Array, end: number): string | undefined;
}

/** @param limitBytes a longer range is dropped while it is still arriving */
export function rangeCapture(limitBytes: number): RangeCapture {
  let start: number | undefined;
  let captured: Uint8Array[] = [];
  let capturedBytes = 0;

  function fits(bytes: number): boolean {
    return capturedBytes + bytes <= limitBytes;
  }

  function reset(at: number | undefined): void {
    start = at;
    captured = [];
    capturedBytes = 0;
  }

  return {
    begin: reset,
    endChunk(chunk) {
      if (start === undefined) return;
      if (!fits(chunk.length - start)) {
        reset(undefined);
        return;
      }
      // Copied, because the memory of the chunk may be reused.
      captured.push(Uint8Array.prototype.slice.call(chunk, start));
      capturedBytes += chunk.length - start;
      start = 0;
    },
    finish(chunk, end) {
      if (start === undefined) return undefined;
      const whole = fits(end - start)
        ? Buffer.concat([...captured, chunk.subarray(start, end)])
        : undefined;
      reset(undefined);
      return whole?.toString();
    },
  };
}
