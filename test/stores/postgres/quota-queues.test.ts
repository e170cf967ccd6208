// suite: quick
/** How the PostgreSQL quota store forms batches, and what each operation hears of a failed one. */
import { describe, expect, it } from 'vitest';
import { isJsonObject, items, type JsonValue, member, parseJson } from '../../../src/json.ts';
import type { CallOptions } from '../../../src/ports/call-options.ts';
import { postgresQuotaStore } from '../../../src/stores/postgres/quota-store.ts';
import { type Draw, drawn } from '../../support/seeds.ts';

/** A statement that the store has sent, until the test answers it. */
interface Sent {
  readonly ids: readonly string[];
  readonly subjects: ReadonlySet<string>;
  answer(): void;
  fail(code: string): void;
}

const failureOf = (code: string): Error => Object.assign(new Error('no'), { code });

/** A client whose statements the test answers, and a store over it. */
function driven() {
  const sent: Sent[] = [];
  const client = {
    query: (_text: string, values: unknown[] = []) =>
      new Promise<{ rows: unknown[] }>((resolve, reject) => {
        const operations = items(member(parseJson(String(values[0])) ?? null, 'items'));
        const ids = operations.map((operation) => String(member(operation, 'id')));
        const subjects = new Set(operations.flatMap(subjectsOf));
        const result = JSON.stringify(ids.map(() => ({ status: 'released' })));
        sent.push({
          ids,
          subjects,
          answer: () => resolve({ rows: [{ result }] }),
          fail: (code) => reject(failureOf(code)),
        });
      }),
  };
  const store = postgresQuotaStore({ client });
  return {
    sent,
    release: (id: string, options: CallOptions = {}, subjects: readonly string[] = ['alice']) =>
      store.release(
        {
          id: id.padEnd(16, '_'),
          partition: 'p',
          lines: subjects.map((subject) => ({ subject, period: '', amount: 1n })),
        },
        options,
      ),
  };
}

function subjectsOf(operation: JsonValue): readonly string[] {
  if (!isJsonObject(operation)) return [];
  return items(member(operation, 'lines')).map((line) => String(member(line, 'subject')));
}

/** The end of the current turn, and of the one in which its batches are sent. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

const idsOf = (sent: readonly Sent[]): readonly string[] =>
  sent.map(({ ids }) => ids.map((id) => id.replaceAll('_', '')).join(' '));
const notDone = { name: 'StoreUnavailable', outcome: 'not_done' };
const unknown = { name: 'StoreUnavailable', outcome: 'unknown' };

describe('batches', () => {
  it('what arrives while a batch runs forms the next one', async () => {
    const { sent, release } = driven();
    const first = [release('a'), release('b')];
    await turns();
    const second = [release('c'), release('d'), release('e')];
    await turns();
    expect(idsOf(sent)).toEqual(['a b']);

    sent[0]?.answer();
    await Promise.all(first);
    await turns();

    expect(idsOf(sent)).toEqual(['a b', 'c d e']);
    sent[1]?.answer();
    await Promise.all(second);
  });

  it('two operations on one hold are never in one batch, and keep their order', async () => {
    const { sent, release } = driven();
    const all = [release('a'), release('b'), release('a'), release('c')];
    await turns();
    sent[0]?.answer();
    await turns();
    sent[1]?.answer();
    await Promise.all(all);

    expect(idsOf(sent)).toEqual(['a b c', 'a']);
  });

  it.each(
    Array.from({ length: 20 }, (_, index) => index),
  )('of random operations on a few subjects: sequence %i', async (sequence) => {
    const draw = drawn(sequence);
    const { sent, release } = driven();
    const running: Sent[] = [];
    const promises: Promise<unknown>[] = [];
    let seen = 0;
    for (let step = 0; step < 60 || running.length > 0; step += 1) {
      const count = step < 60 ? draw(40) : 0;
      for (let index = 0; index < count; index += 1) {
        promises.push(release(`${step}x${index}`, {}, drawnSubjects(draw)));
      }
      if (draw(2) === 0) running.splice(draw(running.length + 1), 1)[0]?.answer();
      await turns();
      running.push(...sent.slice(seen));
      seen = sent.length;
      expectDisjoint(running);
    }
    await Promise.all(promises);
    expect(sent.flatMap(({ ids }) => ids)).toHaveLength(promises.length);
    expect(Math.max(...sent.map(({ ids }) => ids.length))).toBeLessThanOrEqual(64);
  });
});

/** A group, mostly with one of its keys, whose name sorts before or after that of the group. */
function drawnSubjects(draw: Draw): readonly string[] {
  const group = `${['a-', 'z-'][draw(2)]}${draw(2)}`;
  return draw(4) === 0 ? [group] : [group, `key-${group}-${draw(4)}`].toSorted();
}

