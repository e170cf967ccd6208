/**
 * Watches a relayed chat stream: takes the usage frame out that only we asked for, rebuilds an
 * error sent in-band, reads the figures, and knows whether the stream came to its own end.
 */
import { eventCutter, eventEnd, eventsIn, joined, noBytes } from '../../bytes/sse.ts';
import type { GatewayError } from '../../errors.ts';
import { items, member, parseJson } from '../../json.ts';
import type { Usage } from '../../money.ts';
import { type FailureReport, maxEventBytes, type StreamTap } from '../dialect.ts';
import { endsWithText, lastValueOf } from '../last-value.ts';
import { tokenCount } from '../token-count.ts';
import { openaiErrorText, openaiInBandFailure } from './errors.ts';
import { openaiUsage } from './usage.ts';

const doneMark = Buffer.from('[DONE]');
const errorName = Buffer.from('"error"');
const usageName = Buffer.from('"usage"');
const finishName = Buffer.from('"finish_reason"');

/** `stripUsage`: the caller did not ask for the usage frame, so it must not see one. */
export function openaiStreamTap(stripUsage: boolean): StreamTap {
  const cutter = eventCutter(maxEventBytes);
  const counted = tokenCount();
  let usage: Usage | undefined;
  let failure: FailureReport | undefined;
  let done = false;
  let finished = false;

  /** Looks into every event of a block; called for the few blocks that hold an error or figures. */
  const inspect = (block: Uint8Array): Uint8Array => {
    const kept: Uint8Array[] = [];
    for (const event of eventsIn(block)) {
      const document = parseJson(event.data ?? event.loose) ?? null;
      failure = openaiInBandFailure(document);
      if (failure !== undefined) break;
      const figures = openaiUsage(document);
      if (figures !== undefined) usage = figures;
      const usageFrame = figures !== undefined && items(member(document, 'choices')).length === 0;
      if (!(stripUsage && usageFrame)) kept.push(event.raw);
    }
    return joined(kept);
  };

  const pass = (block: Uint8Array): Uint8Array => {
    if (block.length === 0) return block;
    const bytes = Buffer.from(block.buffer, block.byteOffset, block.length);
    counted.add(bytes);
    finished ||= endsWithText(bytes, finishName);
    const doneAt = doneLine(bytes);
    done = doneAt !== -1;
    const reply = done ? bytes.subarray(0, eventEnd(bytes, doneAt)) : block;
    const mustLook = bytes.includes(errorName) || lastValueOf(bytes, usageName) !== undefined;
    return mustLook ? inspect(reply) : reply;
  };

  return {
    write: (chunk) => (done ? noBytes : pass(cutter.push(chunk))),
    end: () => (done ? noBytes : pass(cutter.rest())),
    finished: () => done,
    complete: () => done || finished,
    failure: () => failure,
    usage: () => usage,
    countedTokens: () => counted.tokens(),
    breakOff: (error: GatewayError) => [Buffer.from(`data: ${openaiErrorText(error)}\n\n`)],
  };
}

/** Where `[DONE]` is the data of an event, and not a word of the answer; −1 where it is not. */
function doneLine(bytes: Buffer): number {
  for (let at = bytes.indexOf(doneMark); at !== -1; at = bytes.indexOf(doneMark, at + 1)) {
    const line = bytes.subarray(Math.max(0, at - 7), at).toString('latin1');
    if (/(?:^|[\r\n])data: ?$/.test(line)) return at;
  }
  return -1;
}
