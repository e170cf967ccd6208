/**
 * A JSON array as it arrives: cuts it behind whole elements, so that what works on elements never
 * sees half of one. For Google's streams without `alt=sse`.
 */
import { UpstreamError } from '../errors.ts';
import { type EventCutter, joined, noBytes } from './sse.ts';

const quote = 0x22;
const backslash = 0x5c;

/**
 * Holds an unfinished element back, and with it the comma in front.
 *
 * @throws UpstreamError `event_too_large` from `push`, when one element exceeds `maxElementBytes`
 */
export function elementCutter(maxElementBytes: number): EventCutter {
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  let depth = 0;
  let inString = false;
  let escaped = false;

  /** The offset behind the last element or bracket that ends in `chunk`; 0 where none does. */
  const scan = (chunk: Uint8Array): number => {
    let end = 0;
    for (let index = 0; index < chunk.length; index += 1) {
      const byte = chunk[index];
      if (inString) {
        if (escaped) escaped = false;
        else if (byte === backslash) escaped = true;
        else if (byte === quote) inString = false;
      } else if (byte === quote) inString = true;
      else if (byte === 0x7b || byte === 0x5b) depth += 1;
      else if (byte === 0x7d || byte === 0x5d) {
        depth -= 1;
        if (depth <= 1) end = index + 1;
      }
    }
    return end;
  };

  return {
    push: (chunk) => {
      const end = scan(chunk);
      if (end === 0) {
        held.push(chunk);
        heldBytes += chunk.length;
        if (heldBytes > maxElementBytes) throw new UpstreamError('body', 'event_too_large');
        return noBytes;
      }
      const whole = joined([...held, chunk.subarray(0, end)]);
      held = end < chunk.length ? [chunk.subarray(end)] : [];
      heldBytes = chunk.length - end;
      return whole;
    },
    rest: () => joined(held),
  };
}

/** Whether everything that was pushed and cut so far is one whole array. */
export function isClosedArray(block: Uint8Array): boolean {
  for (let index = block.length - 1; index >= 0; index -= 1) {
    const byte = block[index];
    if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) continue;
    return byte === 0x5d;
  }
  return false;
}
