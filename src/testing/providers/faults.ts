/**
 * Faults by model name, for manual tests: with the model `demo-cut` the reply breaks off. Automated
 * tests queue scripts instead, which define every byte.
 */
import { type Piece, reset, type Script } from './scripts.ts';

export interface FaultReplies {
  error(status: 429 | 500 | 503): Script;
  readonly streamError: string;
  blocked(): Script;
  empty(): Script;
  readonly slowMs: number;
}

const faults: ReadonlyMap<string, (script: Script, faultReplies: FaultReplies) => Script> = new Map(
  [
    ['demo-503', (_script, faultReplies) => faultReplies.error(503)],
    ['demo-429', (_script, faultReplies) => faultReplies.error(429)],
    ['demo-500', (_script, faultReplies) => faultReplies.error(500)],
    ['demo-slow', (script, faultReplies) => ({ ...script, delayMs: faultReplies.slowMs })],
    ['demo-stall', (script) => ({ ...firstHalf(script), ending: 'hang' })],
    ['demo-cut', (script) => ({ ...firstHalf(script), ending: 'close' })],
    ['demo-refuse', reset],
    ['demo-safety', (_script, faultReplies) => faultReplies.blocked()],
    ['demo-empty', (_script, faultReplies) => faultReplies.empty()],
    ['demo-error-event', errorInside],
    ['demo-html', badGateway],
  ],
);

/** The model names that stand for faults. */
export const faultNames: readonly string[] = [...faults.keys()];

/** The script with the fault of the model's name; unchanged for every other model. */
export function withFault(model: string, script: Script, faultReplies: FaultReplies): Script {
  return faults.get(model)?.(script, faultReplies) ?? script;
}

/** Half of the chunks, or half of the bytes with the full `content-length`. */
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
 * Half a stream followed by the error; for a whole reply, a status 200 whose body is only the
 * error.
 */
function errorInside(script: Script, faultReplies: FaultReplies): Script {
  if (script.chunks === undefined) return { ...faultReplies.error(500), status: 200 };
  return { ...script, chunks: [...halfOf([...script.chunks]), faultReplies.streamError] };
}

function halfOf(pieces: readonly Piece[]): readonly Piece[] {
  return pieces.slice(0, Math.ceil(pieces.length / 2));
}

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
