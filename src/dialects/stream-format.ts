/** Cuts the streamed replies of a dialect into documents. Most dialects use server-sent events. */
import { type EventCutter, eventCutter, parseEvent, type SseEvent } from '../bytes/sse.ts';
import { maxEventBytes } from './taps/tap.ts';

/** One frame: its bytes, its name, its document, and loose text around it that has no frame. */
export type Frame = Pick<SseEvent, 'raw' | 'name' | 'data' | 'unframedText'>;

/** Its blocks have whole frames, but for that of `rest`, which was never completed. */
export interface FrameReader extends EventCutter {
  frameAt(block: Uint8Array, start: number): Frame;
}

export interface StreamFormat {
  /** The prefix of the content type of such a reply, in lower case. */
  readonly contentType: string;
  reader(): FrameReader;
}

export const serverSentEvents: StreamFormat = {
  contentType: 'text/event-stream',
  reader: () => ({ ...eventCutter(maxEventBytes), frameAt: parseEvent }),
};
