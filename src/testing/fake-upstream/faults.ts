/**
 * Faults by model name, for trying by hand: name the model `demo-cut` and the answer breaks off.
 * Tests queue scripts instead, which say the same to the byte.
 */
import { type Piece, reset, type Script } from './scripts.ts';

/** How a provider says what a fault needs said, about one call. */
export interface Voice {
  /** Its own refusal with this status. */
  error(status: 429 | 500 | 503): Script;
  /** What it writes into a stream that fails half-way. */
  readonly streamError: string;
  /** The prompt was held to be unsafe. */
  blocked(): Script;
  /** A well-formed answer with nothing in it. */
  empty(): Script;
  readonly slowMs: number;
}

const faults: ReadonlyMap<string, (script: Script, voice: Voice) => Script> = new Map([
  ['demo-503', (_script, voice) => voice.error(503)],
  ['demo-429', (_script, voice) => voice.error(429)],
  ['demo-500', (_script, voice) => voice.error(500)],
  ['demo-slow', (script, voice) => ({ ...script, delayMs: voice.slowMs })],
  ['demo-stall', (script) => ({ ...firstHalf(script), ending: 'hang' })],
  ['demo-cut', (script) => ({ ...firstHalf(script), ending: 'close' })],
  ['demo-refuse', reset],
  ['demo-safety', (_script, voice) => voice.blocked()],
  ['demo-empty', (_script, voice) => voice.empty()],
  ['demo-error-event', errorInside],
  ['demo-html', badGateway],
]);

/** The model names that break something. */
export const faultNames: readonly string[] = [...faults.keys()];

/** The script as the model's name spoils it; the script itself for every other model. */
export function withFault(model: string, script: Script, voice: Voice): Script {
  return faults.get(model)?.(script, voice) ?? script;
}

/** Half of the pieces, or half of the bytes with the whole's `content-length`. */
function firstHalf({ body = '', chunks, ...head }: Script): Script {
  if (chunks !== undefined) return { ...head, chunks: halfOf([...chunks]) };
  const bytes = Buffer.from(body);
  return {
    ...head,
    headers: { ...head.headers, 'content-length': String(bytes.length) },
    chunks: [bytes.subarray(0, Math.ceil(bytes.length / 2))],
  };
}

/**
 * Half a stream and then the error; for an answer that comes whole, a 200 that holds only the
 * error.
 */
function errorInside(script: Script, voice: Voice): Script {
  if (script.chunks === undefined) return { ...voice.error(500), status: 200 };
  return { ...script, chunks: [...halfOf([...script.chunks]), voice.streamError] };
}

function halfOf(pieces: readonly Piece[]): readonly Piece[] {
  return pieces.slice(0, Math.ceil(pieces.length / 2));
}

/** What a proxy between the provider and us says. */
function badGateway(): Script {
  const body = [
    '<html>',
    '<head><title>502 Bad Gateway</title></head>',
    '<body>',
    '<center><h1>502 Bad Gateway</h1></center>',
    '<hr><center>cloudflare</center>',
    '</body>',
    '</html>',
    '',
  ].join('\r\n');
  return { status: 502, headers: { 'content-type': 'text/html', server: 'cloudflare' }, body };
}
