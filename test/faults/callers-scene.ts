/**
 * Runs a row about callers on one mount: a stage whose ports wait for the test, a host in front of
 * it, and a caller that follows the row's script.
 */
import { setImmediate } from 'node:timers/promises';
import { expect } from 'vitest';
import type { GatewayHandler } from '../../src/http.ts';
import type { MaybePromise } from '../../src/ports/call-options.ts';
import type { KeyStore } from '../../src/ports/key-store.ts';
import { defaultPartition } from '../../src/ports/quota-input.ts';
import type { QuotaState, QuotaStore } from '../../src/ports/quota-store.ts';
import type { UsageRecord } from '../../src/ports/usage-sink.ts';
import { memoryQuotaStore } from '../../src/stores/memory/quota-store.ts';
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts';
import { type Gate, gate, type Script } from '../../src/testing/providers/scripts.ts';
import { mounts, type RunningMount } from '../adapters/mounts.ts';
import { type Stage, stage as setStage } from '../support/stage.ts';
import { answering, bytesOf, flooding, halting, modelsFor, waiting } from './callers-calls.ts';
import type { CallerRow, CallerStep } from './callers-row.ts';
import { answersIn, type RawAnswer, type RawCaller, rawCaller } from './raw-caller.ts';
import type { Kind } from './row.ts';

/** The results of a script. */
export interface Played {
  readonly stage: Stage;
  /** The answers on all connections. */
  readonly answers: readonly RawAnswer[];
  readonly records: readonly UsageRecord[];
  readonly reserves: number;
  readonly upstream: readonly ('ended' | 'aborted')[];
  readonly quota: { readonly held: bigint; readonly used: bigint; readonly inFlight: number };
  /** Errors that reached the host's own error handling. */
  readonly reported: readonly unknown[];
}

/** The state that steps use. */
interface SceneState {
  readonly row: CallerRow;
  readonly kind: Kind;
  readonly stage: Stage;
  readonly host: RunningMount;
  readonly clock: FakeClock;
  readonly gates: Readonly<Record<GateName, Gate>>;
  /** The connections so far; the last one is in use. */
  readonly callers: RawCaller[];
  /** How many chunks of the flood have been read. */
  readonly flooded: () => number;
}

type GateName =
  | 'noticed'
  | 'keysAsked'
  | 'keysAnswer'
  | 'reserveAsked'
  | 'reserveAnswers'
  | 'continues'
  | 'handled';

/** Longer than a caller may stall by default. */
const stallSeconds = 40;

/** Runs the script, and waits until the gateway has nothing left to do. */
export async function play(row: CallerRow, mountName: string, kind: Kind): Promise<Played> {
  const gates = closedGates();
  if (!row.steps.includes('is authenticated')) gates.keysAnswer.open();
  if (!row.steps.includes('has reserved')) gates.reserveAnswers.open();
  const quota = memoryQuotaStore();
  const clock = fakeClock();
  const { stage, reserves } = await waitingStage(kind, clock, quota, gates);
  const { script, flooded } = scriptOf(row, kind, gates.continues);
  stage.upstream.enqueue(script, answering(kind));
  const host = await mountNamed(mountName).start(watched(stage, gates, row));
  const callers = [await rawCaller(host.origin)];
  try {
    const world: SceneState = { row, kind, stage, host, clock, gates, callers, flooded };
    for (const step of row.steps) await steps[step](world);
    const records = await Promise.all(row.expected.records.map(() => stage.nextRecord()));
    await stage.drained();
    const { held = 0n, used = 0n, inFlight = 0 } = (await stateOf(quota)) ?? {};
    return {
      stage,
      answers: callers.flatMap((caller) => answersIn(caller.received(), row.method)),
      // Including unexpected ones.
      records: stage.usage.records.length > records.length ? stage.usage.records : records,
      reserves: reserves(),
      upstream: await Promise.all(stage.upstream.calls.map(({ closed }) => closed)),
      quota: { held, used, inFlight },
      reported: host.reported,
    };
  } finally {
    for (const caller of callers) caller.close();
    await host.close();
    await stage.close();
  }
}

/** A stage whose key store and quota store answer when the gates are open. */
async function waitingStage(
  kind: Kind,
  clock: FakeClock,
  quota: QuotaStore,
  gates: SceneState['gates'],
): Promise<{ readonly stage: Stage; readonly reserves: () => number }> {
  let reserves = 0;
  const keys: KeyStore = {
    find: async (secret) => {
      gates.keysAsked.open();
      await gates.keysAnswer.opened;
      return stage.keys.find(secret);
    },
  };
  const reserve: QuotaStore['reserve'] = async (input) => {
    reserves += 1;
    gates.reserveAsked.open();
    await gates.reserveAnswers.opened;
    return quota.reserve(input);
  };
  const options = { clock, keys, quota: { ...quota, reserve } };
  const stage = await setStage(options, modelsFor(kind));
  return { stage, reserves: () => reserves };
}

function stateOf(quota: QuotaStore): MaybePromise<QuotaState | undefined> {
  return quota.read('chat-key', '', defaultPartition);
}

/** The mount of this name. */
export function mountNamed(name: string): (typeof mounts)[number] {
  const found = mounts.find((mount) => mount.name === name);
  if (found === undefined) throw new Error(`there is no mount ${name}`);
  return found;
}

function closedGates(): SceneState['gates'] {
  return {
    noticed: gate(),
    keysAsked: gate(),
    keysAnswer: gate(),
    reserveAsked: gate(),
    reserveAnswers: gate(),
    continues: gate(),
    handled: gate(),
  };
}

