/**
 * Gets the secret of an upstream account from the host's function, for one call: the function of
 * each channel is asked once.
 */

import type { AccountSecret, CredentialForm } from '../../dialects/hosting.ts';
import { isUpstreamError, UpstreamError } from '../../errors.ts';
import type { MaybePromise } from '../../ports/call-options.ts';
import type { ApiKey } from '../../ports/keys/key-store.ts';
import { isMarkedPerKey } from '../../ports/keys/per-key.ts';
import type { Channel, CredentialRequest } from '../../ports/models/catalog.ts';
import { within } from '../../ports/within.ts';
import { digestSecret } from '../../secret.ts';
import { keyScope } from '../../upstream/accounts.ts';
import type { NamedAccount } from '../../upstream/channel-health.ts';
import { transportError } from '../../upstream/transport-error.ts';
import type { Admitted } from '../call-record.ts';
import { isRecord } from '../ports/port-answers.ts';

export type Credential =
  | {
      readonly kind: 'secret';
      readonly secret: string;
      readonly form: CredentialForm;
      /** Undefined for the channel's own account. */
      readonly account: NamedAccount | undefined;
    }
  /** It has no secret for this key: the call does not use the channel. */
  | { readonly kind: 'none' }
  /** It failed, took too long or returned something else. Nothing has been sent. */
  | {
      readonly kind: 'failed';
      readonly error: UpstreamError;
      readonly account: NamedAccount | undefined;
    };

/** What the functions of channels returned for one call, by the channel's id. */
export type CallCredentials = Map<string, Credential>;

export type CredentialFunction = Exclude<Channel['credential'], string>;

/** What one gateway knows of the functions that return the secrets of its channels. */
export class CredentialFunctions {
  readonly #perKey = new WeakSet<CredentialFunction>();
  readonly #seen = new WeakMap<Channel, SeenSecrets>();
  readonly #kept = new WeakMap<CredentialFunction, KeptCredential>();

  /** Whether a function is known to return a secret of its own for each key. */
  isPerKey(credential: CredentialFunction): boolean {
    return isMarkedPerKey(credential) || this.#perKey.has(credential);
  }

  /** Asks the function, unless what it returned before is valid for a while. */
  answer(
    credential: CredentialFunction,
    request: CredentialRequest,
    nowMs: number,
  ): MaybePromise<unknown> {
    const kept = this.#kept.get(credential);
    if (kept === undefined) return credential(request);
    const leftMs = kept.untilMs - nowMs;
    if (leftMs <= renewalMs && nowMs - kept.renewedMs > longestRenewalMs) {
      kept.renewedMs = nowMs;
      kept.renewal = this.#renewed(credential, request, kept);
      // Reported by the call that needs it; none may.
      kept.renewal.catch(() => {});
    }
    return leftMs > minValidMs ? kept.answer : kept.renewal;
  }

  /** The upstream has refused this secret: the next call asks the function again. */
  refused(credential: CredentialFunction, secret: string): void {
    const kept = this.#kept.get(credential);
    if (kept !== undefined && secretOf(kept.answer)?.secret === secret) kept.untilMs = 0;
  }

  /** Takes note of what a channel's function returned. */
  answered(
    channel: Channel,
    credential: CredentialFunction,
    { read, answer }: { readonly read: Credential; readonly answer: unknown },
  ): void {
    if (read.kind === 'none' || (read.kind === 'secret' && read.account !== undefined)) {
      this.#perKey.add(credential);
      return;
    }
    if (read.kind !== 'secret') return;
    const untilMs = this.isPerKey(credential) ? undefined : expiryOf(answer);
    if (untilMs !== undefined) {
      this.#keep(credential, answer, untilMs);
      return;
    }
    const known = this.#seen.get(channel);
    const latest = read.secret;
    if (known === undefined) this.#seen.set(channel, { latest, earlier: [], isWarned: false });
    else if (known.latest !== latest) noteOther(known, channel, latest);
  }

