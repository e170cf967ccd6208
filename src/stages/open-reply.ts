/**
 * Opens an upstream's answer: waits for the whole of a small reply or for the first event of a
 * stream, so that an early failure still gets its real status and another channel its chance.
 */
import { readHead } from '../bytes/read-head.ts';
import { joined } from '../bytes/sse.ts';
import type { Call } from '../call.ts';
import type { Dialect, FailureReport, StreamTap } from '../dialects/dialect.ts';
import { items, type JsonValue, member, parseJson } from '../json.ts';
import type { Usage } from '../money.ts';
import type { UpstreamBody, UpstreamResponse } from '../ports/upstream-client.ts';

/** What came of a 2xx answer. */
export type Opening =
  /** A small reply, whole and checked. */
  | { readonly kind: 'whole'; readonly bytes: Uint8Array; readonly usage: Usage | undefined }
  /** A reply that streams past; `begun` has gone through the tap already. */
  | {
      readonly kind: 'streamed';
      readonly begun: Uint8Array;
      readonly rest: UpstreamBody;
      readonly tap: StreamTap;
    }
  /** An error in the clothes of a 200. */
  | { readonly kind: 'failure'; readonly report: FailureReport }
  /** Not what was asked for, though it may have cost something: what had come of it. */
  | { readonly kind: 'bad'; readonly reason: string; readonly countedTokens?: number };

/** A reply that fits is held and answered in one write (ARCHITECTURE E). */
const heldBytes = 64 * 1024;

/**
 * Judges the beginning of an answer, or all of it.
 *
 * @throws UpstreamError when the body breaks off before it could be judged
 */
export async function openReply(
  response: UpstreamResponse,
  call: Call,
  dialect: Dialect,
): Promise<Opening> {
  const isEvents = (response.headers['content-type'] ?? '').startsWith('text/event-stream');
  if (call.framing === 'sse' && isEvents) return openStream(response.body, dialect.tap(call));
  if (call.framing !== 'sse' && isEvents) {
    response.body.abort();
    return { kind: 'bad', reason: 'upstream_protocol_error' };
  }
  if (call.framing === 'json_array') return openStream(response.body, dialect.tap(call));
  return openDocument(response.body, call, dialect);
}

async function openStream(body: UpstreamBody, tap: StreamTap): Promise<Opening> {
  const begun: Uint8Array[] = [];
  const head = await readHead(body, (chunk) => {
    const bytes = tap.write(chunk);
    begun.push(bytes);
    return bytes.length > 0 || tap.failure() !== undefined || tap.finished();
  });
  // Nothing but half an event came: perhaps an error that was never framed.
  if (head.ended && begun.every(({ length }) => length === 0)) begun.push(tap.end());
  const report = tap.failure();
  if (report !== undefined) {
    head.rest.abort();
    return { kind: 'failure', report };
  }
  const bytes = joined(begun.filter(({ length }) => length > 0));
  if (head.ended && bytes.length === 0) return { kind: 'bad', reason: 'upstream_empty' };
  return { kind: 'streamed', begun: bytes, rest: head.rest, tap };
}

async function openDocument(body: UpstreamBody, call: Call, dialect: Dialect): Promise<Opening> {
  const whole = body.takeWhole(heldBytes);
  if (whole !== undefined) return judge(whole, call, dialect);
  let length = 0;
  const head = await readHead(body, (chunk) => {
    length += chunk.length;
    return length > heldBytes;
  });
  const bytes = joined(head.chunks);
  if (head.ended && bytes.length <= heldBytes) return judge(bytes, call, dialect);
  if (!beginsDocument(bytes) || call.framing === 'sse') {
    head.rest.abort();
    return { kind: 'bad', reason: 'upstream_protocol_error' };
  }
  const tap = dialect.tap(call);
  const begun = tap.write(bytes);
  const report = tap.failure();
  if (report === undefined) return { kind: 'streamed', begun, rest: head.rest, tap };
  head.rest.abort();
  return { kind: 'failure', report };
}

/** A held reply: is it whole, is it an error, is it empty? */
function judge(bytes: Uint8Array, call: Call, dialect: Dialect): Opening {
  if (bytes.length === 0) return { kind: 'bad', reason: 'upstream_empty' };
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const reply = parseJson(view.toString('utf8'));
  if (reply === undefined) {
    const reason = beginsDocument(bytes) ? 'upstream_truncated' : 'upstream_protocol_error';
    return { kind: 'bad', reason, countedTokens: Math.ceil(bytes.length / 3) };
  }
  const report = dialect.inBandFailure(reply);
  if (report !== undefined) return { kind: 'failure', report };
  if (call.framing === 'sse') return { kind: 'bad', reason: 'upstream_protocol_error' };
  const reason = call.operation === 'images' ? imageFault(reply) : undefined;
  if (reason !== undefined) return { kind: 'bad', reason };
  return { kind: 'whole', bytes, usage: dialect.readUsage(reply) };
}

/** Every image must be Base64: a URL is never fetched and never passed on (ARCHITECTURE N). */
function imageFault(reply: JsonValue): string | undefined {
  const images = items(member(reply, 'data'));
  if (images.length === 0) return 'upstream_empty';
  const base64 = images.every((image) => typeof member(image, 'b64_json') === 'string');
  return base64 ? undefined : 'upstream_image_not_base64';
}

function beginsDocument(bytes: Uint8Array): boolean {
  const first = bytes.find(
    (byte) => byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09,
  );
  return first === 0x7b || first === 0x5b;
}
