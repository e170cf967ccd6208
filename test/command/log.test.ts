// suite: slow
/** The log of `tollgate serve`: which lines a level leaves out, and which are always written. */
import { expect, it } from 'vitest';
import { auditTo, jsonLog } from '../../src/command/log.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';

it.each([
  'debug',
  'info',
  'warn',
  'error',
  'silent',
] as const)('the log has each change by an operator at the level %s', (level) => {
  const lines: string[] = [];
  const log = jsonLog((line) => lines.push(line), fakeClock());
  log.setLevel(level);
  log.write('debug', 'detail');
  auditTo(
    undefined,
    '.',
    log,
  )({
    atMs: 1,
    actor: 'grace',
    action: 'key.disable',
    target: 'ada',
    change: {},
    outcome: 'done',
    code: undefined,
  });

  expect(lines.map((line) => JSON.parse(line).event)).toEqual(
    level === 'debug' ? ['detail', 'audit'] : ['audit'],
  );
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ actor: 'grace', target: 'ada' });
});

it('the last line is followed by no other, although ports may still fail', () => {
  const lines: string[] = [];
  const log = jsonLog((line) => lines.push(line), fakeClock());
  const failed = { type: 'port_failed', requestId: undefined, port: 'quota', reason: 'x' } as const;
  log.event({ ...failed, operation: 'reserve' });

  log.last('info', 'ended', { lost: 1 });
  log.event({ ...failed, operation: 'settle' });
  log.write('error', 'late');

  expect(lines.map((line) => JSON.parse(line).event)).toEqual(['port_failed', 'ended']);
  expect(JSON.parse(lines[1] ?? '')).toMatchObject({ level: 'info', lost: 1 });
});
