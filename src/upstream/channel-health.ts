/**
 * The health of upstream accounts, and of each model on them: who rests, who is ejected, who was
 * refused, who was switched off, and how many calls each has. Kept by one gateway, for itself.
 */
import type { Clock } from '../clock.ts';
import { ConfigurationError } from '../errors.ts';
import type { EventListener, PlaceStatus } from '../events.ts';
import type { Channel } from '../ports/catalog.ts';
import type { Availability } from './choose.ts';
import {
  afterAnswer,
  afterFailure,
  afterNothing,
  afterRest,
  afterService,
  atBegin,
  goodStanding,
  type Pause,
  pauseFor,
  type RestAsked,
  type Standing,
} from './standing.ts';

/** What a call has shown of the channel it went through. */
export type Verdict =
  | { readonly kind: 'served' }
  /** The caller's mistake or ours: the upstream is neither better nor worse for it. */
  | { readonly kind: 'nothing' }
  /** Could not be reached (`account`), or failed or took too long (`model`). */
  | { readonly kind: 'failed'; readonly reason: string; readonly where: Place }
  | ({ readonly kind: 'rest'; readonly where: Place } & RestAsked)
  /** The credential is not accepted: nothing can be done with it until it is another. */
  | { readonly kind: 'refused'; readonly reason: string }
  /**
   * Refused without a word about whom it blames. It may be this one request, or the right to this
   * model; it is the account only if a second model is refused before any was served.
   */
  | { readonly kind: 'forbidden'; readonly reason: string };

/** The account with all its models, or the one model that was asked. */
export type Place = 'account' | 'model';

/** A channel in use by one call. */
export interface ChannelLease {
  /** The reply has begun: if the call is a probe, that is proof enough. */
  answered(): void;
  /** The call is done with the channel; a second time does nothing. */
  end(verdict: Verdict): void;
}

/** How a channel stands, as a host reads it. */
export interface ChannelStatus extends PlaceStatus {
  readonly channelId: string;
  /** Calls that run through it now. */
  readonly inFlight: number;
  /** The models on it that have trouble of their own, by their upstream's names for them. */
  readonly models: readonly (PlaceStatus & { readonly upstreamModel: string })[];
}

/** Watches the channels of one gateway. */
export interface ChannelHealth {
  /** Whether a call may go through this channel just now. */
  availability(channel: Channel, upstreamModel: string, call: CallKind): Availability;
  /** The calls that run through it. */
  inFlight(channel: Channel): number;
  begin(channel: Channel, upstreamModel: string): ChannelLease;
  /** Every account that has been called or switched, in the order of their first call. */
  statuses(): readonly ChannelStatus[];
  /**
   * Takes an account out, or puts it back with all that stood against it forgotten.
   *
   * @throws ConfigurationError for another word
   */
  switch(channelId: string, to: 'on' | 'off'): void;
  /** The host gave another catalog: refused credentials may be tried again. */
  reloaded(): void;
}

/** What decides whether a call may be a probe. */
export interface CallKind {
  readonly isImage: boolean;
}

interface Account {
  isOff: boolean;
  inFlight: number;
  /** The credential that was not accepted, to know a new one from it. */
  refused: { readonly credential: Channel['credential']; readonly reason: string } | undefined;
  /** The model that was the last to be forbidden, with nothing served since. */
  forbiddenModel: string | undefined;
  /**
   * Of those that have something against them: models by name, the account itself by none.
   * Undefined where nothing stands against any: of a thousand accounts most are well.
   */
  standings: Map<string | undefined, Standing> | undefined;
}

/** A call on its way through a channel, and what stood against that when it began. */
interface Visit {
  readonly account: Account;
  readonly channel: Channel;
  readonly upstreamModel: string;
  readonly begunAccount: Pause | undefined;
  readonly begunModel: Pause | undefined;
}

/** A function gives another secret one day, and nobody tells us when. */
const rotatingRestMs = 60_000;
/** What a 403 costs the model that was asked for, and the account where it is to blame. */
const forbiddenModelMs = 60_000;
const forbiddenAccountMs = 600_000;
/** A catalog that makes up ids must not fill the memory. */
const mostAccounts = 10_000;
const mostStandings = 1_000;

