/**
 * Five canaries that are part of every case of the fault matrix, and the search that must never
 * find one in a failed answer, an event, a record, a warning or the output of the process.
 */
import { inspect } from 'node:util';

/** Values that must not leak. */
export interface Canaries {
  readonly callerKey: string;
  readonly upstreamKey: string;
  /** Host and port of the upstream's base URL. */
  readonly upstreamHost: string;
  readonly prompt: string;
  /** The data of an image, in a prompt or in a reply. */
  readonly base64: string;
}

/**
 * The upstream key does not look like a key, so that only a redactor that knows it can hide it. The
 * Base64 has `+` and `/` like that of real images.
 */
export const canaries: Omit<Canaries, 'callerKey' | 'upstreamHost'> = {
  upstreamKey: 'canary horse-staple upstream-4711'.replaceAll(' ', '-'),
  prompt: 'canary-prompt about a very private matter',
  base64: 'iVBORw0KGgoAAAAN+SUhEUgAAAAEAAAABCAYA/AAAfFcSJAAAADUlEQVR4+2mNkYPj/HwADBwGAWjR9awAAAABJ',
};

/** Everything that an upstream could reveal of a call, in one line that fits into a header. */
export function leakOf({ upstreamKey, upstreamHost, prompt, base64 }: Canaries): string {
  return `${upstreamKey} at http://${upstreamHost}/v1 (${upstreamHost}) says ${prompt} ${base64}`;
}

/** The canaries that occur in the observed values: `prompt in events`. */
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

/** The value as a log and as a debugger would print it, hidden members included. */
function everythingIn(value: unknown): string {
  if (typeof value === 'string') return value;
  const json = JSON.stringify(value, (_name, member) =>
    typeof member === 'bigint' ? String(member) : member,
  );
  const inspected = inspect(value, { depth: 20, showHidden: true, maxStringLength: null });
  return `${json} ${inspected}`;
}

/** The output of the process while tests run. */
export interface Prints {
  readonly text: string;
  stop(): void;
}

/** Records stdout and stderr, and still prints everything. */
export function listenToPrints(): Prints {
  const printed: string[] = [];
  const streams = [process.stdout, process.stderr];
  const undo = streams.map((stream) => {
    const original = stream.write;
    const write = original.bind(stream);
    const recording: typeof stream.write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
      printed.push(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString());
      return Reflect.apply(write, stream, [chunk, ...rest]);
    };
    stream.write = recording;
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
