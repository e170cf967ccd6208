// suite: search host
/**
 * `tollgate serve` whose database can't grow, as on a full disk: calls are refused, the probe says
 * so, and the process recovers when there is room again. What is lost at its end is named, and the
 * exit code says so. A limit on the size of files stands in for the disk.
 */
import { execFileSync } from 'node:child_process';
import { beforeAll, describe, expect, it } from 'vitest';
import { gate } from '../../../src/testing/providers/scripts.ts';
import { build } from '../../support/built.ts';
import {
  booksOf,
  chat,
  issuedAda,
  type Served,
  served,
  sqliteHost,
  waitingStream,
  waitingStreamCharge,
  writeConfig,
} from './served.ts';

const env = { KEY: 'the-account-key' };

beforeAll(build, 60_000);

describe.skipIf(!hasLimits())('tollgate serve on a full disk', () => {
  it('refuses calls and is not ready, and charges a running call when there is room', async () => {
    const { folder, config, upstream } = await sqliteHost();
    writeConfig(folder, { ...config, readiness: { stores: true } });
    const secret = await issuedAda(folder, env);
    const running = await served(folder, env);
    const { origin, child, exited, until } = running;
    const held = gate();
    upstream.enqueue(waitingStream(held.opened));
    const stream = await chat(origin, secret, { stream: true });

    limitFiles(running, '0');
    held.open();
    const text = await stream.text();
    await until('port_failed');
    const refused = await chat(origin, secret);
    const { error } = JSON.parse(await refused.text());
    const notReady = await statusWhen(running, (status) => status === 503);
    const calls = upstream.calls.length;
    limitFiles(running, 'unlimited');
    const ready = await statusWhen(running, (status) => status === 200);
    await until('call_booked');
    child.kill('SIGTERM');

    expect(text).toMatch(/data: \[DONE\]\n\n$/);
    expect([refused.status, error.code]).toEqual([503, 'store_unavailable']);
    expect([notReady, ready, calls]).toEqual([503, 200, 1]);
    expect(await exited).toBe(0);
    const { balance, charged, calls: logged } = await booksOf(folder, env);
    expect(balance).toMatchObject({ usedNanos: waitingStreamCharge, heldNanos: '0' });
    expect([charged, logged]).toEqual([waitingStreamCharge, 1]);
  }, 30_000);

  it('names what is lost at its end, and exits with 3', async () => {
    const { folder, upstream } = await sqliteHost();
    const secret = await issuedAda(folder, env);
    const running = await served(folder, env);
    const { origin, child, exited, until, lines } = running;
    const held = gate();
    upstream.enqueue(waitingStream(held.opened));
    const stream = await chat(origin, secret, { stream: true });

    limitFiles(running, '0');
    held.open();
    await stream.text();
    child.kill('SIGTERM');
    const settlement = await until('settlement_lost');
    const record = await until('usage_record_lost');

    expect(await exited).toBe(3);
    expect(record).toMatchObject({
      level: 'error',
      keyId: 'ada',
      requestId: settlement.requestId,
      chargeNanos: waitingStreamCharge,
    });
    expect(lines).toContainEqual(
      expect.objectContaining({ event: 'port_failed', port: 'usage', operation: 'write' }),
    );
    expect(lines.at(-1)).toMatchObject({
      event: 'ended',
      level: 'error',
      lost: { charges: 1, usageRecords: 1 },
    });
  }, 30_000);
});

function hasLimits(): boolean {
  try {
    execFileSync('prlimit', ['--version']);
    return true;
  } catch {
    return false;
  }
}

/** Limits the size of all files that the process writes; pipes are not affected. */
function limitFiles({ child }: Served, bytes: string): void {
  execFileSync('prlimit', ['--pid', String(child.pid), `--fsize=${bytes}:unlimited`]);
}

/** Sends requests until the readiness probe has this status. */
async function statusWhen(
  { origin }: Served,
  isWanted: (status: number) => boolean,
): Promise<number> {
  for (;;) {
    const { status } = await fetch(`${origin}/readyz`);
    if (isWanted(status)) return status;
  }
}
