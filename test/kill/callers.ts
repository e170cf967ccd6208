/** The load: callers that call, whatever becomes of the gateway they call. */
import type { Gateways } from './gateways.ts';
import { callsPerCaller, maxTokens } from './terms.ts';

/** What came of all calls. */
export interface Calls {
  /** The name of the caller whose turn it is. */
  caller(): string;
  /** How many got each status; `cut` is a gateway that died. */
  readonly counts: Readonly<Record<string, number>>;
  total(): number;
  /** Makes no further calls; resolves when the last has its answer. */
  stop(): Promise<void>;
}

/** So many callers at once, spread over the gateways. */
export function startCallers(count: number, gateways: Gateways, places: number): Calls {
  const counts: Record<string, number> = {};
  let calls = 0;
  let isOver = false;
  const callerOf = (call: number): string => `caller-${Math.floor(call / callsPerCaller)}`;

  const call = async (origin: string): Promise<void> => {
    const number = `call-${String(++calls).padStart(12, '0')}`;
    const outcome = await statusOf(origin, number, callerOf(calls));
    counts[outcome] = (counts[outcome] ?? 0) + 1;
    // Nobody waits for an answer that says no: a real caller would wait a little, too.
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
