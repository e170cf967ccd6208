/** What the tests of `pushedReply` share: a body moved by hand, a pipe, and who takes the reply. */
import { Writable } from 'node:stream';
import type { Closing, ReplyPipe } from '../../src/bytes/body/reply.ts';
import type { ByteSink, UpstreamBody } from '../../src/ports/upstream-client.ts';

/** A closing that says nothing more. */
export const clean: Closing = { writes: [], cut: false };

/** A body moved by hand, and what was asked of it. */
export interface HandBody {
  readonly body: UpstreamBody;
  readonly calls: readonly string[];
  /** Where the body goes, once it was started. */
  sink(): ByteSink;
}

/** Remembers its writes, and its end if it came to one. */
export interface Recorder extends Writable {
  readonly log: readonly string[];
  readonly gone: Promise<void>;
}

/** A pipe that lets everything through and says on the wire how it ended. */
export function pipe(changes: Partial<ReplyPipe> = {}): ReplyPipe {
  return {
    write: (chunk) => chunk,
    over: () => undefined,
    end: () => clean,
    fail: (error) => ({ writes: [Buffer.from(`failed: ${messageOf(error)}`)], cut: false }),
    onStall: () => {},
    onQuiet: () => {},
    keepAlive: () => undefined,
    left: () => 'abort',
    abandoned: () => {},
    ...changes,
  };
}

/** A body moved by hand, and what was asked of it. */
export function handBody(): HandBody {
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

/** A writable that remembers its writes, and its end if it came to one. */
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
  const gone = new Promise<void>((resolve) => {
    out.once('close', resolve);
  });
  return Object.assign(out, { log, gone });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
