/**
 * Runs a row about callers on one mount: a gateway whose ports wait for the test, a host in front
 * of it, and a caller that follows the row's script.
 */

import { setImmediate } from 'node:timers/promises';
import { expect } from 'vitest';
import type { GatewayHandler } from '../../../src/http.ts';
import type { MaybePromise } from '../../../src/ports/call-options.ts';
import type { KeyStore } from '../../../src/ports/keys/key-store.ts';
import { defaultPartition } from '../../../src/ports/limits/quota-input.ts';
import type { QuotaState, QuotaStore } from '../../../src/ports/limits/quota-store.ts';
import type { UsageRecord } from '../../../src/ports/usage-sink.ts';
import { memoryQuotaStore } from '../../../src/stores/memory/quota-store.ts';
import { type FakeClock, fakeClock } from '../../../src/testing/fake-clock.ts';
import { type Gate, gate, type Script } from '../../../src/testing/providers/scripts.ts';
import { mounts, type RunningMount } from '../../adapters/mounts.ts';
import { type UnmountedGateway, unmountedGateway } from '../../support/mounted-gateway.ts';
import type { Kind } from '../kinds.ts';
import { answering, bytesOf, flooding, halting, modelsFor, waiting } from './calls.ts';
import { answersIn, type RawAnswer, type RawCaller, rawCaller } from './raw-caller.ts';
import type { CallerRow, CallerStep } from './row.ts';

