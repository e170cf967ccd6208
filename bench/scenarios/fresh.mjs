/** Contenders that have just started: the first calls, and the memory of images. */
import { imageCall } from '../lib/calls.mjs';
import {
  chat,
  contender,
  each,
  firstByte,
  floor,
  gateway,
  inStep,
  relay,
  streamedChat,
  tollgate,
} from './shared.mjs';

const mebibyte = 1024 * 1024;
const freshRelay = {
  name: 'relay, fresh connections',
  on: contender('relay', { freshConnections: true }),
};
const overGemini = { name: 'Tollgate → Gemini', on: gateway({ dialect: 'gemini' }) };

/** Every image is checked by its length and its end; only the first ones as a whole. */
const imagesOf = ({ mebibytes, connections, figures }) => ({
  label: `${connections} × ${mebibytes} MiB`,
  fresh: true,
  entries: each(imageCall(), [freshRelay, tollgate, overGemini]),
  baseline: freshRelay.name,
  as: `/image-${mebibytes * mebibyte}`,
  shape: { connections, requests: connections * 3 },
  rounds: 5,
  figures: [...figures, { of: 'callMillis', label: 'CPU an image', unit: 'ms' }],
});

export const images = {
  name: 'images',
  title: 'Images of 8 and 48 MiB, many at once',
  description:
    'Three each, one after another, in a process that has just started: a heap that has grown does ' +
    'not shrink. The gateway opens a connection for each image, and so does this relay.',
  loads: [
    imagesOf({
      mebibytes: 8,
      connections: 32,
      figures: [
        {
          ...{ of: 'growthMiB', label: 'RSS growth', unit: 'MiB' },
          goals: { Tollgate: { value: 64 }, [overGemini.name]: { value: 64 } },
        },
      ],
    }),
    imagesOf({
      mebibytes: 48,
      connections: 8,
      figures: [
        {
          ...{ of: 'peakMiB', label: 'peak RSS', unit: 'MiB' },
          goals: { Tollgate: { value: 150 }, [overGemini.name]: { value: 150 } },
        },
      ],
    }),
  ],
};

export const firstCalls = {
  name: 'first-calls',
  title: 'The first calls of a process',
  description:
    'Every measurement has a process of its own. 1,000 chats: eight callers in step, fifty times a ' +
    'second, and the CPU of all these calls together. First byte: 160 streams, twenty times a second.',
  loads: [
    {
      label: 'first 1,000 chats',
      fresh: true,
      entries: each(chat, [relay, floor, tollgate]),
      baseline: 'relay',
      shape: { connections: 8, requests: 1_000, waveMs: 20 },
      rounds: 10,
      figures: [
        {
          ...{ of: 'allMillis', label: 'CPU in all', unit: 'ms' },
          goals: { Tollgate: { ratio: 1.7 } },
        },
      ],
    },
    {
      label: 'first 160 streams, eight in step',
      fresh: true,
      entries: each(streamedChat, [relay, floor, tollgate]),
      baseline: 'relay',
      as: '/5-0',
      shape: inStep(50),
      rounds: 10,
      figures: [firstByte()],
    },
    {
      label: 'start of the process to the first answer',
      fresh: true,
      entries: each(chat, [
        relay,
        { name: 'Tollgate', on: gateway({ keys: 1 }), shape: { keys: 1 } },
      ]),
      baseline: 'relay',
      shape: { connections: 1, requests: 1 },
      figures: [
        {
          ...{ of: 'startMs', label: 'time', unit: 'ms', above: true },
          goals: { Tollgate: { above: 150 } },
        },
      ],
    },
  ],
};
