/**
 * Calls to functions of the host, and what is shown of an error that one of them threw. The error
 * itself is on the event, as a member that is not enumerable: neither `JSON.stringify` nor
 * telemetry ever has it.
 */
import { errorName, isError } from '../errors.ts';
import type { GatewayEvent } from './events.ts';

export interface ThrownDetails {
  readonly name: string;
  /** SQLSTATE, errno or the like. */
  readonly code?: string;
  readonly message: string;
  readonly stack?: string;
  readonly cause?: ThrownDetails;
}

const maxNameChars = 100;
const maxMessageChars = 1_000;
const maxStackChars = 4_000;
const maxSummaryChars = 300;
/** An error and its causes; causes may be circular. */
const maxErrors = 4;

/** Adds what was thrown to an event, not enumerable. */
export function withThrown<T extends object>(event: T, error: unknown): T {
  return error === undefined
    ? event
    : Object.defineProperty(event, 'error', { value: error, enumerable: false });
}

type FailedPort = Extract<GatewayEvent, { readonly type: 'port_failed' }>;

/** The event of a port call that failed; `thrown` is undefined if the port threw nothing. */
export function failedPort(
  call: Omit<FailedPort, 'type' | 'reason' | 'code' | 'error'>,
  reason: string,
  thrown: unknown,
): FailedPort {
  const code = thrownCode(thrown);
  const known = code === undefined ? {} : { code };
  return withThrown({ type: 'port_failed', ...call, reason, ...known }, thrown);
}

export function detailsOf(error: unknown): ThrownDetails {
  const [first = { name: 'thrown', message: '' }, ...causes] = chainOf(error);
  return [first, ...causes].reduceRight((cause, one) => ({ ...one, cause }));
}

/** All texts that a log may print of an error and its causes, whole. */
export function textsOf(error: unknown): string {
  const texts: string[] = [];
  for (let next = error; next !== undefined && texts.length < maxErrors; ) {
    const [code, stack] = [member(next, 'code'), member(next, 'stack')];
    const known = [errorName(next), messageOf(next), code, stack];
    texts.push(known.filter((text) => typeof text === 'string').join('\n'));
    next = member(next, 'cause');
  }
  return texts.join('\n');
}

/** The first lines of the messages of an error and its causes, with their codes. */
export function summaryOf(error: unknown): string {
  const texts = chainOf(error).map(({ name, message, code }) => {
    const [line = ''] = message.split('\n', 1);
    const text = line.trim() === '' ? (code ?? name) : line.trim();
    return code === undefined || text.includes(code) ? text : `${text} (${code})`;
  });
  const distinct = texts.filter((text, index) => !texts.slice(0, index).join().includes(text));
  return distinct
    .join(': ')
    .replace(/\p{Cc}+/gu, ' ')
    .slice(0, maxSummaryChars)
    .toWellFormed();
}

/** The code of an error, or else of one of its causes. */
export function thrownCode(error: unknown): string | undefined {
  return chainOf(error).find(({ code }) => code !== undefined)?.code;
}

function chainOf(error: unknown): readonly ThrownDetails[] {
  const chain: ThrownDetails[] = [];
  let isOfStore = false;
  for (let next = error; next !== undefined && chain.length < maxErrors; ) {
    const known = basicsOf(next);
    const stack = member(next, 'stack');
    const trace =
      typeof stack === 'string' ? { stack: withoutPassword(stack.slice(0, maxStackChars)) } : {};
    // A database's message may quote the values of a statement, so that of a store's cause is left
    // to the host, who has the error itself.
    chain.push(isOfStore ? { ...known, message: '' } : { ...known, ...trace });
    isOfStore ||= known.name === 'StoreUnavailable' || known.name === 'StoreCorrupt';
    next = member(next, 'cause');
  }
  return chain;
}

/** The name, code and message of an error, and nothing else of it is read. */
export function basicsOf(error: unknown): Pick<ThrownDetails, 'name' | 'code' | 'message'> {
  const code = codeIn(error);
  return {
    name: withoutPassword(errorName(error).slice(0, maxMessageChars)).slice(0, maxNameChars),
    ...(code === undefined ? {} : { code }),
    message: withoutPassword(messageOf(error).slice(0, maxMessageChars)),
  };
}

/**
 * The URL of a database has a password, and some clients quote the URL. A password may have a slash
 * in it, and some servers take it as a parameter.
 */
function withoutPassword(text: string): string {
  const hidden = text.replace(/\S+/g, (word) => {
    const [from, to] = [word.indexOf('://'), word.lastIndexOf('@')];
    return from < 0 || to < from ? word : `${word.slice(0, from)}://…${word.slice(to)}`;
  });
  return hidden.replace(/(password=)[^\s&;'"]+/gi, '$1…');
}

function messageOf(error: unknown): string {
  if (typeof error === 'string') return error;
  const message = member(error, 'message');
  if (typeof message === 'string' && message !== '') return message;
  // Where connecting to each address of a name failed, only the errors of the addresses have texts.
  const errors = member(error, 'errors');
  return Array.isArray(errors) && isError(errors[0]) ? messageOf(errors[0]) : '';
}

/** Node's errors, SQLSTATEs and those of most clients; a number or a text is no code. */
function codeIn(error: unknown): string | undefined {
  const code = member(error, 'code');
  return typeof code === 'string' && /^[A-Z0-9][A-Z0-9_]{1,39}$/.test(code) ? code : undefined;
}

/** Members of a driver's error may throw when they are read. */
function member(error: unknown, name: string): unknown {
  try {
    return typeof error === 'object' && error !== null ? Reflect.get(error, name) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Calls a function of the host synchronously. Exceptions and rejections are swallowed: they must
 * neither end the process nor delay the caller.
 */
export function swallowErrors(call: () => unknown): void {
  try {
    const result = call();
    // Any thenable, because a promise may come from another library or another realm.
    if (typeof result === 'object' && result !== null) Promise.resolve(result).catch(() => {});
  } catch {
    // There is no one to report it to: reporting is what failed.
  }
}
