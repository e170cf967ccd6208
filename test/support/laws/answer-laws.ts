/**
 * The laws between events and what others see: what the events of a request say is what its caller
 * was answered, and what its upstreams sent.
 */
import { inspect } from 'node:util';
import { type ErrorCode, GatewayError, statusOf } from '../../../src/errors.ts';
import type { GatewayEvent } from '../../../src/events/events.ts';
import { items, type JsonValue, member, parseJson } from '../../../src/json.ts';
import { anthropicCaller } from '../../../src/protocols/callers/anthropic.ts';
import { geminiCaller } from '../../../src/protocols/callers/gemini.ts';
import { openaiCaller } from '../../../src/protocols/callers/openai.ts';
import type { ProtocolTable } from '../../../src/protocols/table.ts';

/** A response as its caller sees it. */
export interface SeenAnswer {
  readonly requestId: string | undefined;
  readonly status: number;
  readonly text: string;
  /** The connection was cut, so that an error may be missing. */
  readonly isCut: boolean;
  /** The caller disconnected before the end of the response. */
  readonly hasDisconnected: boolean;
}

/** Checks the requests of one gateway. What breaks a law throws. */
export interface AnswerLaws {
  see(event: GatewayEvent): void;
  /** A request was sent upstream; the function returns the status that it has answered with. */
  sent(status: () => number | undefined): void;
  answered(answer: SeenAnswer): void;
}

/** What the events say of an answer. */
interface StatedAnswer {
  readonly status: number;
  readonly code: ErrorCode | undefined;
  readonly reason: string | undefined;
}

/** A request by its id, until both sides are known. */
interface Request {
  stated?: StatedAnswer;
  seen?: SeenAnswer;
}

/** What the laws can know of a gateway. */
interface Known {
  /** Whatever is sent upstream is reported by `sent`. */
  readonly knowsUpstream: boolean;
  /** All its APIs have one of the three forms of errors. */
  readonly knowsErrors: boolean;
}

/** Laws of one gateway. */
export function answerLaws({ knowsUpstream, knowsErrors }: Known): AnswerLaws {
  const requests = new Map<string, Request>();
  const attempts = attemptStatuses();
  const compare = (id: string, side: Request): void => {
    const { stated, seen } = { ...requests.get(id), ...side };
    // Callers choose the ids: one that is used again starts anew.
    if (stated === undefined || seen === undefined) return void requests.set(id, side);
    requests.delete(id);
    const complaint = disagreement(stated, seen, knowsErrors);
    if (complaint !== undefined) throw new Error(`${complaint}: ${inspect({ stated, seen })}`);
  };
  return {
    see: (event) => {
      if (knowsUpstream) attempts.see(event);
      if (event.type === 'call_refused') compare(event.requestId, { stated: event });
      if (event.type !== 'call_ended') return;
      const { record, code } = event;
      compare(record.requestId, { stated: { ...record, code } });
    },
    sent: attempts.sent,
    answered: (seen) => {
      if (seen.requestId !== undefined) compare(seen.requestId, { seen });
    },
  };
}

/** Checks the status of each attempt, which is sent in the moment in which it starts. */
function attemptStatuses(): Pick<AnswerLaws, 'see' | 'sent'> {
  const open = new Map<string, () => number | undefined>();
  let starting: string | undefined;
  return {
    see: (event) => {
      if (event.type === 'attempt_started') {
        starting = nameOf(event);
        open.set(starting, () => undefined);
      }
      if (event.type !== 'attempt_ended' && event.type !== 'part_failed') return;
      const status = open.get(nameOf(event))?.();
      if (event.type === 'attempt_ended') open.delete(nameOf(event));
      if (status !== event.status) {
        throw new Error(`The upstream sent ${status}, and not: ${inspect(event)}`);
      }
    },
    sent: (status) => {
      // A further request of an attempt; which one is clear if only one is open.
      const [only, ...others] = open.keys();
      const name = starting ?? (others.length === 0 ? only : undefined);
      starting = undefined;
      if (name !== undefined) open.set(name, status);
    },
  };
}

function nameOf(event: { readonly reservationId: string; readonly attempt: number }): string {
  return `${event.reservationId} ${event.attempt}`;
}

/** The status of logs for a caller that did not wait for its answer. */
const closedStatus = 499;

function disagreement(
  { status, code, reason }: StatedAnswer,
  seen: SeenAnswer,
  knowsErrors: boolean,
): string | undefined {
  const { hasDisconnected } = seen;
  if (status === closedStatus) {
    const hasLeft = hasDisconnected || reason === 'caller_stalled' || reason === 'caller_left';
    return hasLeft ? undefined : 'The caller had not disconnected';
  }
  if (status !== seen.status) return 'The caller got another status';
  if (!knowsErrors) return undefined;
  const error = errorIn(seen.text);
  if (error === undefined) {
    const mayLackError = seen.isCut || hasDisconnected;
    return code === undefined || mayLackError ? undefined : 'The caller got no error';
  }
  if (code === undefined) return 'The caller got an error';
  return isErrorOf(code, error) ? undefined : 'The caller got another error';
}

/** The error of a document, or the last one of a stream that has a name. */
function errorIn(text: string): JsonValue | undefined {
  const documents = [text.trim(), ...text.split('\n').map((line) => line.replace(/^data: ?/, ''))];
  return documents
    .map((document) => (/^[[{]/.test(document) ? parseJson(document) : undefined) ?? null)
    .flatMap((document) => (Array.isArray(document) ? items(document) : [document]))
    .map((document) => member(document, 'error') ?? undefined)
    .findLast((error) => nameIn(error) !== undefined);
}

/** Google's errors have a status, those of the other APIs a type. */
function nameIn(error: JsonValue | undefined): JsonValue | undefined {
  return member(error, 'status') ?? member(error, 'type');
}

const knownCallers = [openaiCaller, geminiCaller, anthropicCaller];

/** Whether all APIs of a table have forms of errors that the laws know. */
export function haveKnownErrors(protocols: ProtocolTable): boolean {
  const known = knownCallers.map(({ name }) => name);
  return Object.values(protocols).every(({ caller }) => known.includes(caller.name));
}

/** True if the error is the one that an API writes for this code. */
function isErrorOf(code: ErrorCode, error: JsonValue): boolean {
  const ownCode = member(error, 'code');
  if (typeof ownCode === 'string' && ownCode in statusOf && ownCode !== code) return false;
  const written = new GatewayError(code, '');
  return knownCallers.some(({ errors }) => {
    const sample = errorIn(errors.body(written, '').toString());
    return nameIn(sample) === nameIn(error);
  });
}
