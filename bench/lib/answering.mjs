/**
 * The other end of `processes.mjs`, inside the process that was started: reads its arguments, tells
 * when it is ready, and answers questions.
 */

/** What the process was started with. */
export const args = JSON.parse(process.argv[2] ?? '{}');

/** Tells that the process is ready, and answers by name from then on. */
export function answering(ready, answers) {
  process.on('message', async ({ id, question, about }) => {
    try {
      process.send?.({ id, answer: await answers[question](about) });
    } catch (error) {
      process.send?.({ id, error: error.stack ?? String(error) });
    }
  });
  process.on('disconnect', () => process.exit(0));
  process.send?.({ id: 0, answer: ready });
}
