/**
 * The pace of streams: one ticker of a millisecond serves all of them, each in its own slot, so
 * that hundreds of streams need no timer each and are spread evenly over the interval.
 */
const wheels = new Map();

/** Calls `send` at an interval in ms until it returns false. Returns a function that stops it. */
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
    // A late tick also serves the slots that it missed.
    for (const now = performance.now(); served + 1 <= now; served += 1) {
      turn = (turn + 1) % everyMs;
      for (const send of slots[turn]) if (send() === false) slots[turn].delete(send);
    }
  }, 1);
  ticker.unref();

  const join = (send) => {
    joined += 1;
    // 7 shares no factor with the intervals in use, so streams opened together get distant slots.
    const slot = slots[(joined * 7) % everyMs];
    slot.add(send);
    return () => slot.delete(send);
  };
  wheels.set(everyMs, join);
  return join;
}
