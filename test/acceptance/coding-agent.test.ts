// suite: slow host
/**
 * The session of a coding agent, over Anthropic, a chat upstream and Google: a probe, a count, a
 * conversation with two rounds of parallel calls, and background requests to a small model. The
 * fake upstreams refuse what the real ones refuse.
 */
import { createServer } from 'node:http';
import { nodeAdapter } from 'tollgate/node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { items, type JsonObject, type JsonValue, member, parseJson } from '../../src/json.ts';
import { bedrock } from '../../src/platforms/bedrock/bedrock.ts';
import { azure, vertex } from '../../src/platforms/places.ts';
import type { DialectName } from '../../src/ports/models/capabilities.ts';
import type { Channel, Model } from '../../src/ports/models/catalog.ts';
import type { FakeUpstream, RecordedCall } from '../../src/testing/index.ts';
import { brokenLaws, foldedMessage, messagesEvents } from '../support/laws/messages-laws.ts';
import {
  type UnmountedGateway,
  unmountedGateway,
  upstreamSecret,
} from '../support/mounted-gateway.ts';
import { closed, listening } from '../support/servers.ts';
import {
  agentHeaders,
  backgroundRequest,
  betas,
  billingLine,
  countRequest,
  mainRequest,
  ownKey,
  probeRequest,
  session,
} from './agent-requests.ts';

interface UpstreamOfAgent {
  readonly name: string;
  readonly dialect: DialectName;
  readonly main: string;
  readonly small: string;
  readonly place: (fake: FakeUpstream) => Partial<Channel> & Pick<Channel, 'baseUrl'>;
}

const upstreams: readonly UpstreamOfAgent[] = [
  {
    name: 'anthropic',
    dialect: 'anthropic',
    main: 'claude-opus-5-redacted-agent-2',
    small: 'claude-haiku-5',
    place: (fake) => ({ baseUrl: fake.anthropicBaseUrl }),
  },
  {
    name: 'openai',
    dialect: 'openai',
    main: 'gpt-4.1-agent-2',
    small: 'gpt-4.1-mini',
    place: (fake) => ({ baseUrl: fake.openaiBaseUrl }),
  },
  {
    name: 'gemini',
    dialect: 'gemini',
    main: 'gemini-3-agent-2',
    small: 'gemini-3-flash',
    place: (fake) => ({ baseUrl: fake.geminiBaseUrl }),
  },
  {
    name: 'Claude on Vertex AI',
    dialect: 'anthropic',
    main: 'claude-opus-5-redacted-agent-2',
    small: 'claude-haiku-5',
    place: (fake) => onVertex('anthropic', fake),
  },
  {
    name: 'Gemini on Vertex AI',
    dialect: 'gemini',
    main: 'gemini-3-agent-2',
    small: 'gemini-3-flash',
    place: (fake) => onVertex('google', fake),
  },
  {
    name: 'Bedrock mantle',
    dialect: 'anthropic',
    main: 'claude-opus-5-redacted-agent-2',
    small: 'claude-haiku-5',
    place: (fake) => onBedrock('mantle', fake),
  },
  {
    name: 'Bedrock runtime',
    dialect: 'anthropic',
    main: 'claude-opus-5-redacted-agent-2',
    small: 'claude-haiku-5',
    place: (fake) => onBedrock('runtime', fake),
  },
  {
    name: 'Claude Platform on AWS',
    dialect: 'anthropic',
    main: 'claude-opus-5-redacted-agent-2',
    small: 'claude-haiku-5',
    // The paths and credentials of mantle are the same.
    place: ({ bedrockBaseUrls: { mantle: baseUrl } }) =>
      bedrock({ kind: 'anthropic', region: 'us-east-1', workspaceId: 'wrkspc_1', baseUrl }),
  },
  {
    name: 'Claude on Foundry',
    dialect: 'anthropic',
    main: 'claude-opus-5-redacted-agent-2',
    small: 'claude-haiku-5',
    place: ({ origin }) => azure({ kind: 'anthropic', baseUrl: origin }),
  },
  {
    name: 'a chat upstream by deployment on Azure',
    dialect: 'openai',
    main: 'gpt-4.1-agent-2',
    small: 'gpt-4.1-mini',
    place: ({ origin }) =>
      azure({ kind: 'deployments', apiVersion: '2024-10-21', baseUrl: origin }),
  },
];

function onVertex(kind: 'google' | 'anthropic', { vertexBaseUrl }: FakeUpstream) {
  return vertex({ kind, project: 'p', location: 'us-east5', baseUrl: vertexBaseUrl });
}

function onBedrock(kind: 'mantle' | 'runtime', { bedrockBaseUrls }: FakeUpstream) {
  return bedrock({ kind, region: 'us-east-1', baseUrl: bedrockBaseUrls[kind] });
}

