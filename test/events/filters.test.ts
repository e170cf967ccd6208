// suite: quick
/** A listener with a filter gets exactly the events that it asked for, from any other listener. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ConfigurationError } from '../../src/errors.ts';
import type { EventFilter, EventType, GatewayEvent, LogLevel } from '../../src/events/events.ts';
import { defaultLevels, logLevels } from '../../src/events/filter.ts';
import { logEvents } from '../../src/events/log.ts';
import type { CallHandler } from '../support/driven-upstream.ts';
import { gatewayInProcess, type InProcessGateway } from '../support/gateway-in-process.ts';
import { completeReply, replies, sampleRequests, streamBeginnings } from '../support/models.ts';
import { takeWarnings } from '../support/runner/process-warnings.ts';
import { runsOf } from '../support/sample.ts';

const answer: CallHandler = (up) => up.answer(200, replies.chat);
const fail: CallHandler = (up) => up.answer(500, {});

/** What happens at a gateway, and what its first upstream calls answer. */
interface Scenario {
  readonly handlers: readonly CallHandler[];
  run(harness: InProcessGateway): Promise<unknown>;
}

const scenarios: Readonly<Record<string, Scenario>> = {
  'a call that is served': {
    handlers: [answer],
    run: (harness) => harness.call(sampleRequests.chat),
  },
  'a stream': {
    handlers: [(up) => up.answer(200, replies.chatStream, { 'content-type': 'text/event-stream' })],
    run: (harness) => harness.call(sampleRequests.chatStream),
  },
  'a failed attempt': {
    handlers: [fail, fail, fail, fail],
    run: (harness) => harness.call(sampleRequests.chat),
  },
  'a refused credential': {
    handlers: [(up) => up.answer(401, {}), (up) => up.answer(401, {})],
    run: (harness) => harness.call(sampleRequests.chat),
  },
  'a request without a key': {
    handlers: [],
    run: (harness) => harness.call({ ...sampleRequests.chat, withoutKey: true }),
  },
  'a caller that leaves a stream': {
    handlers: [],
    run: async (harness) => {
      const running = harness.start(sampleRequests.chatStream);
      const up = await harness.upstream.next();
      up.respond(200, { 'content-type': 'text/event-stream' });
      up.write(streamBeginnings.chatStream);
      await running.firstBytes;
      running.disconnect();
      completeReply('chatStream')(up);
      await harness.nextRecord();
    },
  },
  'a caller that leaves before the reply': {
    handlers: [],
    run: async (harness) => {
      const running = harness.start(sampleRequests.chat);
      await harness.upstream.next();
      running.disconnect();
      await harness.nextRecord();
    },
  },
};

const names = Object.keys(scenarios);
const types = Object.keys(defaultLevels).filter((type): type is EventType => type in defaultLevels);

/** The events of a scenario, and the codes of the process warnings. */
async function eventsOf(
  name: string,
  listen: (add: (event: GatewayEvent) => void) => object,
  filter?: EventFilter,
): Promise<{ readonly seen: readonly GatewayEvent[]; readonly warnings: number }> {
  const scenario = scenarios[name];
  if (scenario === undefined) throw new Error(`no scenario ${name}`);
  const seen: GatewayEvent[] = [];
  const add = (event: GatewayEvent): void => {
    seen.push(event);
  };
  const onEvent: object = { onEvent: undefined, ...listen(add) };
  const harness = gatewayInProcess({ handlers: scenario.handlers, options: onEvent });
  const stop = filter === undefined ? undefined : harness.gateway.subscribe(add, filter);
  await scenario.run(harness);
  await harness.gateway.close();
  stop?.();
  return { seen, warnings: (await takeWarnings()).length };
}

/** The level that `logEvents` gives an event. */
function levelIn(event: GatewayEvent): LogLevel {
  let level: LogLevel = 'debug';
  logEvents({
    log: (entry) => {
      level = entry.level;
    },
  })(event);
  return level;
}

function isWanted(event: GatewayEvent, { types: wanted, level = 'debug' }: EventFilter): boolean {
  const isImportant = logLevels.indexOf(levelIn(event)) >= logLevels.indexOf(level);
  return isImportant && (wanted?.includes(event.type) ?? true);
}

const filters: fc.Arbitrary<EventFilter> = fc.record(
  { types: fc.subarray(types), level: fc.constantFrom(...logLevels) },
  { requiredKeys: [] },
);

