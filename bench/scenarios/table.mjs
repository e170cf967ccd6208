/**
 * The table of all scenarios, and of all goals. The contenders of a scenario are alive side by side:
 *
 * - `loads`, one after another, each with its `entries`: a contender (`on`), the call it gets, and
 *   the name of the entry with which it is compared (`baseline`, by default the load's);
 * - `figures` of a load: `of` (`lib/measure.mjs`), how it is written, and its `goals` by entry: the
 *   highest `ratio`, difference `above` the baseline (where the figure says `above`) or `value`;
 * - `as`: which reply the upstream gives (`upstream/server.mjs`), by default a chat of 1 KB;
 * - `fresh`: each measurement starts a process of its own, without a warm-up;
 * - `warmUp` of a scenario: the number of `calls`, the reply to them, and the `call` where it is another
 *   than that of the entry; `mostWarmUpCalls` of an entry, `warmUpAs` of a load, and its `moreCalls`, made
 *   after the warm-up, are the exceptions.
 */

import { firstCalls, images } from './fresh.mjs';
import {
  at32,
  burst,
  chat,
  cpuOfCall,
  cpuOfEvent,
  each,
  paced,
  relay,
  shortStreams,
  streamedChat,
  tollgate,
} from './shared.mjs';
import { manyStreams, pacedStreams, streamedApis, streams } from './streamed.mjs';
import { apis, bodies, chats, growth, hosts, onHost, peers, stores } from './whole.mjs';

export const scenarios = [
  ...[chats, hosts, peers, apis, streamedApis, streams, pacedStreams, bodies, images],
  ...[firstCalls, manyStreams, growth, stores],
];

/** A goal of these is a limit above the known ratio, which a regression by a third exceeds. */
export const smokeScenarios = [
  {
    name: 'smoke-chat',
    title: 'Chats of 1 KB, short form',
    warmUp: { calls: 20_000 },
    loads: [
      {
        label: '32 callers',
        entries: [...each(chat, [relay, tollgate]), onHost('Koa 3', 'koa')],
        baseline: 'relay',
        shape: { ...at32, durationMs: 250 },
        rounds: 6,
        figures: [cpuOfCall({ Tollgate: { ratio: 2.7 }, 'Tollgate on Koa 3': { ratio: 3.1 } })],
      },
    ],
  },
  {
    name: 'smoke-streams',
    title: 'Streamed chats, short form',
    warmUp: { ...shortStreams, calls: 20_000 },
    loads: [
      {
        label: '200 events in a burst and their call',
        entries: each(streamedChat, [relay, tollgate]),
        baseline: 'relay',
        as: '/200-0',
        moreCalls: 300,
        shape: { ...burst, durationMs: 300 },
        rounds: 6,
        figures: [cpuOfCall({ Tollgate: { ratio: 3.3 } })],
      },
      {
        label: '200 streams',
        entries: each(streamedChat, [relay, tollgate]),
        baseline: 'relay',
        as: '/50-20',
        shape: { ...paced(200), events: 50 },
        rounds: 5,
        figures: [cpuOfEvent({ Tollgate: { ratio: 1.9 } })],
      },
    ],
  },
];
