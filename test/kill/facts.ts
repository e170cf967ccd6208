/**
 * What a process knows at the moment it dies: one line a fact, appended at once to a file that all
 * processes share, so that SIGKILL can take back nothing.
 */
import { openSync, readFileSync, writeSync } from 'node:fs';
import { z } from 'zod';

/** One thing that a process knew about one hold. */
export type Fact =
  /** The store is about to be asked for it. */
  | { readonly fact: 'reserving'; readonly id: string; readonly subject: string }
  /** It stands, and nothing has gone upstream yet. */
  | { readonly fact: 'held'; readonly id: string }
  /** The store is about to be told of its charge. */
  | { readonly fact: 'settling'; readonly id: string; readonly amount: bigint }
  /** The charge stands, and in which words the store said so. */
  | { readonly fact: 'acknowledged'; readonly id: string; readonly status: string }
  /** It is given back. */
  | { readonly fact: 'released'; readonly id: string };

const id = z.string();
const amount = z.string().transform(BigInt);

const factSchema: z.ZodType<Fact> = z.discriminatedUnion('fact', [
  z.object({ fact: z.literal('reserving'), id, subject: z.string() }),
  z.object({ fact: z.literal('held'), id }),
  z.object({ fact: z.literal('settling'), id, amount }),
  z.object({ fact: z.literal('acknowledged'), id, status: z.string() }),
  z.object({ fact: z.literal('released'), id }),
]);

/** Writes facts; each is in the file when the call returns. */
export type Note = (fact: Fact) => void;

/** Opens the file for one process of several. */
export function factWriter(path: string): Note {
  const file = openSync(path, 'a');
  return (fact) => {
    const text = JSON.stringify(fact, (_, value: unknown) =>
      typeof value === 'bigint' ? `${value}` : value,
    );
    // One write, with O_APPEND: lines of several processes never mix.
    writeSync(file, `${text}\n`);
  };
}

/** Every fact that was written, in order. */
export function readFacts(path: string): readonly Fact[] {
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => factSchema.parse(JSON.parse(line)));
}
