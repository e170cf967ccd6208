/** Joins the pieces of a choice, for all readers in this folder. */
import type { OutputPart } from './oracle.ts';
import { isRecord, parsed } from './tree.ts';

/** Removes empty text, and joins consecutive text of one kind. */
export function joined(output: readonly OutputPart[]): readonly OutputPart[] {
  const pieces: OutputPart[] = [];
  for (const piece of output) {
    const last = pieces.at(-1);
    const isText = piece.kind === 'text' || piece.kind === 'thought';
    if (isText && piece.text === '') continue;
    if (!isText || last?.kind !== piece.kind) pieces.push(piece);
    else pieces[pieces.length - 1] = { ...piece, text: last.text + piece.text };
  }
  return pieces;
}

/** The arguments of a call as an object; other text is wrapped in one. */
export function argumentsOf(json: string): unknown {
  if (json.trim() === '') return {};
  const value = parsed(json);
  return isRecord(value) ? value : { _raw: json };
}
