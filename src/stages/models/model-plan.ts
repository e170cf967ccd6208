/**
 * Computes once what the configuration determines for a model and its channels, so that no call has
 * to: merged timeouts, addresses, headers, and the channels that may serve a group.
 */
import type { Framing, OperationName } from '../../apis.ts';
import type { Call } from '../../call.ts';
import { capabilitiesOf, type ResolvedCapabilities } from '../../dialects/capabilities.ts';
import { type Dialect, upstreamPath } from '../../dialects/dialect.ts';
import { type AccountSecret, type CredentialForm, secretParts } from '../../dialects/hosting.ts';
import type { DialectTable } from '../../dialects/table.ts';
import { UpstreamError } from '../../errors.ts';
import type { NoChannelReason } from '../../failure-reasons.ts';
import type { HeaderMap } from '../../http.ts';
import type { Nanos } from '../../money.ts';
import type { Settings } from '../../options.ts';
import { Platforms } from '../../platforms/table.ts';
import type { MaybePromise } from '../../ports/call-options.ts';
import type { Channel, Model } from '../../ports/models/catalog.ts';
import type { Timeouts } from '../../ports/timeouts.ts';
import { mostExpensiveInput, mostExpensiveUnit, usualCost } from '../../prices/cost.ts';
import { isRelayed, isServed, type Protocol } from '../../protocols/protocol.ts';
import { nameOf } from '../../upstream/accounts.ts';
import { type Pool, poolOf } from '../../upstream/choose.ts';
import type { ErrorRedaction } from '../upstream/failure.ts';
import type { AccountSecrets } from '../upstream/upstream-text.ts';

export interface ChannelPlan {
  readonly channel: Channel;
  /** Undefined if a host's catalog names an unknown dialect. */
  readonly dialect: Dialect | undefined;
  /** The account's name for the model. */
  readonly upstreamModel: string;
  /** Undefined without a dialect. */
  readonly capabilities: ResolvedCapabilities | undefined;
  /** The channel's timeouts, then the model's, then the gateway's. */
  readonly timeouts: Timeouts;
  /** `https://host:port` */
  readonly origin: string;
  /** The path of the base URL, which comes before every path: `/v1`. */
  readonly basePath: string;
  /** The name of the model on the account, among those of all channels. */
  readonly activityName: string;
  /** The channel's own headers, in lower case. */
  readonly ownHeaders: HeaderMap;
  /** Whether calls of the protocol are relayed, and not translated. */
  isRelayed(protocol: Protocol, operation: Call['operation']): boolean;
  /**
   * Path and query of a relayed call, below the base URL; undefined for a translated one.
   *
   * @throws GatewayError `not_implemented` if the provider does not support the operation
   */
  relayPath(protocol: Protocol, call: Pick<Call, 'operation' | 'framing'>): string | undefined;
  /** Returns what depends on the secret; cached for the latest secret. */
  access(secret: string, form?: CredentialForm): Access;
  /** The texts of the account that no log may have: its latest secret, and those in its headers. */
  secrets(): readonly string[];
}

export interface Access extends AccountSecret {
  /** By the framing of the requested reply. The caller's own headers are not forwarded. */
  readonly headers: Readonly<Record<Framing, HeaderMap>>;
  readonly redaction: ErrorRedaction;
}

export interface ModelPlan {
  /** How long a call may take over all its attempts, in ms. */
  readonly totalMs: number;
  /** The longest time that any of its channels may take, in ms. A fallback gets no more. */
  readonly longestMs: number;
  channel(channel: Channel): ChannelPlan;
  pool(protocol: Protocol, group: string): Pool | NoChannelReason;
}

export interface ModelPlans {
  /**
   * The plan of a model, made once for each model object and again when the settings change. A
   * promise while the code of a platform is loaded that one of its channels is on.
   */
  of(model: Model, settings: Settings): MaybePromise<ModelPlan>;
}

