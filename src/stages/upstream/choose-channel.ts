/**
 * Chooses the channel of a call's next attempt and the account on it, by the health of the account
 * that the call would use.
 */
import type { GatewayError } from '../../errors.ts';
import type { Channel } from '../../ports/catalog.ts';
import type { ChannelLease } from '../../upstream/channel-health.ts';
import { type Availability, type Choice, chooseChannel } from '../../upstream/choose.ts';
import { noSignal } from '../../upstream/health-signal.ts';
import type { Admitted, Held } from '../call-record.ts';
import type { ChannelPlan } from '../models/model-plan.ts';
import { accountFor, askCredential, type CallCredentials, servingAccount } from './credential.ts';
import { type CallFailure, refusedByGateway } from './failure.ts';
import { noChannel } from './no-channel.ts';
import type { Upstreams } from './try-channel.ts';

/** How many channels' functions one call may ask for a credential. */
const maxCredentials = 16;

export interface Considered {
  /** The ids of channels that were tried, or can't serve the call. */
  readonly passed: string[];
  readonly hasTried: boolean;
  /** Undefined while no chosen channel has a function as its credential. */
  readonly credentials: CallCredentials | undefined;
}

export function choose(
  { call, key, model, plan, route, isLastModel, received: { request, settings } }: Admitted,
  { passed, hasTried, credentials }: Considered,
  { health, perKeyCredentials }: Upstreams,
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
    const account = isText ? undefined : accountFor(channel, key, credentials, perKeyCredentials);
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
  return chooseChannel(pool, attempt, { availability, inFlight: health.inFlight }, settings.random);
}

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

function isUnasked({ id }: Channel, known: CallCredentials): boolean {
  return known.size >= maxCredentials && !known.has(id);
}

const unasked: Availability = {
  kind: 'unavailable',
  reason: 'no_credential',
  untilMs: undefined,
  lastResort: false,
};

/**
 * The failure of a call without a channel. A refusal is final only if every channel refused the
 * request (`protocol`). Otherwise a channel that supports it may just be unavailable at the moment.
 */
export function noneChosen(
  choice: Extract<Choice, { readonly kind: 'none' }>,
  refusal: GatewayError | undefined,
  { passed, credentials }: Considered,
  admitted: Admitted,
  { emit }: Upstreams,
): CallFailure {
  if (choice.reason !== 'protocol') return noChannel(admitted, choice, emit);
  if (refusal !== undefined) return refusedByGateway(refusal);
  const hasNoCredential = passed.some((id) => credentials?.get(id)?.kind === 'none');
  return noChannel(
    admitted,
    hasNoCredential ? { kind: 'none', reason: 'no_credential' } : choice,
    emit,
  );
}

/**
 * Asks the function of the chosen channel for the account to use. Returns true if the channel can
 * be used immediately, in this turn of the event loop; otherwise a channel must be chosen again,
 * now that this account's health is known.
 */
export async function resolveCredential(
  { channel, timeouts, upstreamModel }: ChannelPlan,
  { passed, hasTried }: Considered,
  credentials: CallCredentials,
  { admitted }: Held,
  { health, perKeyCredentials }: Upstreams,
): Promise<boolean> {
  const { credential, id } = channel;
  if (typeof credential === 'string') return true;
  const { connectMs } = timeouts;
  const answer = await askCredential(channel, credential, connectMs, admitted, perKeyCredentials);
  credentials.set(id, answer);
  if (answer.kind === 'none') passed.push(id);
  // A channel whose function failed is tried, so that the failure is recorded; nothing is sent.
  if (answer.kind !== 'secret') return answer.kind === 'failed';
  if (admitted.references !== undefined && answer.kind === 'secret') return false;
  const kind = { isBoughtOnce: admitted.call.operation.isBoughtOnce, hasTried };
  return health.availability(channel, upstreamModel, kind, answer.account).kind === 'available';
}

/** In the same turn as the choice: else two calls could both become the half-open trial. */
export function takeChannel(
  { call, key, model: { id: modelId }, running }: Admitted,
  { channel, upstreamModel }: ChannelPlan,
  credentials: CallCredentials | undefined,
  { health, perKeyCredentials }: Upstreams,
): ChannelLease {
  const { operation, framing } = call;
  const reply = operation.waitsAs[framing];
  // Only a call that has asked a function may use another account than the channel's own.
  const account =
    credentials === undefined
      ? undefined
      : accountFor(channel, key, credentials, perKeyCredentials);
  const lease = health.begin(channel, upstreamModel, { modelId, reply }, account);
  // The channel is freed when the call is done, whatever its outcome.
  running.onDone(() => lease.end(noSignal));
  return lease;
}
