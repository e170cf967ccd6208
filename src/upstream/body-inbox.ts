/**
 * The body of one answer between undici, which pushes it, and whoever reads it: keeps what comes
 * too early, and holds the rest back at the socket.
 */
import { pieces } from '../bytes/pieces.ts';
import type { ByteSink, UpstreamBody } from '../ports/upstream-client.ts';
import type { SocketGate } from './socket-gate.ts';

/** Keeps what arrives before somebody reads, a little at most, then passes everything through. */
export interface BodyInbox {
  readonly body: UpstreamBody;
  write(chunk: Uint8Array): void;
  end(): void;
  fail(error: Error): void;
}

/** What may lie unread before the socket is paused. */
const unreadBytes = 64 * 1024;

/** Nothing has come yet. `gate` is that of the socket it comes from; `abortCall` ends the call. */
export function bodyInbox(gate: SocketGate, abortCall: () => void): BodyInbox {
  const waiting = pieces();
  let sink: ByteSink | undefined;
  let state: 'open' | 'ended' | 'aborted' | Error = 'open';
  let paused = false;

  const finish = (): void => {
    gate.release();
    if (state === 'ended') sink?.end();
    else if (state instanceof Error) sink?.fail(state);
  };

  const body: UpstreamBody = {
    takeWhole: (limit) => {
      if (state !== 'ended' || sink !== undefined || waiting.byteLength() > limit) return undefined;
      return waiting.join();
    },
    start: (target) => {
      sink = target;
      paused = false;
      // One by one: what the first says of a reply is asked before the second is looked at.
      for (const chunk of waiting.take()) {
        // The reader may have seen enough, and aborted.
        if (state !== 'aborted') target.write(chunk);
      }
      if (state !== 'open') finish();
      // The reader may have asked for a pause already.
      else if (!paused) gate.open();
    },
    pause: () => {
      paused = true;
      if (state === 'open') gate.close();
    },
    resume: () => {
      if (!paused) return;
      paused = false;
      // Once the body has ended its socket may serve another call, which is not ours to wake.
      if (state === 'open') gate.open();
    },
    abort: () => {
      if (state !== 'open') return;
      state = 'aborted';
      gate.release();
      abortCall();
    },
  };

  return {
    body,
    write: (chunk) => {
      if (sink !== undefined) {
        sink.write(chunk);
        return;
      }
      waiting.add(chunk);
      paused = waiting.byteLength() > unreadBytes;
      if (paused) gate.close();
    },
    end: () => {
      if (state !== 'open') return;
      state = 'ended';
      finish();
    },
    fail: (error) => {
      if (state !== 'open') return;
      state = error;
      finish();
    },
  };
}
