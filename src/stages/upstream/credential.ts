/**
 * Gets the secret of an upstream account from the host's function, for one call: the function of
 * each channel is asked once.
 */
import { isUpstreamError, UpstreamError } from '../../errors.ts';
import type { Channel } from '../../ports/catalog.ts';
import type { ApiKey } from '../../ports/key-store.ts';
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

/** The functions that are known to return a secret of their own for each key. */
export interface PerKeyFunctions extends Pick<WeakSet<CredentialFunction>, 'add' | 'has'> {
  /** Takes note of a secret that a channel's function returned without naming its account. */
  unnamed(channel: Channel, secret: string): void;
}

export function perKeyFunctions(): PerKeyFunctions {
  const functions = new WeakSet<CredentialFunction>();
  const seen = new WeakMap<Channel, SeenSecrets>();
  return {
    add: (credential) => functions.add(credential),
    has: (credential) => functions.has(credential),
    unnamed: (channel, secret) => {
      const known = seen.get(channel);
      if (known === undefined) seen.set(channel, { latest: secret, earlier: [], isWarned: false });
      else if (known.latest !== secret) noteOther(known, channel, secret);
    },
  };
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
  perKey: PerKeyFunctions,
): NamedAccount | undefined {
  if (typeof credential === 'string') return undefined;
  const answer = known?.get(id);
  if (answer === undefined) return failureAccount(credential, key, perKey);
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
  perKey: PerKeyFunctions,
): Promise<Credential> {
  const { key, model, running, received } = admitted;
  const failed = (error: UpstreamError): Credential => {
    return { kind: 'failed', error, account: failureAccount(credential, key, perKey) };
  };
  try {
    const answer: unknown = await new Promise((resolve, reject) => {
      running.caller.onAbort(reject);
      const answered = Promise.resolve(credential({ key, model, channel }));
      within(answered, timeoutMs, received.settings.clock).then(resolve, reject);
    });
    const read = credentialIn(answer);
    if (read === undefined) return failed(unavailable(wrongAnswer()));
    if (read.kind === 'none' || read.account !== undefined) perKey.add(credential);
    else if (read.kind === 'secret') perKey.unnamed(channel, read.secret);
    return read;
  } catch (cause) {
    return failed(isUpstreamError(cause) ? transportError(cause, 'connect') : unavailable(cause));
  }
}

/** @throws UpstreamError at the stage `connect`, because nothing has been sent yet */
export function secretIn(answer: Credential | undefined): string {
  if (answer?.kind === 'secret') return answer.secret;
  throw answer?.kind === 'failed' ? answer.error : unavailable();
}

/**
 * A function without parameters can't know the key, so its failures are the channel's. Those of any
 * other function count against the key alone: one user's broken key must not take the channel from
 * the others.
 */
function failureAccount(
  credential: CredentialFunction,
  key: ApiKey,
  perKey: PerKeyFunctions,
): NamedAccount | undefined {
  const isPerKey = credential.length > 0 || perKey.has(credential);
  return isPerKey ? { name: keyScope(key.id), secret: '' } : undefined;
}

/** Printable ASCII: anything else would break the header that it is sent in. */
const secretSyntax = /^[!-~](?:[ -~]{0,8190}[!-~])?$/;
const accountSyntax = /^\P{Cc}{1,128}$/u;

/** Undefined for an answer that the type does not allow. */
function credentialIn(answer: unknown): Credential | undefined {
  // `null` is a database's answer for not found.
  if (answer === undefined || answer === null) return { kind: 'none' };
  const { secret, account: name } = isRecord(answer)
    ? answer
    : { secret: answer, account: undefined };
  if (typeof secret !== 'string' || !secretSyntax.test(secret)) return undefined;
  // Only an answer without a name means the channel's own account. A reserved name would not be
  // safe: a host may use the ids of users as names, and a user might choose that one.
  if (name === undefined) return { kind: 'secret', secret, account: undefined };
  if (typeof name !== 'string' || !accountSyntax.test(name)) return undefined;
  return { kind: 'secret', secret, account: { name, secret } };
}

/** The answer is not described: it may be a secret in a wrong form. */
function wrongAnswer(): TypeError {
  return new TypeError(
    'it must return a secret, { secret, account } or undefined: printable ASCII without space ' +
      'around it, and an account of 1 to 128 characters',
  );
}

function unavailable(cause?: unknown): UpstreamError {
  return new UpstreamError('connect', 'credential_unavailable', { cause });
}