  /** One call asks for all; those of the meantime use what is still valid, or wait for it. */
  async #renewed(
    credential: CredentialFunction,
    request: CredentialRequest,
    kept: KeptCredential,
  ): Promise<unknown> {
    try {
      const answer = await credential(request);
      const untilMs = expiryOf(answer);
      if (untilMs !== undefined) this.#keep(credential, answer, untilMs);
      return answer;
    } finally {
      kept.renewedMs = Number.NEGATIVE_INFINITY;
    }
  }

  #keep(credential: CredentialFunction, answer: unknown, untilMs: number): void {
    // Another call may have got a newer one in the meantime.
    if (untilMs <= (this.#kept.get(credential)?.untilMs ?? 0)) return;
    const renewedMs = Number.NEGATIVE_INFINITY;
    this.#kept.set(credential, { answer, untilMs, renewal: undefined, renewedMs });
  }
}

/** A token of a cloud, or keys of AWS, valid until then as the function stated. */
interface KeptCredential {
  readonly answer: unknown;
  untilMs: number;
  renewal: Promise<unknown> | undefined;
  /** When the running renewal began. */
  renewedMs: number;
}

/** A renewal that takes longer is one that never ends. */
const longestRenewalMs = 30_000;
/** A new one is requested this long before the end. */
const renewalMs = 300_000;
/** A request may take so long until the provider looks at its signature or token. */
const minValidMs = 60_000;

/** When a credential expires, in the forms of AWS's and Azure's libraries, in Unix ms. */
function expiryOf(answer: unknown): number | undefined {
  if (!isRecord(answer)) return undefined;
  const { expiration, expiresOnTimestamp } = answer;
  // A date may be of another realm, such as that of a test runner.
  const untilMs = typeof expiration === 'object' ? Number(expiration) : expiresOnTimestamp;
  return typeof untilMs === 'number' && Number.isFinite(untilMs) ? untilMs : undefined;
}

/** The secrets of one channel: the latest, and the digests of those before it. */
interface SeenSecrets {
  latest: string;
  readonly earlier: string[];
  isWarned: boolean;
}

/** Bounds the memory. Users who take turns with more others than these are not noticed. */
const maxEarlier = 100;

/**
 * A secret that is used again after another one was not renewed: several accounts take turns. Each
 * of them would count as the channel's own, and the first bad one would close it for all.
 */
function noteOther(known: SeenSecrets, { id }: Channel, secret: string): void {
  if (known.isWarned) return;
  const { earlier, latest } = known;
  known.isWarned = earlier.includes(digestSecret(secret));
  known.latest = secret;
  earlier.push(digestSecret(latest));
  if (earlier.length > maxEarlier) earlier.shift();
  if (!known.isWarned) return;
  process.emitWarning(
    `The function \`credential\` of the channel ${JSON.stringify(id)} returns several secrets in ` +
      'turn, as texts. They count as one account, so that one which is refused closes the ' +
      'channel for all keys. Return `{ secret, account }` with a name for each account.',
    { type: 'TollgateWarning', code: 'TOLLGATE_UNNAMED_ACCOUNTS' },
  );
}

/**
 * The account by whose health a channel is chosen; undefined for the channel's own. Until a
 * function has returned the account of this key, the health of other accounts does not apply.
 */
export function accountFor(
  { id, credential }: Channel,
  key: ApiKey,
  known: CallCredentials | undefined,
  functions: CredentialFunctions,
): NamedAccount | undefined {
  if (typeof credential === 'string') return undefined;
  const answer = known?.get(id);
  if (answer === undefined) return failureAccount(credential, key, functions);
  return answer.kind === 'none' ? undefined : answer.account;
}

/**
 * The name of the account that stores what a call through this channel leaves behind, and that can
 * read what it encrypts. A name that a function chose is never that of a channel's own account.
 */
export function servingAccount(channel: Channel, answer: Credential | undefined): string {
  const named = namedAccount(answer);
  return named === undefined ? (channel.account ?? channel.id) : `credential:${named}`;
}

/** The account that the channel's function named; undefined for the channel's own. */
export function namedAccount(answer: Credential | undefined): string | undefined {
  return answer?.kind === 'secret' ? answer.account?.name : undefined;
}

