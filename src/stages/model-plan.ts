/**
 * What the configuration says of a model and of the ways to its upstreams, worked out once and not
 * with every call: merged waits, addresses, headers, and the channels that may serve a group.
 */
import type { Framing } from '../call.ts';
import type { Dialect } from '../dialects/dialect.ts';
import type { DialectTable } from '../dialects/table.ts';
import type { NoChannelReason } from '../events.ts';
import type { HeaderMap } from '../http.ts';
import type { Settings } from '../options.ts';
import type { Channel, Model, Timeouts } from '../ports/catalog.ts';
import { isServed, type Protocol } from '../protocols/protocol.ts';
import { type Pool, poolOf } from '../upstream/choose.ts';
import type { ErrorRedaction } from './failure.ts';

/** The way to one channel of a model. */
export interface ChannelPlan {
  readonly channel: Channel;
  /** Undefined where a host's catalog names one that is not there. */
  readonly dialect: Dialect | undefined;
  /** How the channel names the model to its upstream. */
  readonly upstreamModel: string;
  /** The channel's own waits, then the model's, then the gateway's. */
  readonly timeouts: Timeouts;
  /** `https://host:port` */
  readonly origin: string;
  /** What of the base URL comes before every path: `/v1`. */
  readonly basePath: string;
  /** What goes with a secret; the same object for the same secret. */
  access(secret: string): Access;
}

/** An account's secret as it is sent, and what of it no caller may read. */
export interface Access {
  readonly secret: string;
  /** All headers of a request, from an allow-list, by how its reply is to be framed. */
  headers(framing: Framing): HeaderMap;
  readonly disclosure: ErrorRedaction;
}

/** A model of the catalog as calls go by it. */
export interface ModelPlan {
  /** How long a call may take over all its tries, in ms. */
  readonly totalMs: number;
  channel(channel: Channel): ChannelPlan;
  /** The channels that may serve a group by a protocol, or why none may. */
  pool(protocol: Protocol, group: string): Pool | NoChannelReason;
}

/** The plans of one gateway. */
export interface ModelPlans {
  /** Made once for each model that the catalog answers, and again when the settings change. */
  of(model: Model, settings: Settings): ModelPlan;
}

/** No model is known yet. */
export function modelPlans(dialects: DialectTable): ModelPlans {
  const plans = new WeakMap<Model, { readonly settings: Settings; readonly plan: ModelPlan }>();
  // Anew with each update: its catalog may have channels that were changed in place.
  const accountsOf = new WeakMap<Settings, (channel: Channel) => Account>();
  return {
    of: (model, settings) => {
      const known = plans.get(model);
      if (known?.settings === settings) return known.plan;
      const account = accountsOf.get(settings) ?? accounts(dialects);
      accountsOf.set(settings, account);
      const timeouts = merged(settings.timeouts, model.timeouts);
      const plan = planOf(model, timeouts, dialects, account);
      plans.set(model, { settings, plan });
      return plan;
    },
  };
}

/** The channel's own part of its plan, which is the same under every model. */
type Account = Pick<ChannelPlan, 'dialect' | 'origin' | 'basePath' | 'access'>;

/** Thousands of models share few accounts: what calls need of those is not made, or kept, twice. */
function accounts(dialects: DialectTable): (channel: Channel) => Account {
  const known = new WeakMap<Channel, Account>();
  return (channel) => {
    const account = known.get(channel) ?? accountOf(channel, dialects);
    known.set(channel, account);
    return account;
  };
}

