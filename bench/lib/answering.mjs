/**
 * The counterpart of `processes.mjs` inside a started process: reads the arguments, reports when
 * the process is ready, and answers requests.
 */

/** The arguments of the process. */
export const args = JSON.parse(process.argv[2] ?? '{}');

/** Reports that the process is ready, and from then on answers requests by name. */
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