/** All channels are ready. */
export function channelHealth(
  clock: Clock,
  random: () => number,
  emit: EventListener,
): ChannelHealth {
  const accounts = new Map<string, Account>();

  const accountOf = (channelId: string): Account => {
    const known = accounts.get(channelId);
    if (known !== undefined) return known;
    if (accounts.size >= mostAccounts) dropOne(accounts, mayGo);
    const account: Account = {
      isOff: false,
      inFlight: 0,
      refused: undefined,
      forbiddenModel: undefined,
      standings: undefined,
    };
    accounts.set(channelId, account);
    return account;
  };

  const tell = (
    channelId: string,
    upstreamModel: string | undefined,
    { state, reason, untilMs }: PlaceStatus,
  ): void => {
    emit({ type: 'channel_changed', channelId, upstreamModel, state, reason, untilMs });
  };

  /** Puts a standing in place of another, and tells the host where that makes a difference. */
  const put = (channelId: string, upstreamModel: string | undefined, after: Standing): void => {
    const account = accountOf(channelId);
    const before = standingOf(account, upstreamModel);
    if (after === before) return;
    const standings = account.standings ?? new Map<string | undefined, Standing>();
    standings.delete(upstreamModel);
    if (after !== goodStanding) {
      if (standings.size >= mostStandings) dropOne(standings, () => true);
      standings.set(upstreamModel, after);
    }
    account.standings = standings.size === 0 ? undefined : standings;
    if (before.pause?.state === after.pause?.state) return;
    tell(channelId, upstreamModel, placeStatus(after.pause, clock));
  };

  const accept = (channelId: string, account: Account): void => {
    account.refused = undefined;
    tell(channelId, undefined, placeStatus(standingOf(account, undefined).pause, clock));
  };

  const refuse = ({ id, credential }: Channel, reason: string): void => {
    const account = accountOf(id);
    if (typeof credential !== 'string') {
      const asked = { reason, forMs: rotatingRestMs, yields: false };
      const moment = { begun: undefined, nowMs: clock.monotonicMs() };
      return put(id, undefined, afterRest(standingOf(account, undefined), asked, moment));
    }
    if (account.refused?.credential === credential) return;
    account.refused = { credential, reason };
    tell(id, undefined, { state: 'refused', reason, untilMs: undefined });
  };

  const beginAt = (
    account: Account,
    { id }: Channel,
    upstreamModel: string | undefined,
  ): Pause | undefined => {
    if (account.standings === undefined) return undefined;
    put(id, upstreamModel, atBegin(standingOf(account, upstreamModel), clock.monotonicMs()));
    return standingOf(account, upstreamModel).pause;
  };

  const each = (
    { account, channel, upstreamModel, begunAccount, begunModel }: Visit,
    rule: (standing: Standing, begun: Pause | undefined) => Standing,
  ): void => {
    // No rule finds anything against what nothing stands against.
    if (account.standings === undefined) return;
    put(channel.id, undefined, rule(standingOf(account, undefined), begunAccount));
    put(channel.id, upstreamModel, rule(standingOf(account, upstreamModel), begunModel));
  };

  const note = (
    { account, channel, upstreamModel, begunAccount, begunModel }: Visit,
    verdict: Extract<Verdict, { readonly where: Place }>,
  ): void => {
    const isAccount = verdict.where === 'account';
    const place = isAccount ? undefined : upstreamModel;
    const begun = isAccount ? begunAccount : begunModel;
    const moment = { begun, nowMs: clock.monotonicMs(), random };
    const standing = standingOf(account, place);
    const after =
      verdict.kind === 'rest'
        ? afterRest(standing, verdict, moment)
        : afterFailure(standing, verdict.reason, moment);
    put(channel.id, place, after);
  };

  const forbid = (visit: Visit, reason: string): void => {
    const { account, upstreamModel } = visit;
    const { forbiddenModel } = account;
    const isOfAccount = forbiddenModel !== undefined && forbiddenModel !== upstreamModel;
    account.forbiddenModel = upstreamModel;
    note(visit, {
      kind: 'rest',
      where: isOfAccount ? 'account' : 'model',
      reason,
      forMs: isOfAccount ? forbiddenAccountMs : forbiddenModelMs,
      yields: true,
    });
  };

  const leaseOf = (visit: Visit): ChannelLease => {
    let ended = false;
    return {
      answered: () => each(visit, afterAnswer),
      end: (verdict) => {
        if (ended) return;
        ended = true;
        visit.account.inFlight -= 1;
        if (verdict.kind === 'served') {
          visit.account.forbiddenModel = undefined;
          return each(visit, afterService);
        }
        if (verdict.kind === 'refused') refuse(visit.channel, verdict.reason);
        else if (verdict.kind === 'forbidden') forbid(visit, verdict.reason);
        else if (verdict.kind !== 'nothing') note(visit, verdict);
        // What the verdict says nothing of has not been proved by it.
        each(visit, afterNothing);
      },
    };
  };

  return {
    availability: (channel, upstreamModel, call) => {
      const account = accounts.get(channel.id);
      if (account === undefined) return open;
      const { isOff, refused, inFlight } = account;
      if (isOff) return { kind: 'out', reason: 'switched_off', untilMs: undefined, yields: false };
      if (refused !== undefined && refused.credential === channel.credential) {
        return { kind: 'out', reason: refused.reason, untilMs: undefined, yields: false };
      }
      if (inFlight >= (channel.maxConcurrentCalls ?? Number.POSITIVE_INFINITY)) return busy;
      if (account.standings === undefined) return open;
      const nowMs = clock.monotonicMs();
      const paused = longer(
        pauseFor(standingOf(account, undefined), nowMs, call),
        pauseFor(standingOf(account, upstreamModel), nowMs, call),
      );
      if (paused === undefined) return open;
      const { state, reason, untilMs, yields } = paused;
      return { kind: 'out', reason, untilMs, yields, isEjected: state !== 'resting' };
    },
    inFlight: ({ id }) => accounts.get(id)?.inFlight ?? 0,
    begin: (channel, upstreamModel) => {
      const { id } = channel;
      const account = accountOf(id);
      account.inFlight += 1;
      if (account.refused !== undefined && account.refused.credential !== channel.credential) {
        accept(id, account);
      }
      const begunAccount = beginAt(account, channel, undefined);
      const begunModel = beginAt(account, channel, upstreamModel);
      return leaseOf({ account, channel, upstreamModel, begunAccount, begunModel });
    },
    statuses: () =>
      [...accounts].map(([channelId, account]) => statusOf(channelId, account, clock)),
    switch: (channelId, to) => {
      checkSwitch(to);
      const account = accountOf(channelId);
      account.isOff = to === 'off';
      account.refused = undefined;
      account.forbiddenModel = undefined;
      account.standings = undefined;
      tell(channelId, undefined, to === 'off' ? switchedOff : placeStatus(undefined, clock));
    },
    reloaded: () => {
      for (const [channelId, account] of accounts) {
        if (account.refused !== undefined) accept(channelId, account);
      }
    },
  };
}

