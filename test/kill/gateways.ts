/** Starts the gateways, and replaces those that are killed. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { z } from 'zod';
import type { Draw } from '../support/seeds.ts';

/** The running gateways, each of which may be replaced. */
export interface Gateways {
  /** The current origin of the gateway with this index. */
  originOf(index: number): string | undefined;
  /** Kills one with SIGKILL, if a replacement is ready. */
  killOne(draw: Draw): void;
  kills(): number;
  /** The gateways that ended by themselves, which is an error. */
  readonly faults: readonly string[];
  /** Closes them as a host would, so that they deliver their outstanding charges. */
  close(): Promise<void>;
}

interface Running {
  readonly child: ChildProcess;
  origin: string | undefined;
  isMeantToEnd: boolean;
}

/** Starts this many processes; resolves when all of them listen. */
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
  // Starting takes longer than a gateway lives, so replacements are started in advance.
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