function planOf(
  model: Model,
  timeouts: Timeouts,
  dialects: DialectTable,
  account: (channel: Channel) => Account,
): ModelPlan {
  const channels = new Map<Channel, ChannelPlan>();
  const pools = new Map<Protocol, Map<string, Pool | NoChannelReason>>();

  const poolFor = (protocol: Protocol, group: string): Pool | NoChannelReason => {
    const isAble = (channel: Channel): boolean => isServed(protocol, dialects[channel.dialect]);
    return poolOf(model.channels, { price: model.price, group, isAble });
  };

  return {
    totalMs: timeouts.totalMs,
    channel: (channel) => {
      const known = channels.get(channel);
      if (known !== undefined) return known;
      const plan = channelPlanOf(channel, model, timeouts, account(channel));
      channels.set(channel, plan);
      return plan;
    },
    pool: (protocol, group) => {
      const byGroup = pools.get(protocol) ?? new Map<string, Pool | NoChannelReason>();
      const known = byGroup.get(group);
      if (known !== undefined) return known;
      const pool = poolFor(protocol, group);
      pools.set(protocol, byGroup.set(group, pool));
      return pool;
    },
  };
}

function channelPlanOf(
  channel: Channel,
  model: Model,
  timeouts: Timeouts,
  { dialect, origin, basePath, access }: Account,
): ChannelPlan {
  return {
    channel,
    dialect,
    upstreamModel: channel.upstreamModel ?? model.id,
    timeouts: merged(timeouts, channel.timeouts),
    origin,
    basePath,
    access,
  };
}

function merged(timeouts: Timeouts, own: Partial<Timeouts> | undefined): Timeouts {
  return own === undefined ? timeouts : { ...timeouts, ...own };
}

function accountOf(channel: Channel, dialects: DialectTable): Account {
  const dialect = dialects[channel.dialect];
  const { origin, basePath } = splitBaseUrl(channel.baseUrl);
  let last: { readonly secret: string; readonly access: Access } | undefined;
  return {
    dialect,
    origin,
    basePath,
    access: (secret) => {
      // Secrets rotate one by one: the one before is not asked for again.
      if (last?.secret !== secret) last = { secret, access: accessOf(channel, dialect, secret) };
      return last.access;
    },
  };
}

function accessOf(channel: Channel, dialect: Dialect | undefined, secret: string): Access {
  const withAccept = (accept: string): HeaderMap => ({
    'content-type': 'application/json',
    accept,
    'accept-encoding': 'identity',
    'user-agent': 'tollgate',
    ...lowerCased(channel.headers),
    ...dialect?.credential(secret),
  });
  const ofDocuments = withAccept('application/json');
  const ofEvents = withAccept(dialect?.streams.contentType ?? 'text/event-stream');
  return {
    secret,
    headers: (framing) => (framing === 'sse' ? ofEvents : ofDocuments),
    disclosure: {
      hideErrors: channel.hideErrors === true,
      secrets: secretsOf(channel, secret),
      rejectsBeforeWork: channel.rejectsBeforeWork === true,
    },
  };
}

const leastSecretChars = 6;

/**
 * What an upstream may echo and no caller may read. A header's value may be a tenant's token; one
 * that is shorter than any secret would only tear holes into words.
 */
function secretsOf({ baseUrl, headers = {} }: Channel, secret: string): readonly string[] {
  const values = Object.values(headers).flatMap((value) => [value, ...value.split(' ').slice(1)]);
  const told = values.filter(({ length }) => length >= leastSecretChars);
  // The longest first: one may be part of another.
  return [secret, baseUrl, ...told].sort((a, b) => b.length - a.length);
}

/** A host may write `X-Goog-Api-Key`: two spellings of one name would go out as two headers. */
function lowerCased(headers: Channel['headers'] = {}): HeaderMap {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
}

/** `https://host:port` and `/v1`, from a base URL that was checked when the catalog was made. */
function splitBaseUrl(baseUrl: string): Pick<ChannelPlan, 'origin' | 'basePath'> {
  const slash = baseUrl.indexOf('/', baseUrl.indexOf('://') + 3);
  if (slash === -1) return { origin: baseUrl, basePath: '' };
  return { origin: baseUrl.slice(0, slash), basePath: baseUrl.slice(slash).replace(/\/+$/, '') };
}
