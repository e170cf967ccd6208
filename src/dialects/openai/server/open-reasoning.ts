/**
 * Tracks the reasoning that no signature has closed yet: a signature vouches for the text before
 * it.
 */
import type { ProviderData } from '../../../canonical/provider-data.ts';
import { type Piece, reasoningDetail } from './reply-pieces.ts';

/** Collects the text of a reasoning block until its signature arrives. */
export interface OpenReasoning {
  add(text: string): void;
  /** Discards the text: other content follows, so a later signature belongs to another block. */
  drop(): void;
  /** Returns the block with its provider data in the form in which callers send it back. */
  close(providerData: ProviderData): Piece;
}

/** Starts without text. */
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