/** The gateway, with signals for a caller that disconnected and for an answer that is ready. */
function watched(
  { gateway }: Stage,
  { noticed, handled }: SceneState['gates'],
  row: CallerRow,
): GatewayHandler {
  // Before it has found the key, the gateway itself does not listen for disconnects.
  const listens = row.steps.includes('is being authenticated');
  return {
    ...gateway,
    handle: (request) => {
      if (listens) request.onClose(noticed.open);
      const answer = gateway.handle({
        ...request,
        onClose: (listener) =>
          request.onClose(() => {
            listener();
            noticed.open();
          }),
      });
      void answer.then(handled.open);
      return answer;
    },
  };
}

function scriptOf(
  { upstream }: CallerRow,
  kind: Kind,
  goesOn: Gate,
): { readonly script: Script; readonly flooded: () => number } {
  let pieces = 0;
  const flooded = (): number => pieces;
  switch (upstream) {
    case 'answers':
      return { script: answering(kind), flooded };
    case 'waits':
      return { script: waiting(kind, goesOn), flooded };
    case 'halts mid-stream':
      return { script: halting(kind, goesOn), flooded };
    case 'floods': {
      const { chunks = [], ...rest } = flooding(kind);
      const counted = counting(chunks, () => {
        pieces += 1;
      });
      return { script: { ...rest, chunks: counted }, flooded };
    }
  }
}

function* counting<T>(pieces: Iterable<T>, onPiece: () => void): Generator<T> {
  for (const piece of pieces) {
    onPiece();
    yield piece;
  }
}

const steps: Readonly<Record<CallerStep, (world: SceneState) => Promise<void> | void>> = {
  connects: async ({ host, callers }) => {
    callers.push(await rawCaller(host.origin));
  },
  'sends it all': (world) => inUse(world).send(wholeOf(world)),
  'sends it byte by byte': (world) => inUse(world).sendBytewise(wholeOf(world)),
  'sends the head, expecting 100': (world) => inUse(world).send(`${headOf(world)}\r\n\r\n`),
  'sends half of the body': (world) => {
    const body = bodyOf(world);
    inUse(world).send(body.slice(0, body.length / 2));
  },
  'sends the rest of the body': (world) => {
    const body = bodyOf(world);
    inUse(world).send(body.slice(body.length / 2));
  },
  'sends two at once': (world) =>
    inUse(world).send(wholeOf(world) + forUnknownModel(wholeOf(world))),
  'stops reading': (world) => inUse(world).stopReading(),
  'sends FIN': (world) => inUse(world).finish(),
  closes: (world) => inUse(world).close(),
  resets: (world) => inUse(world).reset(),
  'sees the first event alone': async (world) => {
    await inUse(world).until((received) => received.includes('Once'));
    expect(inUse(world).received()).not.toMatch(/STOP|"stop"/);
  },
  'sees 100 Continue': (world) =>
    inUse(world).until((received) => received.startsWith('HTTP/1.1 100 Continue\r\n\r\n')),
  'sees an answer': (world) => seesAnswers(world, 1),
  'sees both answers': (world) => seesAnswers(world, 2),
  'is noticed as gone': ({ gates }) => gates.noticed.opened,
  'is being authenticated': ({ gates }) => gates.keysAsked.opened,
  'is authenticated': ({ gates }) => gates.keysAnswer.open(),
  'is reserving': ({ gates }) => gates.reserveAsked.opened,
  'has reserved': ({ gates }) => gates.reserveAnswers.open(),
  'is at the upstream': async ({ stage }) => {
    await stage.upstream.nextCall();
  },
  'the upstream continues': ({ gates }) => gates.continues.open(),
  'the second is answered first': ({ gates }) => gates.handled.opened,
  'time for a stalled caller passes': async ({ clock, flooded }) => {
    await untilStill(flooded);
    for (let second = 0; second < stallSeconds; second += 1) {
      clock.advance(1_000);
      await setImmediate();
      await setImmediate();
    }
  },
};

function seesAnswers(world: SceneState, count: number): Promise<void> {
  const { method } = world.row;
  return inUse(world).until((received) => answersIn(received, method).length >= count);
}

/**
 * Resolves when the counter has not changed for 100 turns. All parties are in this process, and the
 * kernel delivers bytes during the call that sends them.
 */
async function untilStill(moved: () => number): Promise<void> {
  let still = 0;
  let before = -1;
  while (still < 100) {
    const now = moved();
    still = now === before && now > 0 ? still + 1 : 0;
    before = now;
    await setImmediate();
  }
}

function inUse({ callers }: SceneState): RawCaller {
  const caller = callers.at(-1);
  if (caller === undefined) throw new Error('no caller has connected');
  return caller;
}

function wholeOf({ row, kind, stage }: SceneState): string {
  return bytesOf(kind, stage.secrets.chat, row);
}

/** The same call for an unknown model. */
function forUnknownModel(call: string): string {
  return call.replace('/models/m:', '/models/x:').replace('"model":"m"', '"model":"x"');
}

function headOf({ row, kind, stage }: SceneState): string {
  const headers = { ...row.headers, expect: '100-continue' };
  const [head = ''] = bytesOf(kind, stage.secrets.chat, { ...row, headers }).split('\r\n\r\n', 1);
  return head;
}

function bodyOf(world: SceneState): string {
  const whole = wholeOf(world);
  return whole.slice(whole.indexOf('\r\n\r\n') + 4);
}
