/**
 * Arranges the turns as Anthropic requires: alternating roles, results directly after their calls,
 * and instructions only where they are allowed.
 */
import { unsentProviderData } from '../../../canonical/every-part.ts';
import type { ProviderData } from '../../../canonical/provider-data.ts';
import type { ContentRequest, Part, Turn } from '../../../canonical/request.ts';
import { pairedTurns } from '../../../canonical/tool-results.ts';
import { GatewayError } from '../../../errors.ts';
import { nothingToSend } from '../../nothing-to-send.ts';
import { withUniqueCallIds } from './call-ids.ts';
import { withJoinedThinking } from './echoed-thinking.ts';
import { writeAssistantParts, writeSystemParts, writeUserParts } from './write-parts.ts';
import type { Block, Message, PartTarget } from './written.ts';

/** A conversation in Anthropic's format. */
export interface WrittenConversation {
  readonly system: readonly Block[];
  readonly messages: readonly Message[];
  readonly dropped: readonly string[];
}

/**
 * @throws GatewayError `not_portable` if no message remains, or if the conversation ends with the
 *   assistant and the model doesn't support prefill
 */
export function writeConversation(
  request: ContentRequest,
  target: PartTarget,
): WrittenConversation {
  const paired = pairedTurns(request.turns);
  const turns = withJoinedThinking(withUniqueCallIds(paired.turns));
  const head = writeSystemParts(request.system);
  const layout = newLayout(target.capabilities.midSystem, head.blocks);
  const dropped: string[] = [...paired.dropped, ...head.dropped];
  for (const { role, parts } of turns) {
    const written = writers[role](parts, target);
    for (const at of written.dropped) dropped.push(at);
    layout.add(role, written.blocks);
  }

  const { system, messages, movedSystem } = layout.end();
  if (movedSystem) dropped.push(request.names.system);
  const assistantParts = turns
    .filter(({ role }) => role === 'assistant')
    .flatMap(({ parts }) => parts);
  const prepared =
    messages.at(-1)?.role === 'assistant'
      ? writePrefill(messages, assistantParts, target)
      : { messages, dropped: [] };
  if (prepared.messages.length === 0) throw nothingToSend(request);
  for (const at of unsentProviderData(request, isOwnThinking)) dropped.push(at);
  return { system, messages: prepared.messages, dropped: [...dropped, ...prepared.dropped] };
}

/** Anthropic signs nothing but thinking. */
function isOwnThinking({ provider }: ProviderData, { kind }: Part): boolean {
  return provider === 'anthropic' && kind === 'reasoning';
}

const writers = {
  system: writeSystemParts,
  user: writeUserParts,
  assistant: writeAssistantParts,
} as const;

/** Arranges messages in an order of roles that the API accepts. */
interface Layout {
  add(role: Turn['role'], blocks: readonly Block[]): void;
  end(): {
    readonly system: readonly Block[];
    readonly messages: readonly Message[];
    /** An instruction became a user message. */
    readonly movedSystem: boolean;
  };
}

/**
 * An instruction in the middle must follow a user message and precede an assistant message or the
 * end; it waits for the next such position. If no user message follows, the model is to reply to
 * the instruction, which becomes a user message.
 */
function newLayout(midSystem: 'inline' | 'lift', head: readonly Block[]): Layout {
  const system: Block[] = [...head];
  const messages: { role: Message['role']; content: Block[] }[] = [];
  let waiting: Block[] = [];

  const push = (role: Message['role'], blocks: readonly Block[]): void => {
    const last = messages.at(-1);
    // Spreading a hundred thousand blocks into `push` would overflow the stack.
    if (last?.role === role) for (const block of blocks) last.content.push(block);
    else messages.push({ role, content: [...blocks] });
  };
  const placeWaiting = (): void => {
    if (waiting.length === 0) return;
    if (midSystem === 'lift') for (const block of waiting) system.push(block);
    else if (messages.at(-1)?.role === 'user') push('system', waiting);
    else return;
    waiting = [];
  };

  return {
    add: (role, blocks) => {
      if (blocks.length === 0) return;
      if (role === 'system') {
        for (const block of blocks) waiting.push(block);
        return;
      }
      if (role === 'assistant') placeWaiting();
      push(role, blocks);
    },
    end: () => {
      if (waiting.length === 0 && messages.length === 0) waiting = system.splice(-1);
      const movedSystem = messages.at(-1)?.role !== 'user' && waiting.length > 0;
      if (movedSystem) push('user', waiting);
      else placeWaiting();
      return { system, messages, movedSystem };
    },
  };
}

/**
 * Prepares messages that end with an assistant message for the model to continue (prefill). It must
 * not end in white space, and its thinking is removed, because thinking excludes prefill.
 */
function writePrefill(
  messages: readonly Message[],
  assistantParts: readonly Part[],
  { capabilities }: PartTarget,
): Pick<WrittenConversation, 'messages' | 'dropped'> {
  const lastText = assistantParts.findLast(
    (part) => part.kind === 'text' && part.text.trim() !== '',
  );
  if (!capabilities.prefill) {
    const sentence =
      "This model can't continue an assistant message (prefill); end with a user message.";
    const at = assistantParts.at(-1)?.at;
    throw new GatewayError('not_portable', sentence, at === undefined ? {} : { param: at });
  }
  const blocks = messages.at(-1)?.content ?? [];
  const withoutThinking = blocks.filter((block) => !isThinkingBlock(block));
  const signedReasoning = assistantParts.filter(
    ({ kind, providerData }) => kind === 'reasoning' && providerData !== undefined,
  );
  const droppedReasoning = signedReasoning.slice(
    signedReasoning.length - (blocks.length - withoutThinking.length),
  );
  const last = withoutThinking.at(-1);
  const text = last?.type === 'text' && typeof last.text === 'string' ? last.text : '';
  const isCut = text !== text.trimEnd();
  const content = isCut
    ? [...withoutThinking.slice(0, -1), { ...last, text: text.trimEnd() }]
    : withoutThinking;
  const others = messages.slice(0, -1);
  return {
    messages: content.length === 0 ? others : [...others, { role: 'assistant', content }],
    dropped: [...droppedReasoning, ...(isCut && lastText !== undefined ? [lastText] : [])].map(
      ({ at }) => at,
    ),
  };
}

/** Whether the block is thinking, visible or redacted. */
export function isThinkingBlock({ type }: Block): boolean {
  return type === 'thinking' || type === 'redacted_thinking';
}
