// suite: quick
/** What a call has taken is released exactly once. */
import { expect, it } from 'vitest';
import { staticCatalog } from '../../src/catalog/static-catalog.ts';
import { settingsOf } from '../../src/options.ts';
import { portCalls } from '../../src/stages/ports/port-calls.ts';
import { CallerConnection } from '../../src/stages/relay/caller-connection.ts';
import { type RunningCall, runningCalls } from '../../src/stages/running.ts';
import { memoryQuotaStore } from '../../src/stores/memory/quota-store.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';

function begun(): RunningCall {
  const clock = fakeClock();
  const settings = settingsOf({
    keys: { find: () => undefined },
    quota: memoryQuotaStore({ clock }),
    catalog: staticCatalog([]),
    clock,
  });
  const calls = runningCalls(
    () => settings,
    portCalls({ requestId: undefined }, settings, () => {}),
    () => {},
  );
  const caller = new CallerConnection();
  return calls.begin({ keyId: 'key', caller, maxConcurrentCalls: undefined, isSmall: true });
}

it('everything is released when the call is done, each exactly once', () => {
  const call = begun();
  const given: string[] = [];
  for (const name of ['body', 'first lease', 'second lease']) call.onDone(() => given.push(name));
  const before = [...given];

  call.done();
  call.done();

  expect(before).toEqual([]);
  expect(given).toEqual(['body', 'first lease', 'second lease']);
});

it('what is registered after the call is done is released immediately', () => {
  const call = begun();
  const given: string[] = [];
  call.done();

  call.onDone(() => given.push('late'));

  expect(given).toEqual(['late']);
});
