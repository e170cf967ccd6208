// suite: search host
/**
 * What `tollgate serve` does when its environment fails: a signal to end at any moment of a call, a
 * closed output, a second process, and a file that is not a database.
 */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { gate } from '../../../src/testing/providers/scripts.ts';
import { build } from '../../support/built.ts';
import {
  booksOf,
  chat,
  issuedAda,
  ran,
  type Served,
  served,
  sqliteHost,
  waitingStream,
  writeConfig,
} from './served.ts';

const env = { KEY: 'the-account-key' };

beforeAll(build, 60_000);

/** Brings a call to a moment; the returned function lets it continue if it waits there. */
type Reach = (call: {
  readonly served: Served;
  readonly secret: string;
  readonly upstream: Awaited<ReturnType<typeof sqliteHost>>['upstream'];
}) => Promise<() => void>;

const body = JSON.stringify({
  model: 'gpt-4o-mini',
  messages: [{ role: 'user', content: 'Hello' }],
  stream: true,
});

/** Each moment of a call at which the process gets the signal. */
const moments: readonly (readonly [name: string, reach: Reach])[] = [
  ['a connection without a request', sending(() => '')],
  ['half of the headers', sending((head) => head.slice(0, 40))],
  ['half of the body', sending((head) => `${head}${body.slice(0, body.length / 2)}`)],
  [
    'the wait for the upstream',
    async ({ served: { origin, until }, secret, upstream }) => {
      const held = gate();
      upstream.enqueue(waitingStream(held.opened, held.opened));
      void chat(origin, secret, { stream: true }).then(
        (answer) => answer.text(),
        () => {},
      );
      await until('attempt_started');
      return held.open;
    },
  ],
  [
    'the middle of a stream',
    async ({ served: { origin }, secret, upstream }) => {
      const held = gate();
      upstream.enqueue(waitingStream(held.opened));
      const answer = await chat(origin, secret, { stream: true });
      void answer.text().catch(() => {});
      return held.open;
    },
  ],
  [
    'a caller that has left',
    async ({ served: { origin }, secret, upstream }) => {
      const held = gate();
      upstream.enqueue(waitingStream(held.opened));
      const answer = await chat(origin, secret, { stream: true });
      await answer.body?.cancel();
      return held.open;
    },
  ],
  [
    'after the end',
    async ({ served: { origin, until }, secret }) => {
      await (await chat(origin, secret)).text();
      await until('call_ended');
      return () => {};
    },
  ],
];

describe('tollgate serve that gets a signal to end', () => {
  it.each(
    moments,
  )('during %s exits with 0, and the usage log and the quota store agree', async (_name, reach) => {
    const { folder, upstream, config } = await sqliteHost();
    writeConfig(folder, { ...config, log: { level: 'debug' }, shutdown: { drainMs: 1_000 } });
    const secret = await issuedAda(folder, env);
    const process = await served(folder, env);

    const goOn = await reach({ served: process, secret, upstream });
    process.child.kill('SIGTERM');
    await process.until('ending');
    goOn();

    expect(await process.exited).toBe(0);
    const { balance, charged } = await booksOf(folder, env);
    expect(balance).toMatchObject({ heldNanos: '0', runningCalls: 0 });
    expect(balance.usedNanos).toBe(charged);
    expect(process.errors()).toBe('');
  });
});

describe('tollgate serve', () => {
  it('continues without a reader of its output, and exits with 0', async () => {
    const { folder } = await sqliteHost();
    const secret = await issuedAda(folder, env);
    const { origin, child, exited } = await served(folder, env);
    child.stdout?.destroy();
    child.stderr?.destroy();

    const statuses: number[] = [];
    for (let call = 0; call < 5; call += 1) {
      const answer = await chat(origin, secret);
      await answer.text();
      statuses.push(answer.status);
    }
    child.kill('SIGTERM');

    expect(statuses).toEqual([200, 200, 200, 200, 200]);
    expect(await exited).toBe(0);
    const { balance, charged } = await booksOf(folder, env);
    expect(balance.usedNanos).toBe(charged);
  });

  it('shares a database with another one: the balance is that of all calls', async () => {
    const { folder } = await sqliteHost();
    const secret = await issuedAda(folder, env);
    const both = [await served(folder, env), await served(folder, env)];

    const statuses = await Promise.all(
      both.flatMap(({ origin }) =>
        Array.from({ length: 10 }, async () => {
          const answer = await chat(origin, secret);
          await answer.text();
          return answer.status;
        }),
      ),
    );
    for (const { child } of both) child.kill('SIGTERM');

    expect(statuses).toEqual(Array.from({ length: 20 }, () => 200));
    expect(await Promise.all(both.map(({ exited }) => exited))).toEqual([0, 0]);
    const { balance, charged, calls } = await booksOf(folder, env);
    expect([balance.usedNanos, balance.heldNanos, calls]).toEqual([charged, '0', 20]);
  });

  it('does not start with a file that is not a database, and shows no stack', async () => {
    const { folder, config } = await sqliteHost();
    writeFileSync(join(folder, 'tollgate.db'), 'This is a text.'.repeat(1_000));
    writeConfig(folder, { ...config, stores: { sqlite: { path: './tollgate.db' } } });
    const { code, out, err } = await ran(folder, ['serve'], env);

    expect([code, out]).toEqual([3, '']);
    expect(err).toMatch(/^tollgate: stores\.sqlite\.path .+\n$/);
    expect(err).not.toContain(folder);
  });
});

/** Opens a connection, and sends a part of a request. */
function sending(part: (head: string) => string): Reach {
  return async ({ served: { origin }, secret }) => {
    const { port } = new URL(origin);
    const socket: Socket = connect(Number(port), '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => {});
    await once(socket, 'connect');
    const head =
      'POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\n' +
      'content-type: application/json\r\n' +
      `authorization: Bearer ${secret}\r\ncontent-length: ${body.length}\r\n\r\n`;
    await new Promise<void>((resolve) => {
      socket.write(part(head), () => resolve());
    });
    return () => {};
  };
}
