/**
 * What each process recorded before it was killed: one line for each event, appended immediately to
 * a file that all processes share, so that SIGKILL loses nothing.
 */
import { openSync, readFileSync, writeSync } from 'node:fs';
import { z } from 'zod';

/** One event in the life of a hold, as one process saw it. */
export type Fact =
  /** The hold is about to be reserved. */
  | { readonly fact: 'reserving'; readonly id: string; readonly subject: string }
  /** The store has confirmed the hold; nothing has been sent upstream. */
  | { readonly fact: 'held'; readonly id: string }
  /** The hold is about to be settled with this charge. */
  | { readonly fact: 'settling'; readonly id: string; readonly amount: bigint }
  /** The store has confirmed the charge, with this status. */
  | { readonly fact: 'acknowledged'; readonly id: string; readonly status: string }
  /** The hold has been released. */
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

/** Writes facts; each of them is in the file when the call returns. */
export type Note = (fact: Fact) => void;

/** Opens the shared file in one process. */
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
