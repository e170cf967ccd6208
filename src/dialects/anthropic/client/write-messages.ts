/**
 * Arranges the turns as Anthropic requires: alternating roles, results directly after their calls,
 * and instructions only where they are allowed.
 */

import { portableCallId } from '../../../canonical/call-ids.ts';
import type { ProviderData } from '../../../canonical/provider-data.ts';
import {
  type ContentRequest,
  type Part,
  type ReasoningPart,
  type Turn,
  unsentProviderData,
} from '../../../canonical/request.ts';
import { pairedTurns } from '../../../canonical/tool-results.ts';
import { nothingToSend, notPortable } from '../../not-portable.ts';
import { writeAssistantParts, writeSystemParts, writeUserParts } from './write-parts.ts';
import type { Block, Message, PartTarget } from './written.ts';

export interface WrittenConversation {
  readonly system: readonly Block[];
  readonly messages: readonly Message[];
  readonly dropped: readonly string[];
}

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

/** The last message must not end in white space. Thinking is removed, as it excludes prefill. */
function writePrefill(
  messages: readonly Message[],
  assistantParts: readonly Part[],
  { capabilities }: PartTarget,
): Pick<WrittenConversation, 'messages' | 'dropped'> {
  const lastText = assistantParts.findLast(
    (part) => part.kind === 'text' && part.text.trim() !== '',
  );
  if (!capabilities.prefill) {
    const at = assistantParts.at(-1)?.at;
    throw notPortable(
      at,
      "This model can't continue an assistant message (prefill); end with a user message.",
    );
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

export function isThinkingBlock({ type }: Block): boolean {
  return type === 'thinking' || type === 'redacted_thinking';
}

/** Ids must be unique per conversation, while some providers restart at `call_1` each turn. */
function withUniqueCallIds(turns: readonly Turn[]): readonly Turn[] {
  const unique = uniqueIds();
  let newIds = new Map<string, Queue>();
  return turns.map((turn) => {
    if (turn.role === 'assistant') newIds = new Map();
    const parts = turn.parts.map((part): Part => {
      if (part.kind === 'tool_call') {
        const id = unique(portableCallId(part.id));
        const queue = newIds.get(part.id);
        if (queue === undefined) newIds.set(part.id, { ids: [id], next: 0 });
        else queue.ids.push(id);
        return { ...part, id };
      }
      if (part.kind !== 'tool_result') return part;
      return { ...part, callId: nextOf(newIds.get(part.callId)) ?? portableCallId(part.callId) };
    });
    return { ...turn, parts };
  });
}

/** The new ids of calls that shared an id, in call order. */
interface Queue {
  readonly ids: string[];
  next: number;
}

/** Returns the last id repeatedly if there are more results than calls. */
function nextOf(queue: Queue | undefined): string | undefined {
  if (queue === undefined) return undefined;
  const id = queue.ids[queue.next];
  queue.next = Math.min(queue.next + 1, queue.ids.length - 1);
  return id;
}

/** The counter continues per id, so that many duplicates don't take quadratic time. */
function uniqueIds(): (id: string) => string {
  const used = new Set<string>();
  const copies = new Map<string, number>();
  return (id) => {
    let free = id;
    for (let copy = copies.get(id) ?? 2; used.has(free); copy += 1) {
      free = portableCallId(`${id}_${copy}`);
      copies.set(id, copy + 1);
    }
    used.add(free);
    return free;
  };
}

/** Callers echo thinking in the pieces of a stream, possibly in separate messages. */
function withJoinedThinking(turns: readonly Turn[]): readonly Turn[] {
  const joined: Turn[] = [];
  let assistantParts: Part[] | undefined;
  for (const turn of turns) {
    if (turn.role !== 'assistant') {
      assistantParts = undefined;
      joined.push(turn);
    } else if (assistantParts === undefined) {
      assistantParts = [...turn.parts];
      joined.push({ ...turn, parts: assistantParts });
    } else {
      for (const part of turn.parts) assistantParts.push(part);
    }
  }
  return joined.map((turn) =>
    turn.role === 'assistant' ? { ...turn, parts: joinThinking(turn.parts) } : turn,
  );
}

function joinThinking(parts: readonly Part[]): readonly Part[] {
  const joined: Part[] = [];
  for (const part of parts) {
    const start = isLoneSignature(part) ? joined.findLastIndex((one) => !isUnsigned(one)) + 1 : 0;
    const unsigned = isLoneSignature(part) ? joined.slice(start).filter(isUnsigned) : [];
    const [first] = unsigned;
    if (first === undefined) {
      joined.push(part);
    } else {
      const text = unsigned.map((part) => part.text).join('');
      joined.splice(start, unsigned.length, { ...first, text, providerData: part.providerData });
    }
  }
  return joined;
}

function isUnsigned(part: Part): part is ReasoningPart {
  return part.kind === 'reasoning' && part.providerData === undefined && !part.displayOnly;
}

/**
 * Whether the part is only a signature. Redacted thinking has no text either, but is complete, and
 * so is thinking that came in one member with its signature.
 */
function isLoneSignature(part: Part): boolean {
  const { providerData, providerDataAt } = part;
  return (
    part.kind === 'reasoning' &&
    part.text === '' &&
    providerDataAt === undefined &&
    providerData?.provider === 'anthropic' &&
    providerData.kind === 'signature'
  );
}
