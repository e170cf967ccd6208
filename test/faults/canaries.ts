/**
 * Five canaries that go through every case of the fault matrix, and the search that must never find
 * one: in no answer that failed, no event, no record, no warning, and nothing that is printed.
 */
import { inspect } from 'node:util';

/** What must stay where it is. */
export interface Canaries {
  readonly callerKey: string;
  readonly upstreamKey: string;
  /** Host and port of the upstream's base URL. */
  readonly upstreamHost: string;
  readonly prompt: string;
  /** Of an image, in a prompt or in a reply. */
  readonly base64: string;
}

/**
 * What looks like no key, so that only knowing it can hide it. The Base64 has the `+` and `/` that
 * real pictures have.
 */
export const canaries: Omit<Canaries, 'callerKey' | 'upstreamHost'> = {
  upstreamKey: 'canary horse-staple upstream-4711'.replaceAll(' ', '-'),
  prompt: 'canary-prompt about a very private matter',
  base64: 'iVBORw0KGgoAAAAN+SUhEUgAAAAEAAAABCAYA/AAAfFcSJAAAADUlEQVR4+2mNkYPj/HwADBwGAWjR9awAAAABJ',
};

/** Everything that an upstream could tell of a call, in one line that fits into a header. */
export function leakOf({ upstreamKey, upstreamHost, prompt, base64 }: Canaries): string {
  return `${upstreamKey} at http://${upstreamHost}/v1 (${upstreamHost}) says ${prompt} ${base64}`;
}

/** The names of the canaries that are in what was observed, in any of the places. */
export function found(
  canaries: Readonly<Record<string, string>>,
  observed: Readonly<Record<string, unknown>>,
): readonly string[] {
  return Object.entries(observed).flatMap(([place, value]) => {
    const text = everythingIn(value);
    return Object.entries(canaries)
      .filter(([, canary]) => text.includes(canary))
      .map(([name]) => `${name} in ${place}`);
  });
}

/** As a log would have it, as a debugger would, and what an error keeps to itself. */
function everythingIn(value: unknown): string {
  if (typeof value === 'string') return value;
  const json = JSON.stringify(value, (_name, member) =>
    typeof member === 'bigint' ? String(member) : member,
  );
  const inspected = inspect(value, { depth: 20, showHidden: true, maxStringLength: null });
  return `${json} ${inspected}`;
}

/** What is printed while tests run. */
export interface Prints {
  readonly text: string;
  stop(): void;
}

/** Listens to stdout and stderr; what is printed is printed all the same. */
export function listenToPrints(): Prints {
  const printed: string[] = [];
  const streams = [process.stdout, process.stderr];
  const undo = streams.map((stream) => {
    const original = stream.write;
    const write = original.bind(stream);
    const heard: typeof stream.write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
      printed.push(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString());
      return Reflect.apply(write, stream, [chunk, ...rest]);
    };
    stream.write = heard;
    return () => {
      stream.write = original;
    };
  });
  return {
    get text() {
      return printed.join('');
    },
    stop: () => {
      for (const restore of undo) restore();
    },
  };
}