it('a listener alone gets what a listener of all events would pick', async () => {
  const all = new Map<string, readonly GatewayEvent[]>();
  for (const name of names) {
    all.set(name, (await eventsOf(name, (onEvent) => ({ onEvent }))).seen);
  }
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...names), filters, async (name, filter) => {
      const expected = (all.get(name) ?? []).filter((event) => isWanted(event, filter));
      const subscribed = await eventsOf(name, () => ({}), filter);
      const option = await eventsOf(name, (listener) => ({ onEvent: { listener, ...filter } }));

      expect(subscribed.seen).toEqual(expected);
      expect(option.seen).toEqual(expected);
    }),
    { numRuns: runsOf(150) },
  );
});

it('listeners with other filters change nothing for each other', async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...names), filters, filters, async (name, one, other) => {
      const others: GatewayEvent[] = [];
      const listener = (event: GatewayEvent): void => {
        others.push(event);
      };
      const alone = await eventsOf(name, () => ({}), one);
      const beside = await eventsOf(name, () => ({ onEvent: { listener, ...other } }), one);

      expect(beside.seen).toEqual(alone.seen);
      expect(others.filter((event) => !isWanted(event, other))).toEqual([]);
    }),
    { numRuns: runsOf(60) },
  );
});

it.each<[string, EventFilter, number]>([
  ['asks for its type', { types: ['attempt_ended'] }, 0],
  ['asks for it at a higher level', { types: ['attempt_ended'], level: 'error' }, 1],
  ['asks for others', { types: ['call_ended'] }, 1],
  ['asks for none', { types: [] }, 1],
])('what only the host can fix is a warning unless a listener %s', async (_what, filter, count) => {
  const { warnings } = await eventsOf('a refused credential', () => ({}), filter);

  expect(warnings).toBe(count);
});

it('a call that no listener asks about gets no events built', async () => {
  const built: unknown[] = [];
  const { seen } = await eventsOf(
    'a call that is served',
    () => ({ onEvent: logEvents({ log: (entry) => built.push(entry) }, { level: 'warn' }) }),
    { types: ['call_refused'], level: 'warn' },
  );

  expect([...seen, ...built]).toEqual([]);
});

const wrongFilters: readonly unknown[] = [
  'warn',
  ['call_ended'],
  { typs: ['call_ended'] },
  { types: [['call_ended']] },
  { level: 7 },
  { level: 'loud' },
  { types: ['call_ended', 'nonsense'] },
  { types: ['toString'] },
  { types: 'call_ended' },
];

it.each(wrongFilters)('%j is refused where it is given', async (wrong) => {
  const filter: EventFilter = JSON.parse(JSON.stringify(wrong));
  const listener = (): void => {};
  const { gateway } = gatewayInProcess();

  expect(() => gateway.subscribe(listener, filter)).toThrow(ConfigurationError);
  if (typeof wrong !== 'object' || Array.isArray(wrong) || 'typs' in Object(wrong)) return;
  expect(() => gateway.update({ onEvent: { listener, ...filter } })).toThrow(ConfigurationError);
  expect(() => gatewayInProcess({ options: { onEvent: { listener, ...filter } } })).toThrow(
    ConfigurationError,
  );
});

it.each([5, 'x', {}, null, [() => {}]])('%j is no listener', (wrong) => {
  const listener: () => void = JSON.parse(JSON.stringify(wrong));

  expect(() => gatewayInProcess().gateway.subscribe(listener)).toThrow(ConfigurationError);
});

it('a listener gets what happens from its subscription on, also of calls that run', async () => {
  const { gateway, start, upstream, nextRecord } = gatewayInProcess({
    options: JSON.parse('{ "onEvent": null }', (_name, value) => value ?? undefined),
  });
  const call = start(sampleRequests.chat);
  const up = await upstream.next();
  const seen: string[] = [];
  gateway.subscribe(({ type }) => seen.push(type), { types: ['call_started', 'call_ended'] });
  answer(up);
  await call.reply;
  await nextRecord();

  expect(seen).toEqual(['call_ended']);
});

it('a listener may be an object with `this`, and a function with any `level`', async () => {
  class Listener {
    readonly seen: string[] = [];
    listener(event: GatewayEvent): void {
      this.seen.push(event.type);
    }
  }
  const object = new Listener();
  const seen: string[] = [];
  const bare = Object.assign((event: GatewayEvent) => void seen.push(event.type), { level: 30 });
  const harness = gatewayInProcess({ handlers: [answer], options: { onEvent: object } });
  harness.gateway.subscribe(bare);
  await harness.call(sampleRequests.chat);
  await harness.gateway.close();

  expect(object.seen).toEqual(seen);
  expect(object.seen).toContain('call_ended');
});

it.each(['warn', 5, null])('logEvents refuses the options %j', (wrong) => {
  const options: object = JSON.parse(JSON.stringify(wrong));

  expect(() => logEvents(console, options)).toThrow(ConfigurationError);
});
