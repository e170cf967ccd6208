/** Streams of warm contenders. */

import { chatCall, messagesCall, nativeCall, responsesCall } from '../lib/calls.mjs';
import { mostStreams } from '../lib/machine.mjs';
import {
  besideRelay,
  burst,
  cpuOfCall,
  cpuOfEvent,
  each,
  firstByte,
  floor,
  gateway,
  inStep,
  noListener,
  paced,
  relay,
  shortStreams,
  streamedChat,
  tollgate,
} from './shared.mjs';

export const streamedApis = {
  name: 'streamed-apis',
  title: 'Every API streamed, 200 events in a burst',
  warmUp: shortStreams,
  loads: [
    {
      label: '200 events and their call',
      entries: [
        ...besideRelay('native', nativeCall({ stream: true }), { dialect: 'gemini' }),
        ...besideRelay('Messages', messagesCall({ stream: true }), { dialect: 'anthropic' }),
        ...besideRelay('Responses', responsesCall({ stream: true })),
        ...besideRelay('chat → Gemini', chatCall({ stream: true }), { dialect: 'gemini' }),
        ...besideRelay('chat → Anthropic', chatCall({ stream: true }), { dialect: 'anthropic' }),
        ...besideRelay('Messages → OpenAI', messagesCall({ stream: true })),
      ],
      as: '/200-0',
      moreCalls: 500,
      shape: burst,
      rounds: 10,
      figures: [cpuOfCall()],
    },
  ],
};

export const streams = {
  name: 'streams',
  title: 'Streamed chats: bursts, and callers in step',
  description: 'In step: eight callers start a stream together, ten times a second.',
  warmUp: shortStreams,
  loads: [
    {
      label: '200 events in a burst and their call',
      entries: each(streamedChat, [relay, floor, tollgate, noListener]),
      baseline: 'relay',
      as: '/200-0',
      moreCalls: 500,
      shape: burst,
      figures: [cpuOfCall({ Tollgate: { ratio: 1.6 } })],
    },
    {
      label: 'eight in step, warmed up',
      entries: each(streamedChat, [relay, floor, tollgate, noListener]),
      baseline: 'relay',
      as: '/5-0',
      shape: inStep(100),
      rounds: 10,
      figures: [firstByte({ Tollgate: { above: 0.4 } }), cpuOfCall()],
    },
  ],
};

export const pacedStreams = {
  name: 'paced',
  title: 'Streamed chats at the pace of a model, an event per 20 ms',
  description:
    'Latency: from the sending of an event in the upstream to its arrival at the caller, on one ' +
    'clock; its baseline is the floor.',
  warmUp: shortStreams,
  loads: [200, 500].map((count) => ({
    label: `${count} streams`,
    entries: each({ ...streamedChat, stamped: true }, [relay, floor, tollgate]),
    baseline: 'relay',
    as: '/100-20-stamped',
    shape: paced(count),
    rounds: 10,
    pace: count * 50,
    figures: [
      cpuOfEvent({ Tollgate: { ratio: count === 200 ? 1.25 : 1.17 } }),
      ...(count === 500
        ? [
            { of: 'eventDelayP50', label: 'latency p50', unit: 'µs', baseline: 'floor' },
            {
              ...{ of: 'eventDelayP99', label: 'latency p99', unit: 'µs', baseline: 'floor' },
              goals: { Tollgate: { ratio: 1.25 } },
            },
          ]
        : []),
    ],
  })),
};

const onExpress = { name: 'Tollgate on Express 5', on: gateway({ host: 'express5' }) };
const slowStreams = Math.min(5_000, mostStreams());

export const manyStreams = {
  name: 'many-streams',
  title: 'Thousands of streams at once',
  description:
    'The delay is that of a 1 ms timer in the host, measured once all streams are open; CPU and ' +
    'memory are those of the whole load.',
  warmUp: { ...shortStreams, calls: 10_000 },
  loads: [
    {
      label: `${slowStreams} streams of an event a second`,
      fresh: true,
      firstLoad: { as: '/10-0', connections: 32, requests: 10_000, events: 10 },
      entries: each(streamedChat, [relay, tollgate]),
      baseline: 'relay',
      as: '/10-1000',
      shape: { connections: slowStreams, requests: slowStreams, events: 10 },
      rounds: 2,
      figures: [
        {
          ...{ of: 'growthKiBEach', label: 'RSS a stream', unit: 'KiB' },
          goals: { Tollgate: { value: 64 } },
        },
        cpuOfEvent(),
      ],
    },
    {
      label: '2,000 streams of an event per 200 ms',
      entries: each(streamedChat, [relay, onExpress]),
      baseline: 'relay',
      as: '/25-200',
      loopDelay: true,
      shape: { connections: 2_000, requests: 2_000, events: 25, settleMs: 1_500 },
      rounds: 4,
      figures: [
        {
          ...{ of: 'loopDelayMs', label: 'event loop delay p99', unit: 'ms', above: true },
          goals: { [onExpress.name]: { above: 10 } },
        },
        cpuOfEvent(),
      ],
    },
  ],
};
