// suite: slow host first
/** `tollgate serve` as a process, over SQLite: calls, and its end during a stream. */
import { beforeAll, describe, expect, it } from 'vitest';
import { gate } from '../../../src/testing/providers/scripts.ts';
import { build } from '../../support/built.ts';
import {
  chat,
  issuedAda,
  ran,
  served,
  sqliteHost,
  waitingStream,
  waitingStreamCharge,
} from './served.ts';

const env = { KEY: 'the-account-key' };

beforeAll(build, 60_000);

describe('tollgate serve', () => {
  it('serves keys that the command issues, and the command reports what they used', async () => {
    const { folder } = await sqliteHost();
    const secret = await issuedAda(folder, env);
    const { origin, child, exited, lines } = await served(folder, env);

    const answer = await chat(origin, secret);
    const ready = await fetch(`${origin}/readyz`);
    await answer.text();
    child.kill('SIGTERM');

    expect(secret).toMatch(/^tg_[\w-]{59}$/);
    expect([answer.status, ready.status]).toEqual([200, 200]);
    expect(await exited).toBe(0);
    expect(lines.map(({ event }) => event)).toContain('call_ended');
    expect(JSON.stringify(lines)).not.toMatch(/the-account-key|tg_/);
    const report = await ran(folder, ['usage', '--by', 'key', '--then', 'model', '--csv'], env);
    expect(report.out).toMatch(/^key,model,calls,.*\r\nada,gpt-4o-mini,1,/);
    const list = await ran(folder, ['keys', 'list', '--json'], env);
    expect(JSON.parse(list.out).data[0]).toMatchObject({ id: 'ada' });
    expect(BigInt(JSON.parse(list.out).data[0].balances[0].usedNanos)).toBeGreaterThan(0n);
    expect(list.out).not.toContain(secret);
  });

  it('lets a stream end after SIGTERM, charges it once, and refuses new calls', async () => {
    const { folder, upstream } = await sqliteHost();
    const secret = await issuedAda(folder, env);
    const { origin, child, exited, until } = await served(folder, env);
    const held = gate();
    upstream.enqueue(waitingStream(held.opened));

    const answer = await chat(origin, secret, { stream: true });
    child.kill('SIGTERM');
    await until('ending');
    held.open();
    const text = await answer.text();

    expect(text).toMatch(/data: \[DONE\]\n\n$/);
    expect(await exited).toBe(0);
    const report = await ran(folder, ['usage', '--by', 'outcome', '--json'], env);
    expect(JSON.parse(report.out).data).toMatchObject([
      {
        names: ['complete'],
        calls: 1,
        chargeNanos: waitingStreamCharge,
        unbookedNanos: '0',
      },
    ]);
    const list = await ran(folder, ['keys', 'list', '--json'], env);
    expect(JSON.parse(list.out).data[0].balances[0]).toMatchObject({
      usedNanos: waitingStreamCharge,
      heldNanos: '0',
    });
  });
});
