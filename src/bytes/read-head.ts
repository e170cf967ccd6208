/** Reads the beginning of a body, so that somebody can judge it before the first byte goes out. */
import type { ByteSink, UpstreamBody } from '../ports/upstream-client.ts';

/** What arrived, and the body that goes on behind it. */
export interface Head {
  readonly chunks: readonly Uint8Array[];
  /** Whether the body has ended with `chunks`. */
  readonly ended: boolean;
  readonly rest: UpstreamBody;
}

/**
 * Reads until `enough` says so of a chunk, or to the end.
 *
 * @throws UpstreamError when the body breaks off before
 */
export function readHead(
  body: UpstreamBody,
  enough: (chunk: Uint8Array) => boolean,
): Promise<Head> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    const late: Uint8Array[] = [];
    let reading = true;
    let ending: 'open' | 'ended' | Error = 'open';
    let sink: ByteSink | undefined;

    // Spelt out, not spread: the body of a host's own client may be an instance of a class.
    const rest: UpstreamBody = {
      takeWhole: () => undefined,
      pause: () => body.pause(),
      resume: () => body.resume(),
      abort: () => body.abort(),
      start: (target) => {
        sink = target;
        for (const chunk of late.splice(0)) target.write(chunk);
        if (ending === 'ended') target.end();
        else if (ending !== 'open') target.fail(ending);
        else body.resume();
      },
    };
    const stop = (ended: boolean): void => {
      reading = false;
      resolve({ chunks, ended, rest });
    };

    body.start({
      write: (chunk) => {
        if (sink !== undefined) return sink.write(chunk);
        if (!reading) {
          late.push(chunk);
          return;
        }
        chunks.push(chunk);
        try {
          if (!enough(chunk)) return;
        } catch (error) {
          body.abort();
          reading = false;
          reject(error);
          return;
        }
        body.pause();
        stop(false);
      },
      end: () => {
        ending = 'ended';
        if (sink !== undefined) sink.end();
        else if (reading) stop(true);
      },
      fail: (error) => {
        ending = error;
        if (sink !== undefined) sink.fail(error);
        else if (reading) reject(error);
      },
    });
  });
}