/** Of operations that had a subject in common, one batch ran at a time. */
function expectDisjoint(running: readonly Sent[]): void {
  const all = running.flatMap(({ subjects }) => [...subjects]);
  expect(all).toHaveLength(new Set(all).size);
}

describe('an operation', () => {
  it('whose wait ends in the queue is not_done and never runs', async () => {
    const { sent, release } = driven();
    const [first, stop] = [release('a'), new AbortController()];
    await turns();
    const aborted = release('b', { signal: stop.signal });
    const overdue = release('c', { timeoutMs: 1 });
    const last = release('d');
    stop.abort();
    await expect(aborted).rejects.toMatchObject(notDone);
    await expect(overdue).rejects.toMatchObject(notDone);

    sent[0]?.answer();
    await first;
    await turns();
    sent[1]?.answer();
    await last;

    expect(idsOf(sent)).toEqual(['a', 'd']);
  });

  it('whose wait ends in a batch is unknown, and the next batch goes', async () => {
    const { sent, release } = driven();
    const stop = new AbortController();
    const hung = [release('a', stop), release('b')];
    await turns();
    const next = release('c');
    stop.abort();
    await expect(hung[0]).rejects.toMatchObject(unknown);
    await turns();
    expect(idsOf(sent)).toEqual(['a b', 'c']);

    sent[1]?.answer();
    await next;
    sent[0]?.answer();
    await hung[1];
  });

  it('whose wait ends between two attempts that did nothing is not_done', async () => {
    const { sent, release } = driven();
    const stop = new AbortController();
    const outcomes = Promise.allSettled([release('a'), release('b', stop)]);
    await turns();
    for (const index of [0, 1]) {
      sent[index]?.fail('22003');
      await turns();
    }
    stop.abort();
    await turns();
    sent[2]?.answer();

    expect((await outcomes)[1]).toMatchObject({ reason: notDone });
    await turns();
    expect(idsOf(sent)).toEqual(['a b', 'a b', 'a']);
  });

  it('whose own attempt fails alone fails alone', async () => {
    const { sent, release } = driven();
    const ended = Promise.allSettled([release('a'), release('b'), release('c')]);
    await turns();
    const steps = ['fail', 'fail', 'answer', 'fail', 'answer'] as const;
    for (const [index, step] of steps.entries()) {
      sent[index]?.[step]('22003');
      await turns();
    }
    const outcomes = await ended;

    expect(idsOf(sent)).toEqual(['a b c', 'a b c', 'a', 'b', 'c']);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[1]).toMatchObject({ reason: notDone });
  });

  it('is unknown if one attempt may have been done, though the last one was not', async () => {
    const { sent, release } = driven();
    const ended = Promise.allSettled([release('a'), release('b')]);
    await turns();
    for (const [index, code] of ['ECONNRESET', '22003', '22003', '22003'].entries()) {
      sent[index]?.fail(code);
      await turns();
    }

    for (const one of await ended) expect(one).toMatchObject({ reason: unknown });
  });

  it('of a batch that was cancelled is unknown: it may have been between two commits', async () => {
    const { sent, release } = driven();
    const ended = Promise.allSettled([release('a'), release('b')]);
    await turns();
    for (const code of ['57014', '25P04', '57014', '57014']) {
      sent.at(-1)?.fail(code);
      await turns();
    }

    for (const one of await ended) expect(one).toMatchObject({ reason: unknown });
    const alone = expect(release('c')).rejects.toMatchObject(notDone);
    await turns();
    sent.at(-1)?.fail('57014');
    await alone;
  });
});
