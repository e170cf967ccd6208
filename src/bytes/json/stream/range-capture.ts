/** Captures one range of bytes from a stream of chunks, even if it spans several chunks. */
import { parseJson } from '../../../json.ts';

/** Captures one range at a time; reusable. */
export class RangeCapture {
  readonly #limitBytes: number;
  #start: number | undefined;
  #captured: Uint8Array[] = [];
  #capturedBytes = 0;

  /** @param limitBytes a longer range is dropped while it is still arriving */
  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** Begins a range at this offset of the current chunk; an unfinished range is dropped. */
  begin(at: number | undefined): void {
    this.#start = at;
    this.#captured = [];
    this.#capturedBytes = 0;
  }

  /** Must be called at the end of each chunk, before the next. */
  endChunk(chunk: Uint8Array): void {
    if (this.#start === undefined) return;
    const length = chunk.length - this.#start;
    if (!this.#fits(length)) return this.begin(undefined);
    // Copied, because the memory of the chunk may be reused.
    this.#captured.push(Uint8Array.prototype.slice.call(chunk, this.#start));
    this.#capturedBytes += length;
    this.#start = 0;
  }

  /** The range up to this offset; undefined if none was begun or it is longer than the limit. */
  finish(chunk: Uint8Array, end: number): string | undefined {
    if (this.#start === undefined) return undefined;
    const last = chunk.subarray(this.#start, end);
    const whole = this.#fits(last.length) ? Buffer.concat([...this.#captured, last]) : undefined;
    this.begin(undefined);
    return whole?.toString();
  }

  /** The string of which the range is the JSON text; undefined for any other text. */
  finishString(chunk: Uint8Array, end: number): string | undefined {
    const text = this.finish(chunk, end);
    const value = text === undefined ? undefined : parseJson(text);
    return typeof value === 'string' ? value : undefined;
  }

  #fits(bytes: number): boolean {
    return this.#capturedBytes + bytes <= this.#limitBytes;
  }
}
