/** An upstream client that replies with exactly the given chunks, one for each turn. */
import { UpstreamError } from '../../src/errors.ts';
import type { HeaderMap } from '../../src/http.ts';
import type {
  ByteSink,
  UpstreamBody,
  UpstreamClient,
  UpstreamRequest,
  UpstreamResponse,
} from '../../src/ports/upstream-client.ts';

/** One answer of an upstream. */
export interface ScriptedReply {
  /** Default: 200. */
  readonly status?: number;
  readonly headers?: HeaderMap;
  /** Each arrives in its own turn of the event loop. */
  readonly chunks?: Iterable<Uint8Array | string>;
  /** How the body ends: normally by default, or by a reset. */
  readonly ending?: 'end' | 'reset';
}

/** The client, and the requests sent through it. */
export interface ScriptedUpstream extends UpstreamClient {
  readonly requests: readonly UpstreamRequest[];
  /** The number of bodies that were aborted before their end. */
  readonly aborted: number;
}

/** Gives the answers in order, and repeats the last one. */
export function scriptedUpstream(...answers: readonly ScriptedReply[]): ScriptedUpstream {
  const requests: UpstreamRequest[] = [];
  let aborted = 0;
  return {
    requests,
    get aborted() {
      return aborted;
    },
    send: async (request): Promise<UpstreamResponse> => {
      const answer = answers[Math.min(requests.length, answers.length - 1)] ?? {};
      requests.push(request);
      const body = scriptedBody(answer, () => {
        aborted += 1;
      });
      request.onAbort(() => body.abort());
      return { status: answer.status ?? 200, headers: answer.headers ?? {}, body };
    },
    close: async () => {},
  };
}

/** The body of an answer, for `readHead` and `pushedReply`. */
export function scriptedBody(
  scripted: ScriptedReply,
  onAbort: () => void = () => {},
): UpstreamBody {
  const chunks = (scripted.chunks ?? [])[Symbol.iterator]();
  let sink: ByteSink | undefined;
  let state: 'flowing' | 'paused' | 'over' = 'flowing';
  let scheduled = false;

  const step = (): void => {
    scheduled = false;
    if (state !== 'flowing' || sink === undefined) return;
    const { done, value } = chunks.next();
    if (done !== true) {
      sink.write(Buffer.from(value));
      return schedule();
    }
    state = 'over';
    if (scripted.ending === 'reset') sink.fail(new UpstreamError('body', 'reset'));
    else sink.end();
  };

  const schedule = (): void => {
    if (scheduled) return;
    scheduled = true;
    setImmediate(step);
  };

  return {
    takeWhole: () => undefined,
    start: (target) => {
      sink = target;
      schedule();
    },
    pause: () => {
      if (state === 'flowing') state = 'paused';
    },
    resume: () => {
      if (state !== 'paused') return;
      state = 'flowing';
      schedule();
    },
    abort: () => {
      if (state === 'over') return;
      state = 'over';
      onAbort();
    },
  };
}
