/**
 * Warms a contender up until calls no longer get cheaper. V8 compiles code that is called often,
 * which takes tens of thousands of calls: a fixed number would favour contenders with less code.
 */

/** The number of steps in a row that must bring no improvement. */
const steadySteps = 3;
/** A step must be cheaper than the cheapest before by this share to count as an improvement. */
const worthwhile = 0.04;

/**
 * Loads a contender step by step, until three in a row were no cheaper than the cheapest before.
 *
 * @param context the context of a scenario; its `warmUp` has `stepMs` and `mostSteps`
 * @param entry `name`, and the started `contender`
 * @param shape the load of a step (`load.mjs`), without its length
 */
export async function warmUp(context, { name, contender }, shape) {
  const { stepMs, mostSteps } = context.warmUp;
  const step = { ...shape, requests: undefined, durationMs: stepMs };
  let cheapest = Number.POSITIVE_INFINITY;
  let idle = 0;
  for (let taken = 0; idle < steadySteps; taken += 1) {
    if (taken === mostSteps) {
      context.note(`${name}: still getting cheaper after a warm-up of ${mostSteps} steps.`);
      return;
    }
    const before = await contender.usage();
    const { requests } = await context.load(step);
    const { cpuMicros } = await contender.usage();
    const cost = (cpuMicros - before.cpuMicros) / requests;
    idle = cost < cheapest * (1 - worthwhile) ? 0 : idle + 1;
    cheapest = Math.min(cheapest, cost);
  }
}