/** The results of a script. */
export interface ScriptOutcome {
  readonly harness: UnmountedGateway;
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
interface ScriptState {
  readonly row: CallerRow;
  readonly kind: Kind;
  readonly harness: UnmountedGateway;
  readonly host: RunningMount;
  readonly clock: FakeClock;
  readonly gates: Readonly<Record<GateName, Gate>>;
  /** The connections so far; the last one is in use. */
  readonly callers: RawCaller[];
  /** How many chunks of the flood have been read. */
  readonly flooded: () => number;
}

type GateName =
  | 'disconnectSeen'
  | 'keysRequested'
  | 'keysAnswer'
  | 'reserveRequested'
  | 'reserveAnswers'
  | 'continues'
  | 'handled';

/** Longer than a caller may stall by default. */
const stallSeconds = 40;

/** Runs the script, and waits until the gateway has nothing left to do. */
export async function runScript(
  row: CallerRow,
  mountName: string,
  kind: Kind,
): Promise<ScriptOutcome> {
  const gates = closedGates();
  if (!row.steps.includes('is authenticated')) gates.keysAnswer.open();
  if (!row.steps.includes('has reserved')) gates.reserveAnswers.open();
  const quota = memoryQuotaStore();
  const clock = fakeClock();
  const { harness, reserves } = await waitingGateway(kind, clock, quota, gates);
  const { script, flooded } = scriptOf(row, kind, gates.continues);
  harness.upstream.enqueue(script, answering(kind));
  const host = await mountNamed(mountName).start(watched(harness, gates, row));
  const callers = [await rawCaller(host.origin)];
  try {
    const state: ScriptState = { row, kind, harness, host, clock, gates, callers, flooded };
    for (const step of row.steps) await steps[step](state);
    const records = await Promise.all(row.expected.records.map(() => harness.nextRecord()));
    await harness.drained();
    const { held = 0n, used = 0n, inFlight = 0 } = (await stateOf(quota)) ?? {};
    return {
      harness,
      answers: callers.flatMap((caller) => answersIn(caller.received(), row.method)),
      // Including unexpected ones.
      records: harness.records.length > records.length ? harness.records : records,
      reserves: reserves(),
      upstream: await Promise.all(harness.upstream.calls.map(({ closed }) => closed)),
      quota: { held, used, inFlight },
      reported: host.reported,
    };
  } finally {
    for (const caller of callers) caller.close();
    await host.close();
    await harness.close();
  }
}

/** A gateway whose key store and quota store answer when the gates are open. */
async function waitingGateway(
  kind: Kind,
  clock: FakeClock,
  quota: QuotaStore,
  gates: ScriptState['gates'],
): Promise<{ readonly harness: UnmountedGateway; readonly reserves: () => number }> {
  let reserves = 0;
  const keys: KeyStore = {
    find: async (secret) => {
      gates.keysRequested.open();
      await gates.keysAnswer.opened;
      return harness.keys.find(secret);
    },
  };
  const reserve: QuotaStore['reserve'] = async (input) => {
    reserves += 1;
    gates.reserveRequested.open();
    await gates.reserveAnswers.opened;
    return quota.reserve(input);
  };
  const options = { clock, keys, quota: { ...quota, reserve } };
  const harness = await unmountedGateway(options, modelsFor(kind));
  return { harness, reserves: () => reserves };
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

function closedGates(): ScriptState['gates'] {
  return {
    disconnectSeen: gate(),
    keysRequested: gate(),
    keysAnswer: gate(),
    reserveRequested: gate(),
    reserveAnswers: gate(),
    continues: gate(),
    handled: gate(),
  };
}

/** The gateway, with signals for a caller that disconnected and for an answer that is ready. */
function watched(
  { gateway }: UnmountedGateway,
  { disconnectSeen, handled }: ScriptState['gates'],
  row: CallerRow,
): GatewayHandler {
  // Before it has found the key, the gateway itself does not listen for disconnects.
  const listens = row.steps.includes('is being authenticated');
  return {
    ...gateway,
    handle: (request) => {
      if (listens) request.onClose(disconnectSeen.open);
      const answer = gateway.handle({
        ...request,
        onClose: (listener) =>
          request.onClose(() => {
            listener();
            disconnectSeen.open();
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
  continues: Gate,
): { readonly script: Script; readonly flooded: () => number } {
  let pieces = 0;
  const flooded = (): number => pieces;
  switch (upstream) {
    case 'answers':
      return { script: answering(kind), flooded };
    case 'waits':
      return { script: waiting(kind, continues), flooded };
    case 'halts mid-stream':
      return { script: halting(kind, continues), flooded };
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

const steps: Readonly<Record<CallerStep, (state: ScriptState) => Promise<void> | void>> = {
  connects: async ({ host, callers }) => {
    callers.push(await rawCaller(host.origin));
  },
  'sends it all': (state) => inUse(state).send(wholeOf(state)),
  'sends it byte by byte': (state) => inUse(state).sendBytewise(wholeOf(state)),
  'sends the head, expecting 100': (state) => inUse(state).send(`${headOf(state)}\r\n\r\n`),
  'sends half of the body': (state) => {
    const body = bodyOf(state);
    inUse(state).send(body.slice(0, body.length / 2));
  },
  'sends the rest of the body': (state) => {
    const body = bodyOf(state);
    inUse(state).send(body.slice(body.length / 2));
  },
  'sends two at once': (state) =>
    inUse(state).send(wholeOf(state) + forUnknownModel(wholeOf(state))),
  'stops reading': (state) => inUse(state).stopReading(),
  'sends FIN': (state) => inUse(state).finish(),
  closes: (state) => inUse(state).close(),
  resets: (state) => inUse(state).reset(),
  'sees the first event alone': async (state) => {
    await inUse(state).until((received) => received.includes('Once'));
    expect(inUse(state).received()).not.toMatch(/STOP|"stop"|completed|message_stop/);
  },
  'sees 100 Continue': (state) =>
    inUse(state).until((received) => received.startsWith('HTTP/1.1 100 Continue\r\n\r\n')),
  'sees an answer': (state) => seesAnswers(state, 1),
  'sees both answers': (state) => seesAnswers(state, 2),
  'is noticed as gone': ({ gates }) => gates.disconnectSeen.opened,
  'is being authenticated': ({ gates }) => gates.keysRequested.opened,
  'is authenticated': ({ gates }) => gates.keysAnswer.open(),
  'is reserving': ({ gates }) => gates.reserveRequested.opened,
  'has reserved': ({ gates }) => gates.reserveAnswers.open(),
  'is at the upstream': async ({ harness }) => {
    await harness.upstream.nextCall();
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

function seesAnswers(state: ScriptState, count: number): Promise<void> {
  const { method } = state.row;
  return inUse(state).until((received) => answersIn(received, method).length >= count);
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

function inUse({ callers }: ScriptState): RawCaller {
  const caller = callers.at(-1);
  if (caller === undefined) throw new Error('no caller has connected');
  return caller;
}

function wholeOf({ row, kind, harness }: ScriptState): string {
  return bytesOf(kind, harness.secrets.chat, row);
}

/** The same call for an unknown model. */
function forUnknownModel(call: string): string {
  return call.replace('/models/m:', '/models/x:').replace('"model":"m"', '"model":"x"');
}

function headOf({ row, kind, harness }: ScriptState): string {
  const headers = { ...row.headers, expect: '100-continue' };
  const [head = ''] = bytesOf(kind, harness.secrets.chat, { ...row, headers }).split('\r\n\r\n', 1);
  return head;
}

function bodyOf(state: ScriptState): string {
  const whole = wholeOf(state);
  return whole.slice(whole.indexOf('\r\n\r\n') + 4);
}
