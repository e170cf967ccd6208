/**
 * Writes the thinking blocks of a reply, each in its place. What the upstream needs back is in an
 * envelope in `signature`, or in `data` of `redacted_thinking`: clients return both unchanged and
 * in their places, and drop other additions.
 *
 * - Reasoning is a block, which its signature ends. Encrypted reasoning is a redacted block.
 * - The signature of a call is a block without text directly before the call.
 * - The signature of a text is a block without text directly after the text.
 */
import type { ProviderData } from '../../../canonical/provider-data.ts';
import {
  callEnvelope,
  reasoningEnvelope,
  textEnvelope,
  unsignedEnvelope,
} from '../../../canonical/reasoning-envelopes.ts';
import type { EventOf, ToolCallBegin } from '../../../canonical/reply.ts';
import type { BlockSink } from './block-sink.ts';
import type { ThinkingDisplay } from './exchange.ts';

export interface ThinkingWriter {
  /** The caller expects no thinking: it is held back until a call needs it. */
  readonly isHidden: boolean;
  /** Adds reasoning. Blocks of other kinds have ended, unless thinking is hidden. */
  add(reasoning: Reasoning): void;
  signText(signature: ProviderData): void;
  /** Holds the signature of the text so far until a call needs it. */
  holdText(signature: ProviderData): void;
  /** More text follows, which a held signature does not sign. */
  dropHeldText(): void;
  /** Writes what was held back. Blocks of other kinds have ended. */
  release(): void;
  signCall(begin: ToolCallBegin): void;
  close(): void;
}

type Reasoning = Pick<EventOf<'reasoning'>, 'text' | 'providerData'>;

export interface ThinkingOptions {
  readonly sink: BlockSink;
  readonly thinking: ThinkingDisplay;
  readonly needsReasoningBack: boolean;
}

interface ThinkingState extends ThinkingOptions {
  openText: string | undefined;
  held: Reasoning[];
  /** More reasoning belongs to the block that was held last. */
  isHeldOpen: boolean;
  heldSignature: ProviderData | undefined;
}

export function thinkingWriter(options: ThinkingOptions): ThinkingWriter {
  const state: ThinkingState = {
    ...options,
    openText: undefined,
    held: [],
    isHeldOpen: false,
    heldSignature: undefined,
  };
  const isHidden = options.thinking === 'off';
  return {
    isHidden,
    add: (reasoning) => (isHidden ? hold(state, reasoning) : write(state, reasoning)),
    signText: (signature) => {
      // Reasoning that is held from before it belongs to no later signature.
      state.isHeldOpen = false;
      seal(state, textEnvelope(signature));
    },
    holdText: (signature) => {
      state.isHeldOpen = false;
      state.heldSignature = signature;
    },
    dropHeldText: () => {
      state.isHeldOpen = false;
      state.heldSignature = undefined;
    },
    release: () => release(state),
    signCall: (begin) => seal(state, callEnvelope(begin)),
    close: () => close(state),
  };
}

function write(state: ThinkingState, { text, providerData }: Reasoning): void {
  if (text !== '') addText(state, text);
  if (providerData === undefined) return;
  if (providerData.kind === 'encrypted') {
    close(state);
    const data = reasoningEnvelope('', providerData);
    state.sink.begin({ type: 'redacted_thinking', data });
    return state.sink.end();
  }
  // The text of the block is what the signature authenticates.
  const whole = state.openText ?? addText(state, '');
  const shown = state.thinking === 'shown' ? undefined : whole;
  end(state, reasoningEnvelope(shown, providerData));
}

function addText(state: ThinkingState, text: string): string {
  if (state.openText === undefined) state.sink.begin({ type: 'thinking' });
  state.openText = (state.openText ?? '') + text;
  if (state.thinking === 'shown' && text !== '') state.sink.add(text);
  return state.openText;
}

function close(state: ThinkingState): void {
  const { openText, thinking, needsReasoningBack } = state;
  if (openText === undefined) return;
  const isNeeded = needsReasoningBack && thinking !== 'shown';
  end(state, unsignedEnvelope(isNeeded ? openText : undefined));
}

function end(state: ThinkingState, envelope: string): void {
  state.openText = undefined;
  state.sink.end(envelope);
}

function seal({ sink }: ThinkingState, envelope: string | undefined): void {
  if (envelope === undefined) return;
  sink.begin({ type: 'thinking' });
  sink.end(envelope);
}

/** Reasoning continues until it is signed, or other content comes. */
function hold(state: ThinkingState, { text, providerData }: Reasoning): void {
  const { held, isHeldOpen } = state;
  const last = isHeldOpen && providerData?.kind !== 'encrypted' ? held.pop() : undefined;
  held.push({ text: `${last?.text ?? ''}${text}`, providerData });
  state.isHeldOpen = providerData === undefined;
}

/** Reasoning that nobody signed is written only if the upstream needs it back. */
function release(state: ThinkingState): void {
  const { held, heldSignature, needsReasoningBack } = state;
  state.held = [];
  state.isHeldOpen = false;
  state.heldSignature = undefined;
  seal(state, textEnvelope(heldSignature));
  for (const reasoning of held) {
    if (reasoning.providerData === undefined && !needsReasoningBack) continue;
    write(state, reasoning);
    close(state);
  }
}
