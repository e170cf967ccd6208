/**
 * The pace of streams: one ticker a millisecond serves them all, each in the slot of its turn, so
 * that hundreds of them cost no timer each and spread evenly over the interval.
 */
const wheels = new Map();

/** Calls `send` every so many ms until it answers false. Returns how to leave early. */
export function atPace(everyMs, send) {
  const wheel = wheels.get(everyMs) ?? startWheel(everyMs);
  return wheel(send);
}

function startWheel(everyMs) {
  const slots = Array.from({ length: everyMs }, () => new Set());
  let served = performance.now();
  let turn = 0;
  let joined = 0;
  const ticker = setInterval(() => {
    // A late tick serves the slots it missed as well.
    for (const now = performance.now(); served + 1 <= now; served += 1) {
      turn = (turn + 1) % everyMs;
      for (const send of slots[turn]) if (send() === false) slots[turn].delete(send);
    }
  }, 1);
  ticker.unref();

  const join = (send) => {
    joined += 1;
    // 7 shares no factor with the intervals in use: neighbours in time get slots apart.
    const slot = slots[(joined * 7) % everyMs];
    slot.add(send);
    return () => slot.delete(send);
  };
  wheels.set(everyMs, join);
  return join;
}
