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

type Reasoning = Pick<EventOf<'reasoning'>, 'text' | 'providerData'>;

export interface ThinkingOptions {
  readonly sink: BlockSink;
  readonly thinking: ThinkingDisplay;
  readonly needsReasoningBack: boolean;
}

export class ThinkingWriter {
  /** The caller expects no thinking: it is held back until a call needs it. */
  readonly isHidden: boolean;
  readonly #options: ThinkingOptions;
  #openText: string | undefined;
  #held: Reasoning[] = [];
  /** More reasoning belongs to the block that was held last. */
  #isHeldOpen = false;
  #heldSignature: ProviderData | undefined;

  constructor(options: ThinkingOptions) {
    this.#options = options;
    this.isHidden = options.thinking === 'off';
  }

  /** Adds reasoning. Blocks of other kinds have ended, unless thinking is hidden. */
  add(reasoning: Reasoning): void {
    if (this.isHidden) this.#hold(reasoning);
    else this.#write(reasoning);
  }

  signText(signature: ProviderData): void {
    // Reasoning that is held from before it belongs to no later signature.
    this.#isHeldOpen = false;
    this.#seal(textEnvelope(signature));
  }

  /** Holds the signature of the text so far until a call needs it. */
  holdText(signature: ProviderData): void {
    this.#isHeldOpen = false;
    this.#heldSignature = signature;
  }

  /** More text follows, which a held signature does not sign. */
  dropHeldText(): void {
    this.#isHeldOpen = false;
    this.#heldSignature = undefined;
  }

  signCall(begin: ToolCallBegin): void {
    this.#seal(callEnvelope(begin));
  }

  #write({ text, providerData }: Reasoning): void {
    if (text !== '') this.#addText(text);
    if (providerData === undefined) return;
    if (providerData.kind === 'encrypted') {
      this.close();
      const data = reasoningEnvelope('', providerData);
      this.#options.sink.begin({ type: 'redacted_thinking', data });
      return this.#options.sink.end();
    }
    // The text of the block is what the signature authenticates.
    const whole = this.#openText ?? this.#addText('');
    const shown = this.#options.thinking === 'shown' ? undefined : whole;
    this.#end(reasoningEnvelope(shown, providerData));
  }

  #addText(text: string): string {
    if (this.#openText === undefined) this.#options.sink.begin({ type: 'thinking' });
    this.#openText = (this.#openText ?? '') + text;
    if (this.#options.thinking === 'shown' && text !== '') this.#options.sink.add(text);
    return this.#openText;
  }

  close(): void {
    const openText = this.#openText;
    if (openText === undefined) return;
    const isNeeded = this.#options.needsReasoningBack && this.#options.thinking !== 'shown';
    this.#end(unsignedEnvelope(isNeeded ? openText : undefined));
  }

  #end(envelope: string): void {
    this.#openText = undefined;
    this.#options.sink.end(envelope);
  }

  #seal(envelope: string | undefined): void {
    if (envelope === undefined) return;
    this.#options.sink.begin({ type: 'thinking' });
    this.#options.sink.end(envelope);
  }

  /** Reasoning continues until it is signed, or other content comes. */
  #hold({ text, providerData }: Reasoning): void {
    const last =
      this.#isHeldOpen && providerData?.kind !== 'encrypted' ? this.#held.pop() : undefined;
    this.#held.push({ text: `${last?.text ?? ''}${text}`, providerData });
    this.#isHeldOpen = providerData === undefined;
  }

  /** Reasoning that nobody signed is written only if the upstream needs it back. */
  release(): void {
    const held = this.#held;
    const heldSignature = this.#heldSignature;
    this.#held = [];
    this.#isHeldOpen = false;
    this.#heldSignature = undefined;
    this.#seal(textEnvelope(heldSignature));
    for (const reasoning of held) {
      if (reasoning.providerData === undefined && !this.#options.needsReasoningBack) continue;
      this.#write(reasoning);
      this.close();
    }
  }
}
