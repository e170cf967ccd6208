/**
 * Chooses the channel of a call's next attempt and the account on it, by the health of the account
 * that the call would use.
 */
import type { Call } from '../../call.ts';
import type { Channel, Model } from '../../ports/models/catalog.ts';
import { exactIdOf } from '../../ports/models/model-defaults.ts';
import type { ChannelHealth } from '../../upstream/channel-health.ts';
import { type Availability, type Choice, chooseChannel } from '../../upstream/choose.ts';
import type { Admitted } from '../call-record.ts';
import type { Upstreams } from './attempt.ts';
import { accountFor, type CallCredentials, servingAccount } from './credential.ts';

/** How many channels' functions one call may ask for a credential. */
const maxCredentials = 16;

/** What a call knows of the channels that it has considered. */
export interface Considered {
  /** The ids of channels that were tried, or can't serve the call. */
  readonly passed: readonly string[];
  /** A channel has been tried and has failed. */
  readonly hasTried: boolean;
  /** Undefined while no chosen channel has a function as its credential. */
  readonly credentials: CallCredentials | undefined;
}

/** Chooses the channel to try next; `isAllowed` restricts the choice. */
export function choose(
  { call, key, model, plan, route, isLastModel, received: { request, settings } }: Admitted,
  { passed, hasTried, credentials }: Considered,
  { health, credentialFunctions }: Upstreams,
  isAllowed?: (channel: Channel) => boolean,
): Choice {
  const pool = plan.pool(route.protocol, key.group);
  if (typeof pool === 'string') return { kind: 'none', reason: pool };
  const kind = { isBoughtOnce: call.operation.isBoughtOnce, hasTried };
  const availability = (channel: Channel): Availability => {
    const { credential } = channel;
    // Most channels have a string as their credential, and skip the calls below to save time.
    const isText = typeof credential === 'string';
    if (!isText && credentials !== undefined && isUnasked(channel, credentials)) return unasked;
    const account = isText ? undefined : accountFor(channel, key, credentials, credentialFunctions);
    const found = health.availability(channel, plan.channel(channel).upstreamModel, kind, account);
    // A cooling channel is not used where another model may serve the call.
    const isLast = isLastModel ?? model.fallbacks === undefined;
    return !isLast && found.kind === 'unavailable' ? { ...found, lastResort: false } : found;
  };
  const { promptCacheKey } = call;
  const excluded =
    isAllowed === undefined ? passed : [...passed, ...idsWithout(pool.channels, isAllowed)];
  const session = (): string | undefined => route.protocol.sessionOf?.(call, request.headers);
  const attempt = { keyId: key.id, promptCacheKey, session, excluded, hasTried };
  const firstByteMs =
    pool.preference?.by === 'latency' ? mediansOf(model, call, health) : unmeasured;
  const accounts = { availability, inFlight: health.inFlight, firstByteMs };
  return chooseChannel(pool, attempt, accounts, settings.random);
}

type FirstByteMs = (channel: Channel) => number | undefined;

function mediansOf(
  model: Model,
  { operation, framing }: Pick<Call, 'operation' | 'framing'>,
  { medianFirstByteMs }: ChannelHealth,
): FirstByteMs {
  const requested = { modelId: exactIdOf(model), reply: operation.waitsAs[framing] };
  return (channel) => medianFirstByteMs(channel, requested);
}

const unmeasured: FirstByteMs = () => undefined;

function idsWithout(
  channels: readonly Channel[],
  isAllowed: (channel: Channel) => boolean,
): readonly string[] {
  return channels.filter((channel) => !isAllowed(channel)).map(({ id }) => id);
}

/**
 * Chooses the channel of a call that refers to something: one of the account that has it. An
 * account that can read the call's encrypted content is preferred as long as it is available.
 */
export function chooseByReferences(
  admitted: Admitted,
  considered: Considered,
  upstreams: Upstreams,
): Choice {
  const { requiredAccount, preferredAccount } = admitted.references ?? {};
  const isOf = (account: string) => (channel: Channel) =>
    isUnknown(channel, considered.credentials) ||
    servingAccount(channel, considered.credentials?.get(channel.id)) === account;
  if (requiredAccount !== undefined) {
    const choice = choose(admitted, considered, upstreams, isOf(requiredAccount));
    const isGone = choice.kind === 'none' && considered.passed.length === 0;
    return isGone && choice.reason === 'protocol' ? { ...choice, reason: 'other_account' } : choice;
  }
  if (preferredAccount === undefined) return choose(admitted, considered, upstreams);
  // A channel of last resort is not preferred.
  const spared = { ...considered, hasTried: true };
  const preferred = choose(admitted, spared, upstreams, isOf(preferredAccount));
  return preferred.kind === 'channel' ? preferred : choose(admitted, considered, upstreams);
}

/** The account is not known before the channel's function is asked. */
function isUnknown({ credential, id }: Channel, known: CallCredentials | undefined): boolean {
  return typeof credential !== 'string' && known?.has(id) !== true;
}

/** The channel's function is not called, because the call has reached `maxCredentials`. */
function isUnasked({ id }: Channel, known: CallCredentials): boolean {
  return known.size >= maxCredentials && !known.has(id);
}

const unasked: Availability = {
  kind: 'unavailable',
  reason: 'no_credential',
  untilMs: undefined,
  lastResort: false,
};
