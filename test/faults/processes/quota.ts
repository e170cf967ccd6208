/** A quota store across processes: one has the store, the others ask it by message. */
import { z } from 'zod';
import type { QuotaStore } from '../../../src/ports/limits/quota-store.ts';

const operations = ['reserve', 'extend', 'settle', 'release', 'sweep', 'adjust'] as const;
const question = z.object({
  quota: z.enum(operations),
  number: z.number(),
  input: z.unknown(),
});
const answer = z.object({ quotaAnswer: z.number(), result: z.unknown() });

/** One end of a channel between two processes, whose messages may contain big integers. */
export interface Line {
  send(message: object): void;
  onMessage(listener: (message: unknown) => void): void;
}

/** The store of a process that asks another one. */
export function askingQuotaStore(line: Line): QuotaStore {
  const waiting = new Map<number, (result: unknown) => void>();
  let count = 0;
  line.onMessage((message) => {
    const { data } = answer.safeParse(message);
    if (data !== undefined) waiting.get(data.quotaAnswer)?.(data.result);
  });
  // The message is the answer of the other store.
  const send = (quota: (typeof operations)[number], input: unknown): Promise<never> =>
    new Promise((resolve) => {
      const number = ++count;
      waiting.set(number, (result) => {
        waiting.delete(number);
        Reflect.apply(resolve, undefined, [result]);
      });
      line.send({ quota, number, input });
    });
  return {
    durability: 'durable',
    reserve: (input) => send('reserve', input),
    extend: (inputs) => send('extend', inputs),
    settle: (input) => send('settle', input),
    release: (input) => send('release', input),
    sweep: ({ max }) => send('sweep', { max }),
    adjust: (input) => send('adjust', input),
    read: () => undefined,
    check: () => ({ ok: true }),
    close: () => {},
  };
}

/** Answers the requests of another process from this store. */
export function answerQuota(store: QuotaStore, line: Line): void {
  line.onMessage((message) => {
    const { data } = question.safeParse(message);
    if (data === undefined) return;
    const result: unknown = Reflect.apply(store[data.quota], store, [data.input]);
    line.send({ quotaAnswer: data.number, result });
  });
}