export function modelPlans(dialects: DialectTable): ModelPlans {
  const platforms = new Platforms();
  const plans = new WeakMap<Model, { readonly settings: Settings; readonly plan: ModelPlan }>();
  // New for each version of the settings, whose catalog may have channels that were changed in
  // place.
  const accountsOf = new WeakMap<Settings, (channel: Channel) => Account>();
  const of: ModelPlans['of'] = (model, settings) => {
    const known = plans.get(model);
    if (known?.settings === settings) return known.plan;
    const loading = platforms.load(model);
    if (loading !== undefined) return loading.then(() => of(model, settings));
    const account = accountsOf.get(settings) ?? accounts(dialects, platforms);
    accountsOf.set(settings, account);
    const timeouts = merged(settings.timeouts, model.timeouts);
    const plan = planOf(model, timeouts, account);
    plans.set(model, { settings, plan });
    return plan;
  };
  return { of };
}

/** The part of a channel's plan that is the same under every model. */
type Account = Pick<
  ChannelPlan,
  'dialect' | 'origin' | 'basePath' | 'ownHeaders' | 'access' | 'secrets'
>;

/** Caches the account of each channel: thousands of models may share few channels. */
function accounts(dialects: DialectTable, platforms: Platforms): (channel: Channel) => Account {
  const known = new WeakMap<Channel, Account>();
  return (channel) => {
    const account = known.get(channel) ?? accountOf(channel, dialects, platforms);
    known.set(channel, account);
    return account;
  };
}

