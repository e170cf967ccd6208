// suite: quick
/** A call that ends because its fallback could not be looked up says so, and cost nothing. */
import { expect, it } from 'vitest';
import { gatewayInProcess, untouched } from '../support/gateway-in-process.ts';
import { defaultModels, kinds, sampleRequests } from '../support/models.ts';

it.each(kinds)('%s: the catalog fails after the call has started', async (kind) => {
  const models = defaultModels().map((one) => ({ ...one, fallbacks: ['open'] }));
  let lookups = 0;
  const find = (id: string) => {
    lookups += 1;
    if (lookups > 1) throw new Error('down');
    return models.find((one) => one.id === id);
  };
  const harness = gatewayInProcess({
    options: { catalog: { find, list: () => models } },
    handlers: [(up) => up.answer(429, {})],
  });
  const { status, text } = await harness.call(sampleRequests[kind]);
  const record = await harness.nextRecord();

  expect(status).toBe(503);
  expect(text).toContain('could not check this call');
  expect(record).toMatchObject({ status, reason: 'catalog_unavailable', outcome: 'not_run' });
  expect(harness.allEvents.at(-1)).toMatchObject({ type: 'call_ended', code: 'store_unavailable' });
  // Nothing ran at the account that refused it, so that the hold of an image is free again too.
  expect(await harness.state()).toEqual(untouched);
});
