/** Whole replies of warm contenders: what a call costs. */
import {
  chatCall,
  embeddingsCall,
  messagesCall,
  modelId,
  nativeCall,
  responsesCall,
} from '../lib/calls.mjs';
import {
  at32,
  besideRelay,
  both,
  chat,
  contender,
  cpuOfCall,
  each,
  floor,
  gateway,
  nginx,
  noListener,
  relay,
  tollgate,
  watched,
} from './shared.mjs';

export const chats = {
  name: 'chat',
  title: 'Chats of 1 KB on node:http',
  loads: [
    {
      label: '32 callers',
      entries: each(chat, [
        ...[...nginx, relay, floor, tollgate, noListener],
        ...[watched('Prometheus', 'prometheus'), watched('OpenTelemetry', 'opentelemetry'), both],
      ]),
      baseline: 'relay',
      shape: at32,
      figures: [cpuOfCall({ Tollgate: { ratio: 1.5 }, [both.name]: { ratio: 2.2 } })],
    },
    {
      label: 'one caller',
      entries: each(chat, [...nginx, relay, floor, tollgate, noListener]),
      baseline: 'relay',
      shape: { ...at32, connections: 1 },
      figures: [
        cpuOfCall(),
        {
          ...{ of: 'latencyMillis', label: 'latency, p50', unit: 'ms', above: true },
          goals: { Tollgate: { above: 0.1 } },
        },
      ],
    },
  ],
};

export const onHost = (name, host) => ({
  name: `Tollgate on ${name}`,
  on: gateway({ host }),
  call: chat,
});

export const hosts = {
  name: 'hosts',
  title: 'Chats of 1 KB in other hosts',
  loads: [
    {
      label: '32 callers',
      entries: [
        { ...relay, call: chat },
        onHost('Koa 3', 'koa'),
        onHost('Fastify 5', 'fastify'),
        onHost('Express 4', 'express4'),
        onHost('Express 5', 'express5'),
        onHost('Express 5, server of its own classes', 'express5, own classes'),
        { name: 'relay on Hono', on: contender('hono-relay'), call: chat },
        { ...onHost('Hono', 'hono'), baseline: 'relay on Hono' },
      ],
      baseline: 'relay',
      shape: at32,
      figures: [
        cpuOfCall({
          'Tollgate on Koa 3': { ratio: 1.7 },
          'Tollgate on Fastify 5': { ratio: 1.8 },
          'Tollgate on Express 4': { ratio: 2.6 },
          'Tollgate on Express 5': { ratio: 3 },
          'Tollgate on Hono': { ratio: 1.7 },
        }),
      ],
    },
  ],
};

/** Slow ones are warmed up by fewer calls: 5,000 take Portkey ten seconds. */
const slow = (name, module, headers) => ({ name, on: { module, headers }, mostWarmUpCalls: 5_000 });
const portkeyHeaders = (upstreamPort) => ({
  'x-portkey-provider': 'openai',
  'x-portkey-custom-host': `http://127.0.0.1:${upstreamPort}/set/v1`,
});

export const peers = {
  name: 'peers',
  title: 'Chats of 1 KB through other gateways and proxies',
  loads: [
    {
      label: '32 callers',
      entries: each(chat, [
        ...[relay, tollgate],
        { name: '@fastify/http-proxy', on: contender('fastify-http-proxy') },
        { name: 'http-proxy-middleware on Express 5', on: contender('http-proxy-middleware') },
        slow('Express 5 + fetch by hand', 'express-fetch'),
        slow('Portkey', 'portkey', portkeyHeaders),
      ]),
      baseline: 'relay',
      shape: at32,
      rounds: 8,
      figures: [cpuOfCall()],
    },
  ],
};

/** 4,000 calls of 24,000 numbers each warm up enough. */
const fewer = (entry) => ({ ...entry, mostWarmUpCalls: 4_000 });

