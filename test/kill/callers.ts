/** The load: callers that keep sending calls while gateways are killed. */
import type { Gateways } from './gateways.ts';
import { callsPerCaller, maxTokens } from './parameters.ts';

/** The results of all calls. */
export interface Calls {
  /** The name of the current caller. */
  caller(): string;
  /** How many calls got each status; `cut` means that the gateway was killed. */
  readonly counts: Readonly<Record<string, number>>;
  total(): number;
  /** Stops sending calls; resolves when the last one has been answered. */
  stop(): Promise<void>;
}

/** Runs this many concurrent callers, spread over the gateways. */
export function startCallers(count: number, gateways: Gateways, places: number): Calls {
  const counts: Record<string, number> = {};
  let calls = 0;
  let isOver = false;
  const callerOf = (call: number): string => `caller-${Math.floor(call / callsPerCaller)}`;

  const call = async (origin: string): Promise<void> => {
    const number = `call-${String(++calls).padStart(12, '0')}`;
    const outcome = await statusOf(origin, number, callerOf(calls));
    counts[outcome] = (counts[outcome] ?? 0) + 1;
    // After a refusal, callers wait a little, as real ones would.
    if (outcome !== '200') await rest();
  };
  const loop = async (place: number): Promise<void> => {
    while (!isOver) {
      const origin = gateways.originOf(place);
      await (origin === undefined ? rest() : call(origin));
    }
  };
  const loops = Array.from({ length: count }, (_, index) => loop(index % places));

  return {
    caller: () => callerOf(calls),
    counts,
    total: () => calls,
    stop: async () => {
      isOver = true;
      await Promise.all(loops);
    },
  };
}

async function statusOf(origin: string, number: string, caller: string): Promise<string> {
  const messages = [{ role: 'user', content: number }];
  try {
    const response = await fetch(`${origin}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${caller}`,
        'content-type': 'application/json',
        'x-call-number': number,
      },
      body: JSON.stringify({ model: 'm', messages, max_tokens: maxTokens }),
    });
    await response.arrayBuffer();
    return String(response.status);
  } catch {
    return 'cut';
  }
}

function rest(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}