function planOf(
  model: Model,
  timeouts: Timeouts,
  account: (channel: Channel) => Account,
): ModelPlan {
  const channels = new Map<Channel, ChannelPlan>();
  const pools = new Map<Protocol, Map<string, Pool | NoChannelReason>>();

  const poolFor = (protocol: Protocol, group: string): Pool | NoChannelReason => {
    const isAble = (channel: Channel): boolean => isServed(protocol, account(channel).dialect);
    const { hasOutputTokens } = protocol.operation;
    const unitNanos = (hasOutputTokens ? mostExpensiveUnit : mostExpensiveInput)(model.price);
    const costOf = ({ cost }: Channel): Nanos | undefined =>
      cost === undefined || cost === 'reported' ? undefined : usualCost(cost, hasOutputTokens);
    return poolOf(model.channels, { unitNanos, group, isAble, prefer: model.prefer, costOf });
  };

  return {
    totalMs: timeouts.totalMs,
    longestMs: longestOf(timeouts, model),
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
  { dialect, origin, basePath, ownHeaders, access, secrets }: Account,
): ChannelPlan {
  const upstreamModel = channel.upstreamModel ?? model.id;
  return {
    channel,
    dialect,
    upstreamModel,
    capabilities:
      dialect && capabilitiesOf(dialect.capabilities, upstreamModel, channel.capabilities),
    timeouts: merged(timeouts, channel.timeouts),
    origin,
    basePath,
    activityName: nameOf(channel.id, upstreamModel),
    ownHeaders,
    ...relaysOf(channel, dialect, upstreamModel),
    access,
    secrets,
  };
}

interface Relay {
  readonly isRelayed: boolean;
  readonly paths: Partial<Record<OperationName, Partial<Record<Framing, string>>>>;
}

function relaysOf(
  channel: Channel,
  dialect: Dialect | undefined,
  upstreamModel: string,
): Pick<ChannelPlan, 'isRelayed' | 'relayPath'> {
  const relays = new Map<Protocol, Relay>();
  const relayOf = (protocol: Protocol): Relay => {
    const known = relays.get(protocol);
    if (known !== undefined) return known;
    const relayed = dialect !== undefined && isRelayed(protocol, dialect, channel, upstreamModel);
    const relay = { isRelayed: relayed, paths: {} };
    relays.set(protocol, relay);
    return relay;
  };
  return {
    isRelayed: (protocol, { name }) =>
      relayOf(protocol).isRelayed && dialect?.hosting?.relays?.(name) !== false,
    relayPath: (protocol, call) => {
      const relay = relayOf(protocol);
      const { operation, framing } = call;
      if (dialect === undefined || !relay.isRelayed) return undefined;
      if (dialect.hosting?.relays?.(operation.name) === false) return undefined;
      const { paths } = relay;
      const known = paths[operation.name]?.[framing];
      if (known !== undefined) return known;
      const path = upstreamPath(dialect, call, upstreamModel, protocol.relay.paths);
      paths[operation.name] = { ...paths[operation.name], [framing]: path };
      return path;
    },
  };
}

function longestOf({ totalMs }: Timeouts, { channels }: Model): number {
  return Math.max(totalMs, ...channels.map(({ timeouts }) => timeouts?.totalMs ?? 0));
}

function merged(timeouts: Timeouts, overrides: Partial<Timeouts> | undefined): Timeouts {
  return overrides === undefined ? timeouts : { ...timeouts, ...overrides };
}

function accountOf(channel: Channel, dialects: DialectTable, platforms: Platforms): Account {
  const known = dialects[channel.dialect];
  const dialect = known && platforms.host(known, channel);
  const { origin, basePath } = splitBaseUrl(channel.baseUrl);
  const ownHeaders = lowerCased(channel.headers);
  let last: Access | undefined;
  return {
    dialect,
    origin,
    basePath,
    ownHeaders,
    access: (secret, form = 'secret') => {
      // Only the latest secret is cached, because a rotated secret is not used again.
      if (last?.secret !== secret || last.form !== form) {
        // What was used last may be quoted still: after a refusal it is replaced within one call.
        last = accessOf({ channel, dialect, ownHeaders }, { secret, form }, last);
      }
      return last;
    },
    secrets: () => secretsOf(channel, last).secrets,
  };
}

function accessOf(
  { channel, dialect, ownHeaders }: Pick<ChannelPlan, 'channel' | 'dialect' | 'ownHeaders'>,
  { secret, form }: AccountSecret,
  before: AccountSecret | undefined,
): Access {
  // Anywhere else they would be sent as they are, to whoever is at the base URL.
  if (form === 'aws' && dialect?.hosting?.sign === undefined) {
    const cause = new TypeError('keys of AWS are for channels on the platform bedrock');
    throw new UpstreamError('connect', 'credential_unavailable', { cause });
  }
  const { withheld = [] } = dialect?.hosting ?? {};
  const sent = Object.entries(ownHeaders).filter(([name]) => !withheld.includes(name));
  const authorization = dialect?.credential(secret, form);
  const withAccept = (accept: string): HeaderMap => ({
    'content-type': 'application/json',
    accept,
    'accept-encoding': 'identity',
    'user-agent': 'tollgate',
    ...Object.fromEntries(sent),
    ...authorization,
  });
  const documentHeaders = withAccept('application/json');
  const eventHeaders = withAccept(dialect?.streams.contentType ?? 'text/event-stream');
  return {
    secret,
    form,
    headers: { json: documentHeaders, json_array: documentHeaders, sse: eventHeaders },
    redaction: {
      ...secretsOf(channel, { secret, form }, before),
      hideErrors: channel.hideErrors === true,
      rejectsBeforeWork: channel.rejectsBeforeWork === true,
    },
  };
}

/** A shorter value of a header is no secret, and would be found in ordinary texts. */
const minSecretChars = 8;

function secretsOf(
  { baseUrl, headers = {} }: Channel,
  account: AccountSecret | undefined,
  before?: AccountSecret,
): AccountSecrets {
  const values = Object.values(headers).filter(({ length }) => length >= minSecretChars);
  const { host, hostname } = new URL(baseUrl);
  // Without a dot it may be a common word, such as the `vllm` of a container.
  return {
    secrets: [...secretParts(account), ...secretParts(before), ...values],
    host: hostname.includes('.') ? hostname : host,
  };
}

/** A host may write `X-Goog-Api-Key`; two spellings of one name would be sent as two headers. */
function lowerCased(headers: Channel['headers'] = {}): HeaderMap {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
}

/** Splits a base URL, which was checked with the catalog, into `https://host:port` and `/v1`. */
function splitBaseUrl(baseUrl: string): Pick<ChannelPlan, 'origin' | 'basePath'> {
  const slash = baseUrl.indexOf('/', baseUrl.indexOf('://') + 3);
  if (slash === -1) return { origin: baseUrl, basePath: '' };
  return {
    origin: baseUrl.slice(0, slash),
    basePath: baseUrl.slice(slash).replace(/(?<!\/)\/+$/, ''),
  };
}