export const apis = {
  name: 'apis',
  title: 'Every API, relayed and translated, 1 KB',
  description:
    '16 embeddings of 1,536 dimensions are a reply of 131 KB in Base64, and of 500 KB as numbers. ' +
    'The relay of a translated call relays a reply in the form of its caller.',
  loads: [
    {
      label: 'whole reply, 32 callers',
      entries: [
        ...besideRelay('native', nativeCall(), { dialect: 'gemini' }),
        ...besideRelay('Messages', messagesCall(), { dialect: 'anthropic' }),
        ...besideRelay('Responses', responsesCall()),
        ...besideRelay('embeddings, 16 inputs', embeddingsCall()),
        ...besideRelay('chat → Gemini', chatCall(), { dialect: 'gemini' }),
        ...besideRelay('chat → Anthropic', chatCall(), { dialect: 'anthropic' }),
        ...besideRelay('Messages → OpenAI', messagesCall()),
      ],
      shape: at32,
      rounds: 10,
      figures: [
        cpuOfCall({
          native: { ratio: 1.6 },
          Messages: { ratio: 1.6 },
          Responses: { ratio: 1.7 },
          'embeddings, 16 inputs': { ratio: 1.7 },
          'chat → Gemini': { ratio: 3 },
          'chat → Anthropic': { ratio: 3 },
        }),
      ],
    },
    {
      label: 'whole reply, 32 callers',
      entries: besideRelay('embeddings as numbers', embeddingsCall({ format: 'float' })).map(fewer),
      as: '/floats',
      warmUpAs: '/floats',
      shape: at32,
      figures: [cpuOfCall()],
    },
  ],
};

export const bodies = {
  name: 'bodies',
  title: 'Request bodies of 100 KB and 5 MB, a Base64 image in a chat',
  warmUp: { call: chat },
  loads: [
    {
      label: '100 KB',
      entries: each(chatCall({ imageBytes: 100_000 }), [...nginx, relay, floor, tollgate]),
      baseline: 'relay',
      moreCalls: 4_000,
      shape: { ...at32, durationMs: 600 },
      figures: [cpuOfCall({ Tollgate: { value: 230 } })],
    },
    {
      label: '5 MB',
      entries: each(chatCall({ imageBytes: 5_000_000 }), [...nginx, relay, floor, tollgate]),
      baseline: 'relay',
      moreCalls: 200,
      shape: { connections: 4, durationMs: 1_200 },
      rounds: 8,
      figures: [cpuOfCall({ Tollgate: { ratio: 1.25 } })],
    },
  ],
};

const modelOfMany = chatCall({ model: `${modelId}-{m}` });
const growthOf = (label, call, baseline, entries) => ({
  label,
  entries: entries.map(([name, options]) => ({ name, on: gateway(options), call, shape: options })),
  baseline,
  shape: at32,
  figures: [cpuOfCall({ [entries[1][0]]: { ratio: 1.1 } })],
});

export const growth = {
  name: 'growth',
  title: 'Cost as keys, models and channels grow',
  loads: [
    growthOf('keys', chat, '10 keys', [
      ['10 keys', { keys: 10 }],
      ['100,000 keys', { keys: 100_000 }],
    ]),
    growthOf('models', modelOfMany, '10 models', [
      ['10 models', { models: 10 }],
      ['10,000 models', { models: 10_000 }],
    ]),
    growthOf('channels', chat, 'one channel', [
      ['one channel', { channels: 1 }],
      ['1,000 channels', { channels: 1_000 }],
    ]),
  ],
};

const stored = (name, store) => ({ name, on: gateway({ store }) });

export const stores = {
  name: 'stores',
  title: 'Quota in SQLite, Redis and PostgreSQL',
  description:
    'CPU of the gateway, without that of the servers, which counts as foreign load. SQLite and ' +
    'PostgreSQL also keep the usage log. No disk is waited for.',
  warmUp: { calls: 10_000 },
  loads: [
    {
      label: '32 callers',
      entries: each(chat, [
        stored('memory', 'memory'),
        stored('SQLite', 'sqlite'),
        stored('Redis', 'redis'),
        stored('PostgreSQL', 'postgres'),
      ]),
      baseline: 'memory',
      shape: { ...at32, durationMs: 1_000 },
      rounds: 8,
      figures: [cpuOfCall(), { of: 'perSecond', label: 'calls', unit: '/s' }],
    },
  ],
};