function modelsOf(upstream: UpstreamOfAgent, fake: FakeUpstream): readonly Model[] {
  return (['main', 'small'] as const).map((id) => ({
    id: `claude-${id}`,
    protocols: ['messages'],
    groups: ['chat'],
    price: { per: 'token', rates: { input: 1_000_000n, output: 4_000_000n } },
    maxOutputTokens: 64_000,
    contextTokens: 200_000,
    channels: ['one', 'two', 'three'].map((account) => ({
      id: `${id}-${account}`,
      dialect: upstream.dialect,
      ...upstream.place(fake),
      credential: upstreamSecret,
      upstreamModel: upstream[id],
      capabilities: upstream.dialect === 'openai' ? { responses: false } : {},
      stickyBy: 'session' as const,
    })),
  }));
}

describe.each(upstreams)('over $name', (upstream) => {
  const isRelayed = upstream.dialect === 'anthropic';
  let harness: UnmountedGateway;
  let origin: string;
  let close: () => Promise<void>;

  beforeEach(async () => {
    harness = await unmountedGateway({}, (fake) => modelsOf(upstream, fake));
    const gateway = nodeAdapter(harness.gateway);
    // `HEAD /` asks whether anything is there; the path belongs to the host.
    const server = createServer((request, response) => {
      if (request.url === '/') response.writeHead(200).end();
      else void gateway(request, response);
    });
    origin = await listening(server);
    close = async () => {
      await closed(server);
      await harness.close();
    };
  });
  afterEach(() => close());

  const send = (path: string, body: JsonObject): Promise<Response> =>
    fetch(`${origin}${path}`, {
      method: 'POST',
      headers: agentHeaders(harness.secrets.chat),
      body: JSON.stringify(body),
    });

  /** One streamed request: the whole message, whose stream keeps the laws. */
  async function streamed(body: JsonObject): Promise<{ message: JsonObject; reply: Response }> {
    const reply = await send('/v1/messages?beta=true', body);
    const text = await reply.text();
    expect({ status: reply.status, text: reply.status === 200 ? '' : text }).toEqual({
      status: 200,
      text: '',
    });
    const events = messagesEvents(text);
    expect(brokenLaws(events, { isOwn: !isRelayed })).toEqual([]);
    expect(events.at(-1)?.name).toBe('message_stop');
    return { message: foldedMessage(events), reply };
  }

  /** Runs the conversation until the model stops calling tools; returns all its messages. */
  async function conversation(): Promise<readonly JsonObject[]> {
    const messages: JsonObject[] = [
      { role: 'user', content: [{ type: 'text', text: 'List the files.' }] },
    ];
    for (let request = 0; request < 5; request += 1) {
      const { message } = await streamed(mainRequest('claude-main', messages, request));
      const content = items(message.content);
      messages.push({ role: 'assistant', content });
      if (message.stop_reason !== 'tool_use') return messages;
      messages.push({ role: 'user', content: content.flatMap(resultOf) });
    }
    throw new Error('The model never stopped calling tools.');
  }

  it('answers the probes that an agent starts with', async () => {
    const head = await fetch(`${origin}/`, { method: 'HEAD' });
    const probe = await send('/v1/messages?beta=true', probeRequest('claude-small'));

    expect(head.status).toBe(200);
    expect(probe.status).toBe(200);
    expect(await probe.json()).toMatchObject({ type: 'message', role: 'assistant' });
  });

  it('counts the tokens of what will be sent, for nothing', async () => {
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'List the files.' }] }];

    const reply = await send(
      '/v1/messages/count_tokens?beta=true',
      countRequest('claude-main', messages),
    );

    expect(reply.status).toBe(200);
    expect(member(parseJson(await reply.text()), 'input_tokens')).toBeGreaterThan(0);
    expect(harness.records.filter(({ chargeNanos }) => chargeNanos > 0n)).toEqual([]);
  });

  it('runs two rounds of parallel calls, and then answers', async () => {
    const messages = await conversation();

    const calls = messages
      .flatMap(({ content }) => items(content))
      .filter((block) => member(block, 'type') === 'tool_use');
    expect(calls.map((call) => member(call, 'name'))).toEqual(['Bash', 'Read', 'Bash', 'Read']);
    expect(items(messages.at(-1)?.content).at(-1)).toMatchObject({
      type: 'text',
      text: expect.stringContaining('57'),
    });
    expect(harness.upstream.calls).toHaveLength(3);
  });

  it('stays on one account, and books every request once', async () => {
    await conversation();
    const records = [1, 2, 3].map(() => harness.nextRecord());

    const booked = await Promise.all(records);
    expect(new Set(booked.map(({ channelId }) => channelId)).size).toBe(1);
    for (const record of booked) {
      expect(record).toMatchObject({ booked: true, outcome: 'complete', protocol: 'messages' });
      expect(record.chargeNanos).toBeGreaterThan(0n);
    }
  });

  it('sends up neither the user’s own key, nor the session, nor the agent', async () => {
    await conversation();
    const { message } = await streamed(backgroundRequest('claude-small'));

    expect(items(message.content).at(-1)).toMatchObject({ type: 'text' });
    for (const { headers } of harness.upstream.calls) {
      const sent = JSON.stringify(headers);
      expect(sent).not.toContain(ownKey);
      expect(sent).not.toContain(harness.secrets.chat);
      expect(sent).not.toContain(session);
      expect(
        Object.keys(headers).filter((name) => /^x-(?:stainless|claude|app)/.test(name)),
      ).toEqual([]);
    }
  });

  it.runIf(upstream.name === 'anthropic' || upstream.name === 'Claude on Foundry')(
    'relays every byte, the query and the betas',
    async () => {
      const body = mainRequest('claude-main', [{ role: 'user', content: 'List the files.' }], 7);

      await streamed(body);
      const [call] = harness.upstream.calls;

      expect(call?.path).toMatch(/\/v1\/messages\?beta=true$/);
      expect(call?.headers).toMatchObject({
        'anthropic-version': '2023-06-01',
        'anthropic-beta': betas,
        'x-api-key': upstreamSecret,
      });
      expect(call?.headers.authorization).toBeUndefined();
      expect(call?.body.toString()).toBe(
        JSON.stringify(body).replace('"claude-main"', `"${upstream.main}"`),
      );
    },
  );

  it.runIf(upstream.name === 'Claude on Vertex AI')('keeps all that Vertex knows', async () => {
    const body = mainRequest('claude-main', [{ role: 'user', content: 'List the files.' }], 7);
    const { reply } = await streamed(body);
    const [call] = harness.upstream.calls;
    const { model: _, ...kept } = body;

    expect(reply.headers.get('x-tollgate-dropped')).toBe(null);
    expect(call?.headers['anthropic-beta']).toBe(betas);
    expect(call?.json()).toEqual({ ...kept, anthropic_version: 'vertex-2023-10-16' });
  });

  it.runIf(isRelayed)('sends back signed and encrypted thinking as it was', async () => {
    const messages = await conversation();

    const sent = blocksIn(harness.upstream.calls.at(-1)).filter(isThought);
    const received = messages.slice(0, -1).flatMap(({ content }) => items(content));
    expect(sent).toHaveLength(4);
    expect(sent).toEqual(received.filter(isThought));
  });

  it.runIf(!isRelayed)('leaves out what only Anthropic can use, and says so', async () => {
    const { reply } = await streamed(
      mainRequest('claude-main', [{ role: 'user', content: 'List the files.' }], 7),
    );
    const dropped = reply.headers.get('x-tollgate-dropped')?.split(',') ?? [];
    const sent = harness.upstream.calls[0]?.body.toString() ?? '';

    expect(dropped.toSorted()).toEqual(
      [
        'cache_control',
        'context_management.edits',
        // Google has no ids of end users.
        ...(upstream.dialect === 'gemini' ? ['metadata.user_id'] : []),
        'system[0]',
        // A budget becomes a level, or nothing for models that do not reason.
        'thinking',
      ].toSorted(),
    );
    expect(sent).toContain('You are a coding agent.');
    for (const part of [billingLine(7), 'cache_control', 'eager_input_streaming']) {
      expect(sent).not.toContain(part);
    }
  });

  it('answers errors in Anthropic’s format, with an id', async () => {
    const unknown = await send('/v1/messages?beta=true', probeRequest('claude-none'));
    const batches = await send('/v1/messages/batches?beta=true', {});

    expect(unknown.status).toBe(404);
    expect(await unknown.json()).toMatchObject({
      type: 'error',
      error: { type: 'not_found_error', message: expect.stringContaining('claude-none') },
      request_id: unknown.headers.get('request-id'),
    });
    expect(batches.status).toBe(404);
    expect(await batches.json()).toMatchObject({ error: { type: 'not_found_error' } });
  });
});

function resultOf(block: JsonValue): readonly JsonObject[] {
  if (member(block, 'type') !== 'tool_use') return [];
  const content = [{ type: 'text', text: 'README.md' }];
  return [{ type: 'tool_result', tool_use_id: member(block, 'id') ?? '', content }];
}

function blocksIn(call: RecordedCall | undefined): readonly JsonValue[] {
  return items(member(call?.json(), 'messages')).flatMap((message) =>
    items(member(message, 'content')),
  );
}

function isThought(block: JsonValue): boolean {
  return /thinking$/.test(String(member(block, 'type')));
}
