/** The thinking that Anthropic refuses: blocks that were changed, moved or left out. */
import { type JsonValue, member } from '../../src/json.ts';
import {
  currentTurn,
  isThinking,
  type Message,
  ofType,
  redactedDataOf,
  redacts,
  signatureOfRound,
} from '../../src/testing/providers/anthropic.ts';
import { claudeSignature, thinkingPieces } from '../../src/testing/providers/anthropic-replies.ts';
import { agentOf, signatureOf } from '../../src/testing/providers/provider.ts';

/** The message with which Anthropic refuses the thinking of a conversation, or undefined. */
export function refusedThinking(
  body: JsonValue | undefined,
  messages: readonly Message[],
): string | undefined {
  return (
    changedThinking(messages) ??
    movedThinking(String(member(body, 'model')), messages) ??
    wrongBudget(body, messages) ??
    (isThinking(body) && (member(body, 'temperature') ?? 1) !== 1
      ? '`temperature` may only be set to 1 when thinking is enabled.'
      : undefined)
  );
}

const rounds = Array.from({ length: 10 }, (_none, round) => round);

/** Every signed block must be as it was, also those of earlier turns. */
function changedThinking(messages: readonly Message[]): string | undefined {
  for (const { blocks, at } of messages) {
    const changed = blocks.findIndex((block) => !isUnchanged(block));
    if (changed === -1) continue;
    const place = `${at}.content.${changed}`;
    return member(blocks[changed], 'type') === 'thinking'
      ? `${place}: Invalid \`signature\` in \`thinking\` block`
      : `${place}: Invalid \`data\` in \`redacted_thinking\` block`;
  }
  return undefined;
}

function isUnchanged(block: JsonValue): boolean {
  const type = member(block, 'type');
  if (type === 'redacted_thinking') {
    return rounds.some((round) => member(block, 'data') === redactedDataOf(round));
  }
  if (type !== 'thinking') return true;
  const thinking = member(block, 'thinking');
  const signature = member(block, 'signature');
  if (signature === claudeSignature) return thinking === '' || thinking === thinkingPieces.join('');
  const isOmitted =
    thinking === '' && rounds.some((round) => signature === signatureOfRound(round));
  return isOmitted || signature === signatureOf(String(thinking));
}

/** Blocks of an agent's current turn are in the message of their round, all or none of them. */
function movedThinking(model: string, messages: readonly Message[]): string | undefined {
  if (!agentOf(model).signsEachRound) return undefined;
  const answers = currentTurn(messages).filter(({ role }) => role === 'assistant');
  for (const [round, { blocks, at }] of answers.entries()) {
    const marks = blocks.filter(isThought).map((block) => markOf(block));
    const original = [...(redacts(model) ? [redactedDataOf(round)] : []), signatureOfRound(round)];
    const isMoved = marks.length > 0 && marks.join() !== original.join();
    const isLate = marks.length > 0 && !blocks.slice(0, marks.length).every(isThought);
    if (!isMoved && !isLate) continue;
    return (
      `${at}.content: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant ` +
      'message cannot be modified. These blocks must remain as they were in the original response.'
    );
  }
  return undefined;
}

function isThought(block: JsonValue): boolean {
  return ofType([block], 'thinking', 'redacted_thinking').length > 0;
}

function markOf(block: JsonValue): JsonValue | undefined {
  return member(block, 'signature') ?? member(block, 'data');
}

function wrongBudget(
  body: JsonValue | undefined,
  messages: readonly Message[],
): string | undefined {
  const thinking = member(body, 'thinking');
  if (member(thinking, 'type') !== 'enabled') return undefined;
  const budget = Number(member(thinking, 'budget_tokens'));
  if (!(budget >= 1024)) {
    return 'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024';
  }
  if (budget >= Number(member(body, 'max_tokens') ?? Number.POSITIVE_INFINITY)) {
    return '`max_tokens` must be greater than `thinking.budget_tokens`.';
  }
  const thoughtless = currentTurn(messages).find(
    ({ role, blocks: [first] }) =>
      role === 'assistant' && !(first !== undefined && isThought(first)),
  );
  if (thoughtless === undefined) return undefined;
  return (
    `${thoughtless.at}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found ` +
    `\`${member(thoughtless.blocks[0], 'type')}\`. When \`thinking\` is enabled, a final ` +
    '`assistant` message must start with a thinking block (preceeding the lastmost set of ' +
    '`tool_use` and `tool_result` blocks).'
  );
}
