/** The thought that no provider data has closed yet: a signature vouches for the text before it. */
import type { ProviderData } from '../../../canonical/provider-data.ts';
import { type Piece, reasoningDetail } from './reply-pieces.ts';

/** Gathers the text of a thought until its signature comes. */
export interface OpenReasoning {
  add(text: string): void;
  /** Something else has come between: what is signed later is another thought. */
  drop(): void;
  /** The thought with what closes it, as callers are to send it back. */
  close(providerData: ProviderData): Piece;
}

/** A thought without any text yet. */
export function openReasoning(): OpenReasoning {
  let text = '';
  return {
    add: (more) => {
      text += more;
    },
    drop: () => {
      text = '';
    },
    close: (providerData) => {
      const detail = reasoningDetail(providerData, text);
      text = '';
      return detail;
    },
  };
}
