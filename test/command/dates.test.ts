// suite: slow host
/** Every date that a command or the admin library takes: what is not a time in UTC is refused. */
import { describe, expect, it } from 'vitest';
import { commands } from '../../src/command/commands.ts';
import { memoryUsageSink } from '../../src/stores/memory/usage-sink.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { adminSetup } from '../admin/admin-host.ts';
import { commandFolder } from './called.ts';

const needed: Readonly<Record<string, readonly string[]>> = {
  'keys edit': ['ada'],
  'keys issue': ['--group', 'staff', '--limit', '5'],
  'usage delete': ['--yes'],
};
/** All options of all commands that take a date. */
const options = commands.flatMap(({ name, options }) =>
  Object.entries(options)
    .filter(([, { value }]) => value === 'DATE')
    .map(([option]) => ({ command: name, option })),
);
const noTimes = [
  ...['2026-02-30', '2026-02-29', '2026-11-31', '2026-13-01', '2026-00-10', '2026-01-00'],
  ...['2026-01-01T24:00Z', '2026-01-01T12:60Z', '2026-01-01T12:00:60Z', '2026-01-01T25:00Z'],
  ...['2026-01-01T12:00', '2026-01-01T12:00+02:00', '2026-01-01T12:00-00:00', '2026-01-01 12:00'],
  ...['2026-1-1', '01.02.2026', '1 March 2026', '2026', '2026-02', 'tomorrow', '-1', '0', ''],
  ...['1767225600000', '+012026-01-01', '2026-01-01T', '2026-01-01Z', ' 2026-01-01', '2026-01-01x'],
];

describe('a date on the command line', () => {
  it('is taken by at least six options', () => {
    expect(options.length).toBeGreaterThanOrEqual(6);
  });

  it.each(options)('is refused by $command --$option if it is not in UTC', async (given) => {
    const { call } = commandFolder();
    for (const text of noTimes) {
      const args = [...given.command.split(' '), ...(needed[given.command] ?? [])];
      const { code, out, err } = await call(...args, `--${given.option}=${text}`);

      expect([text, code, out]).toEqual([text, 2, '']);
      expect(err).toContain(`--${given.option} `);
    }
  });

  it('may be a day, or have a time', async () => {
    const { call } = commandFolder();
    for (const [text, expiresAtMs] of [
      ['2028-02-29', Date.UTC(2028, 1, 29)],
      ['2028-02-29T23:59Z', Date.UTC(2028, 1, 29, 23, 59)],
      ['2028-02-29T23:59:58Z', Date.UTC(2028, 1, 29, 23, 59, 58)],
      ['2028-02-29T23:59:58.007Z', Date.UTC(2028, 1, 29, 23, 59, 58, 7)],
    ] as const) {
      const args = ['keys', 'issue', '--group', 'staff', '--limit', '5', '--expires', text];
      const { out } = await call(...args, '--json');

      expect(JSON.parse(out).key).toMatchObject({ expiresAtMs });
    }
  });

  it('must be on the right side of now, and of the other one', async () => {
    const clock = fakeClock(Date.UTC(2026, 10, 23));
    const { call } = commandFolder({ clock });
    for (const [sentence, ...args] of [
      ['in the past', 'keys', 'issue', '--group', 'g', '--limit', '5', '--expires', '2026-11-23'],
      ['in the future', 'usage', 'delete', '--before', '2026-11-24', '--yes'],
      ['--from must be before', 'usage', '--from', '2026-11-24'],
      ['--from must be before', 'usage', '--from', '2026-11-02', '--to', '2026-11-01'],
      ['--from must be before', 'usage', 'calls', '--from', '2026-11-01', '--to', '2026-11-01'],
    ] as const) {
      const { code, out, err } = await call(...args);

      expect([args.join(' '), code, out]).toEqual([args.join(' '), 2, '']);
      expect(err).toContain(sentence);
    }
  });
});

describe('a time that the admin library takes', () => {
  const { admin, clock } = adminSetup({ usage: memoryUsageSink() });
  const issue = { group: 'staff', limitNanos: 5n };

  it.each([
    0,
    1,
    -1,
    1.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    8_640_000_000_000_001,
    Number.MAX_SAFE_INTEGER,
    clock.now(),
  ])('is refused as the end of a key if it is %s', async (expiresAtMs) => {
    await expect(admin.keys.issue('ada', { ...issue, expiresAtMs })).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('expiresAtMs must be'),
    });
  });

  it.each([
    { fromMs: 2, toMs: 1 },
    { fromMs: 1.5, toMs: 2 },
    { fromMs: Number.NaN, toMs: 2 },
    { fromMs: 1, toMs: Number.POSITIVE_INFINITY },
  ])('is refused in an impossible range: %j', async (range) => {
    const wrong = /fromMs (?:and toMs must be|must not be after)/;

    await expect(admin.calls.list(range)).rejects.toThrow(wrong);
    await expect(admin.usage.report({ ...range, by: 'key' })).rejects.toThrow(wrong);
  });
});
