/** Starts the gateways, kills one now and then, and puts another in its place. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { z } from 'zod';
import type { Draw } from '../proof/random.ts';

/** Gateways that come and go. */
export interface Gateways {
  /** Where the gateway of this place listens now. */
  originOf(place: number): string | undefined;
  /** Kills one by SIGKILL, if another is ready to take its place. */
  killOne(draw: Draw): void;
  kills(): number;
  /** What no gateway may do: end by itself. */
  readonly faults: readonly string[];
  /** Ends them as a host would, so that they deliver what they still have. */
  close(): Promise<void>;
}

interface Running {
  readonly child: ChildProcess;
  origin: string | undefined;
  isMeantToEnd: boolean;
}

/** Starts so many by their script; resolves when each of them has listened. */
export async function startGateways(
  script: string,
  count: number,
  config: object,
): Promise<Gateways> {
  const faults: string[] = [];
  let kills = 0;

  const start = (): Running => {
    const child = fork(script, [JSON.stringify(config)]);
    const running: Running = { child, origin: undefined, isMeantToEnd: false };
    child.once('message', (message: unknown) => {
      running.origin = z.object({ origin: z.string() }).parse(message).origin;
    });
    child.once('exit', (code, signal) => {
      running.origin = undefined;
      if (!running.isMeantToEnd) faults.push(`a gateway ended by itself: ${code ?? signal}`);
    });
    return running;
  };
  // To start takes longer than a gateway lives: others stand by, or nobody would be left to kill.
  const places = Array.from({ length: count }, start);
  const spares = Array.from({ length: count }, start);
  await Promise.all([...places, ...spares].map(({ child }) => once(child, 'message')));

  return {
    originOf: (place) => places[place]?.origin,
    killOne: (draw) => {
      const place = draw(count);
      const [killed, ready] = [places[place], spares[0]];
      if (killed === undefined || ready?.origin === undefined) return;
      killed.isMeantToEnd = true;
      killed.child.kill('SIGKILL');
      kills += 1;
      places[place] = ready;
      spares.shift();
      spares.push(start());
    },
    kills: () => kills,
    faults,
    close: async () => {
      const ended = [...places, ...spares].map(async (running) => {
        running.isMeantToEnd = true;
        const exited = once(running.child, 'exit');
        if (running.origin === undefined) running.child.kill('SIGKILL');
        else running.child.send('close');
        await exited;
      });
      await Promise.all(ended);
    },
  };
}
