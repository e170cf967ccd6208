/** How the streamed replies of a dialect are cut into documents: server-sent events for most. */
import { eventCutter, parseEvents, type SseEvent } from '../bytes/sse.ts';
import { maxEventBytes } from './tap.ts';

/** One frame: its name and its document, and text around it that was never framed. */
export type Frame = Pick<SseEvent, 'name' | 'data' | 'unframedText'>;

/** Cuts one reply. */
export interface FrameReader {
  /**
   * The frames that this chunk completes.
   *
   * @throws UpstreamError `event_too_large`
   */
  read(chunk: Uint8Array): readonly Frame[];
  /** What was never completed, given once. */
  rest(): readonly Frame[];
}

/** The format of a dialect's streams. */
export interface StreamFormat {
  /** How the content type of such a reply begins, in lower case. */
  readonly contentType: string;
  reader(): FrameReader;
}

/** What OpenAI, Google and Anthropic stream. */
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
