/** Shared by the tests of `pushedReply`: a body driven by hand, a pipe, and a destination. */
import { Writable } from 'node:stream';
// Imported, because a test may replace the global timers with fakes.
import { setImmediate } from 'node:timers';
import type { Closing, ReplyPipe } from '../../src/bytes/body/reply.ts';
import type { ByteSink, UpstreamBody } from '../../src/ports/upstream-client.ts';

/** A clean closing without further bytes. */
export const clean: Closing = { writes: [], cut: false };

/** A body driven by hand, and the calls made on it. */
export interface ControlledBody {
  readonly body: UpstreamBody;
  readonly calls: readonly string[];
  /** The sink of the body, after it was started. */
  sink(): ByteSink;
}

/** A writable that records its writes and its end. */
export interface Recorder extends Writable {
  readonly log: readonly string[];
  readonly whenClosed: Promise<void>;
}

/** A pipe that passes everything on, and writes the message of a failure. */
export function pipe(changes: Partial<ReplyPipe> = {}): ReplyPipe {
  return {
    endOfTurn: (flush) => void setImmediate(flush),
    write: (chunk) => chunk,
    closingIfOver: () => undefined,
    end: () => clean,
    fail: (error) => ({ writes: [Buffer.from(`failed: ${messageOf(error)}`)], cut: false }),
    onStall: () => {},
    onQuiet: () => {},
    keepAlive: () => undefined,
    disconnected: () => 'abort',
    abandoned: () => {},
    ...changes,
  };
}

/** Creates a body driven by hand. */
export function controlledBody(): ControlledBody {
  const calls: string[] = [];
  let target: ByteSink | undefined;
  const note = (call: string) => () => {
    calls.push(call);
  };
  const body: UpstreamBody = {
    takeWhole: () => undefined,
    start: (sink) => {
      calls.push('start');
      target = sink;
    },
    pause: note('pause'),
    resume: note('resume'),
    abort: note('abort'),
  };
  const sink = (): ByteSink => {
    if (target === undefined) throw new Error('The body was not started.');
    return target;
  };
  return { body, calls, sink };
}

/** Creates a writable that records its writes and its end. */
export function recorder(): Recorder {
  const log: string[] = [];
  const out = new Writable({
    write: (chunk, _encoding, done) => {
      log.push(String(chunk));
      done();
    },
    final: (done) => {
      log.push('end');
      done();
    },
  });
  const whenClosed = new Promise<void>((resolve) => {
    out.once('close', resolve);
  });
  return Object.assign(out, { log, whenClosed });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
