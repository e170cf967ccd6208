/**
 * Makes the ids of calls fit for Anthropic, which wants a narrow alphabet and no id twice in one
 * conversation, while some vendors count from `call_1` anew in every turn.
 */
import { portableCallId } from '../../../canonical/call-ids.ts';
import type { Part, Turn } from '../../../canonical/request.ts';

/** The turns of `pairedTurns` with new ids on the calls and on the results that follow them. */
export function withUniqueCallIds(turns: readonly Turn[]): readonly Turn[] {
  const unique = uniqueIds();
  let given = new Map<string, Queue>();
  return turns.map((turn) => {
    if (turn.role === 'assistant') given = new Map();
    const parts = turn.parts.map((part): Part => {
      if (part.kind === 'tool_call') {
        const id = unique(portableCallId(part.id));
        const queue = given.get(part.id);
        if (queue === undefined) given.set(part.id, { ids: [id], next: 0 });
        else queue.ids.push(id);
        return { ...part, id };
      }
      if (part.kind !== 'tool_result') return part;
      return { ...part, callId: nextOf(given.get(part.callId)) ?? portableCallId(part.callId) };
    });
    return { ...turn, parts };
  });
}

/** The new ids of calls that shared one, in the order of the calls. */
interface Queue {
  readonly ids: string[];
  next: number;
}

/** The last one again where more results than calls have the id. */
function nextOf(queue: Queue | undefined): string | undefined {
  if (queue === undefined) return undefined;
  const id = queue.ids[queue.next];
  queue.next = Math.min(queue.next + 1, queue.ids.length - 1);
  return id;
}

/** Gives an id that it has not given before, and counts on where it stopped counting. */
function uniqueIds(): (id: string) => string {
  const used = new Set<string>();
  const copies = new Map<string, number>();
  return (id) => {
    let free = id;
    for (let copy = copies.get(id) ?? 2; used.has(free); copy += 1) {
      free = portableCallId(`${id}_${copy}`);
      copies.set(id, copy + 1);
    }
    used.add(free);
    return free;
  };
}
