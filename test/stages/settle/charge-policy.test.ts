// suite: quick
/**
 * The charge for each ending is data: the default is the documented table, and a host may provide
 * its own.
 */
import { expect, it } from 'vitest';
import { chargePolicy } from '../../../src/charge-policy.ts';
import { gatewayInProcess } from '../../support/gateway-in-process.ts';
import { sampleRequests } from '../../support/models.ts';

it('the default table is the documented one', () => {
  expect(chargePolicy).toEqual({
    not_run: { whole: 'release', streamed: 'release', image: 'release' },
    complete: { whole: 'usage', streamed: 'usage', image: 'usage' },
    truncated: { whole: 'observed', streamed: 'observed', image: 'pend' },
    still_running: { whole: 'pend', streamed: 'pend', image: 'pend' },
    failed: { whole: 'nothing', streamed: 'nothing', image: 'pend' },
    broken: { whole: 'observed', streamed: 'observed', image: 'pend' },
    left_early: { whole: 'prompt', streamed: 'prompt', image: 'pend' },
    left: { whole: 'observed', streamed: 'observed', image: 'usage' },
    cut: { whole: 'observed', streamed: 'observed', image: 'pend' },
  });
});

it.each([
  ['release', { held: 0n, used: 0n }, 'policy'],
  ['nothing', { held: 0n, used: 0n }, 'policy'],
  ['pend', { held: 211n, used: 0n }, 'policy'],
  ['observed', { held: 0n, used: 11n }, 'estimate'],
] as const)('a host’s own table is used: a failure that costs %s', async (rule, state, basis) => {
  const harness = gatewayInProcess({
    handlers: [(up) => up.answer(500, { error: { message: 'No.' } })],
    options: { chargePolicy: { ...chargePolicy, failed: { ...chargePolicy.failed, whole: rule } } },
  });

  await harness.call(sampleRequests.chat);

  expect(await harness.nextRecord()).toMatchObject({ basis, chargeNanos: state.used });
  expect(await harness.state()).toMatchObject(state);
});

it('a table of which a rule is missing is refused', () => {
  const { not_run: _gone, ...rest } = chargePolicy;
  const incomplete = JSON.parse(JSON.stringify(rest));

  expect(() => gatewayInProcess({ options: { chargePolicy: incomplete } })).toThrow(
    /chargePolicy\.not_run/,
  );
});
