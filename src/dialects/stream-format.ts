/** Cuts the streamed replies of a dialect into documents. Most dialects use server-sent events. */
import { eventCutter, parseEvents, type SseEvent } from '../bytes/sse.ts';
import { maxEventBytes } from './taps/tap.ts';

/** One frame: its name, its document, and loose text around it that belongs to no frame. */
export type Frame = Pick<SseEvent, 'name' | 'data' | 'unframedText'>;

export interface FrameReader {
  /** @throws UpstreamError `event_too_large` */
  read(chunk: Uint8Array): readonly Frame[];
  /** Returns what was never completed. Called once. */
  rest(): readonly Frame[];
}

export interface StreamFormat {
  /** The prefix of the content type of such a reply, in lower case. */
  readonly contentType: string;
  reader(): FrameReader;
}

export const serverSentEvents: StreamFormat = {
  contentType: 'text/event-stream',
  reader: () => {
    const cutter = eventCutter(maxEventBytes);
    return {
      read: (chunk) => parseEvents(cutter.push(chunk)),
      rest: () => parseEvents(cutter.rest()),
    };
  },
};