/** Asks the function of a channel. Never rejects: the host's function may fail like any store. */
export async function askCredential(
  channel: Channel,
  credential: CredentialFunction,
  timeoutMs: number,
  admitted: Pick<Admitted, 'key' | 'model' | 'running' | 'received'>,
  functions: CredentialFunctions,
): Promise<Credential> {
  const { key, model, running, received } = admitted;
  const failed = (error: UpstreamError): Credential => {
    return { kind: 'failed', error, account: failureAccount(credential, key, functions) };
  };
  try {
    const answer: unknown = await new Promise((resolve, reject) => {
      running.caller.onAbort(reject);
      const nowMs = received.settings.clock.now();
      const request = { key, model, channel };
      const answered = Promise.resolve(functions.answer(credential, request, nowMs));
      within(answered, timeoutMs, received.settings.clock).then(resolve, reject);
    });
    const read = credentialIn(answer);
    if (read === undefined) return failed(unavailable(wrongAnswer()));
    functions.answered(channel, credential, { read, answer });
    return read;
  } catch (cause) {
    return failed(isUpstreamError(cause) ? transportError(cause, 'connect') : unavailable(cause));
  }
}

/** @throws UpstreamError at the stage `connect`, because nothing has been sent yet */
export function secretIn(answer: Credential | undefined): AccountSecret {
  if (answer?.kind === 'secret') return answer;
  throw answer?.kind === 'failed' ? answer.error : unavailable();
}

/**
 * The failures of a function that answers for each key count against that key alone: one user's
 * broken key must not take the channel from the others.
 */
function failureAccount(
  credential: CredentialFunction,
  key: ApiKey,
  functions: CredentialFunctions,
): NamedAccount | undefined {
  return functions.isPerKey(credential) ? { name: keyScope(key.id), secret: '' } : undefined;
}

/** Printable ASCII: anything else would break the header that it is sent in. */
const secretSyntax = /^[!-~](?:[ -~]{0,8190}[!-~])?$/;
const accountSyntax = /^\P{Cc}{1,128}$/u;

/** Undefined for an answer that the type does not allow. */
function credentialIn(answer: unknown): Credential | undefined {
  // `null` is a database's answer for not found.
  if (answer === undefined || answer === null) return { kind: 'none' };
  const read = secretOf(answer);
  if (read === undefined) return undefined;
  const { secret, form } = read;
  const name = isRecord(answer) ? answer.account : undefined;
  // Only an answer without a name means the channel's own account. A reserved name would not be
  // safe: a host may use the ids of users as names, and a user might choose that one.
  if (name === undefined) return { kind: 'secret', secret, form, account: undefined };
  if (typeof name !== 'string' || !accountSyntax.test(name)) return undefined;
  return { kind: 'secret', secret, form, account: { name, secret } };
}

function secretOf(answer: unknown): AccountSecret | undefined {
  if (!isRecord(answer)) return isSecret(answer) ? { secret: answer, form: 'secret' } : undefined;
  const { secret, token, accessKeyId, secretAccessKey, sessionToken } = answer;
  if (isSecret(secret)) return { secret, form: 'secret' };
  if (isSecret(token)) return { secret: token, form: 'token' };
  if (!isSecret(accessKeyId) || !isSecret(secretAccessKey)) return undefined;
  if (sessionToken !== undefined && !isSecret(sessionToken)) return undefined;
  // In one order, because a renewed secret is recognised by its text.
  const keys = { accessKeyId, secretAccessKey, sessionToken };
  return { secret: JSON.stringify(keys), form: 'aws' };
}

function isSecret(value: unknown): value is string {
  return typeof value === 'string' && secretSyntax.test(value);
}

/** The answer is not described: it may be a secret in a wrong form. */
function wrongAnswer(): TypeError {
  return new TypeError(
    'it must return a secret, { secret, account }, { token }, ' +
      '{ accessKeyId, secretAccessKey, sessionToken } or undefined: printable ASCII without ' +
      'space around it, and an account of 1 to 128 characters',
  );
}

function unavailable(cause?: unknown): UpstreamError {
  return new UpstreamError('connect', 'credential_unavailable', { cause });
}
