/** Asks the upstream of each channel for its models, which is free and needs the credential. */
import type { Clock } from '../../clock.ts';
import { dialects } from '../../dialects/table.ts';
import { items, member, parseJson } from '../../json.ts';
import type { Channel, DialectName, Model } from '../../ports/catalog.ts';
import type { UpstreamClient } from '../../ports/upstream-client.ts';
import { undiciClient } from '../../upstream/undici-client.ts';
import type { Finding } from '../output.ts';
import { failureReason, type TextReply, textOfReply } from '../requests.ts';

/** The findings about all channels. A channel that several models use is asked once. */
export async function checkChannels(
  models: readonly Model[],
  clock: Clock,
): Promise<readonly Finding[]> {
  const client = undiciClient();
  try {
    const channels = channelsOf(models);
    const found = await Promise.all(
      [...channels.values()].map((channel) => checkChannel(channel, client, clock)),
    );
    return found.length === 0
      ? [{ state: 'warning', subject: 'catalog', detail: 'no model has a channel' }]
      : found.flat();
  } finally {
    await client.close();
  }
}

/** A channel, and the models that its upstream should list. */
interface CheckedChannel {
  readonly channel: Channel;
  readonly upstreamModels: Set<string>;
}

function channelsOf(models: readonly Model[]): ReadonlyMap<string, CheckedChannel> {
  const found = new Map<string, CheckedChannel>();
  for (const { id, channels } of models) {
    for (const channel of channels) {
      const checked = found.get(channel.id) ?? { channel, upstreamModels: new Set() };
      checked.upstreamModels.add(channel.upstreamModel ?? id);
      found.set(channel.id, checked);
    }
  }
  return found;
}

async function checkChannel(
  { channel, upstreamModels }: CheckedChannel,
  client: UpstreamClient,
  clock: Clock,
): Promise<readonly Finding[]> {
  const subject = `channel ${channel.id}`;
  try {
    const { status, text } = await modelsAt(channel, client, clock);
    if (status === 401 || status === 403) {
      return [{ state: 'failed', subject, detail: `its credential was refused (${status})` }];
    }
    if (status !== 200) {
      const detail = `GET /models answered ${status}: the server may not have it`;
      return [{ state: status >= 500 ? 'failed' : 'warning', subject, detail }];
    }
    return listed(subject, idsIn(text), [...upstreamModels]);
  } catch (error) {
    const detail = `can't be reached (${failureReason(error)})`;
    return [{ state: 'failed', subject, detail }];
  }
}

function listed(
  subject: string,
  ids: ReadonlySet<string>,
  wanted: readonly string[],
): readonly Finding[] {
  const missing = wanted.filter((id) => !ids.has(id));
  if (missing.length === 0) return [{ state: 'ok', subject, detail: 'accepts its credential' }];
  const detail = `accepts its credential, but does not list ${missing.join(', ')}`;
  return [{ state: 'warning', subject, detail }];
}

function idsIn(text: string): ReadonlySet<string> {
  const reply = parseJson(text);
  const list = items(member(reply, 'data') ?? member(reply, 'models'));
  return new Set(
    list.flatMap((model) => {
      const id = member(model, 'id') ?? member(model, 'name');
      return typeof id === 'string' ? [id.replace(/^models\//, '')] : [];
    }),
  );
}

/** The query for the largest page that each provider returns. */
const queries: Readonly<Record<DialectName, string>> = {
  openai: '',
  gemini: '?pageSize=1000',
  anthropic: '?limit=1000',
};

function modelsAt(channel: Channel, client: UpstreamClient, clock: Clock): Promise<TextReply> {
  const { dialect, baseUrl, credential, headers } = channel;
  const { origin, pathname } = new URL(baseUrl);
  const secret = typeof credential === 'string' ? credential : '';
  const request = {
    method: 'GET' as const,
    body: [],
    origin,
    path: `${pathname.replace(/\/$/, '')}/models${queries[dialect]}`,
    headers: { ...dialects[dialect].credential(secret), ...headers, accept: 'application/json' },
  };
  return textOfReply(request, client, clock);
}