const open: Availability = { kind: 'open' };
const busy: Availability = { kind: 'out', reason: 'busy', untilMs: undefined, yields: false };
const switchedOff: PlaceStatus = { state: 'off', reason: undefined, untilMs: undefined };

function checkSwitch(to: unknown): void {
  if (to === 'on' || to === 'off') return;
  throw new ConfigurationError("switchChannel: the second argument must be 'on' or 'off'.");
}

function standingOf({ standings }: Account, upstreamModel: string | undefined): Standing {
  return standings?.get(upstreamModel) ?? goodStanding;
}

function mayGo({ isOff, inFlight }: Account): boolean {
  return !isOff && inFlight === 0;
}

function dropOne<Name, T>(map: Map<Name, T>, isOne: (value: T) => boolean): void {
  for (const [name, value] of map) {
    if (isOne(value)) {
      map.delete(name);
      return;
    }
  }
}

/** The pause that a call has to wait for; one that yields to nobody stands before one that does. */
function longer(a: Pause | undefined, b: Pause | undefined): Pause | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  if (a.yields !== b.yields) return a.yields ? b : a;
  return a.untilMs > b.untilMs ? a : b;
}

function statusOf(channelId: string, account: Account, clock: Clock): ChannelStatus {
  const { isOff, refused, standings, inFlight } = account;
  const own = isOff
    ? switchedOff
    : refused === undefined
      ? current(standingOf(account, undefined).pause, clock)
      : { state: 'refused' as const, reason: refused.reason, untilMs: undefined };
  const models = [...(standings ?? [])].flatMap(([upstreamModel, { pause }]) =>
    upstreamModel === undefined ? [] : [{ upstreamModel, ...current(pause, clock) }],
  );
  return { channelId, inFlight, ...own, models: models.filter(({ state }) => state !== 'ready') };
}

/** A rest that is over is over, though no call has come since to see it. */
function current(pause: Pause | undefined, clock: Clock): PlaceStatus {
  const isOver = pause?.state === 'resting' && clock.monotonicMs() >= pause.untilMs;
  return placeStatus(isOver ? undefined : pause, clock);
}

function placeStatus(pause: Pause | undefined, clock: Clock): PlaceStatus {
  if (pause === undefined) return { state: 'ready', reason: undefined, untilMs: undefined };
  const { state, reason, untilMs } = pause;
  const inMs = untilMs - clock.monotonicMs();
  const backAtMs = Math.round(clock.now() + inMs);
  return { state, reason, untilMs: state === 'probing' ? undefined : backAtMs };
}
