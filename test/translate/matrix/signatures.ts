/** The row of signatures: what a provider signed comes back to it when its caller echoes it. */
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import type { DialectName } from '../../../src/ports/models/capabilities.ts';
import { called } from './call.ts';
import type { ContentColumn } from './columns.ts';
import { holds } from './json.ts';
import { cell, none } from './outcome.ts';
import { type ReceivedReply, received } from './received.ts';
import { anthropicReply, geminiReply, plainReplies, scripted } from './upstream-replies.ts';

/** The title of the row. */
export const signatureFeature = 'signatures of reasoning and tool calls, echoed to their provider';

const signature = 'c2lnbmVkIGJ5IGl0cyBwcm92aWRlcg==';
const input = { city: 'Rome' };

const replies: Readonly<Partial<Record<DialectName, JsonObject>>> = {
  gemini: geminiReply([
    { text: 'Hm.', thought: true },
    { functionCall: { id: 'a', name: 'weather', args: input }, thoughtSignature: signature },
  ]),
  anthropic: anthropicReply(
    [
      { type: 'thinking', thinking: 'Hm.', signature },
      { type: 'tool_use', id: 'a', name: 'weather', input },
    ],
    { stop_reason: 'tool_use' },
  ),
};

/** Where the provider looks for it. */
const wanted: Readonly<Partial<Record<DialectName, readonly JsonObject[]>>> = {
  gemini: [[{}], [{}, {}]].map((before) => ({
    contents: [
      {},
      { parts: [...before.slice(1), { functionCall: {}, thoughtSignature: signature }] },
      {},
    ],
  })),
  anthropic: [
    {
      messages: [
        {},
        { content: [{ type: 'thinking', thinking: 'Hm.', signature }, { type: 'tool_use' }] },
        {},
      ],
    },
  ],
};

/** The cell of a column. */
export async function signatureCell(column: ContentColumn): Promise<string> {
  const { dialect, protocol } = column;
  const reply = replies[dialect];
  if (reply === undefined) return none;
  const outcomes = [false, true].map(async (streamed) => {
    const first = await called(
      column,
      streamed,
      firstAsk(column),
      scripted(dialect, reply, streamed),
    );
    const history = nextAsk(column, received(protocol, streamed, first.answer));
    const plain = scripted(dialect, plainReplies[dialect], streamed);
    const second = await called(column, streamed, history, plain);
    const isBack = wanted[dialect]?.some((body) => holds(second.upstream, body)) === true;
    if (!isBack) return `LOST ${JSON.stringify(second.upstream)} ${second.answer.text}`;
    return second.isUntouched ? 'relayed' : 'carried';
  });
  return cell(await Promise.all(outcomes));
}

const chatTools = [{ type: 'function', function: { name: 'weather' } }];
const nativeTools = [{ functionDeclarations: [{ name: 'weather' }] }];

function firstAsk({ protocol }: ContentColumn): JsonObject {
  return protocol === 'chat'
    ? { tools: chatTools, reasoning_effort: 'high' }
    : { tools: nativeTools, generationConfig: { thinkingConfig: { thinkingLevel: 'HIGH' } } };
}

/** The next request of a caller that ran the call. */
function nextAsk(column: ContentColumn, { message, calls }: ReceivedReply): JsonObject {
  const [call] = calls;
  const id = call?.id ?? '';
  const history: Readonly<Record<ContentColumn['protocol'], JsonValue>> = {
    chat: [
      { role: 'user', content: 'hi' },
      message,
      { role: 'tool', tool_call_id: id, content: 'sunny' },
    ],
    native: [
      { role: 'user', parts: [{ text: 'hi' }] },
      message,
      {
        role: 'user',
        parts: [{ functionResponse: { id, name: 'weather', response: { output: 'sunny' } } }],
      },
    ],
  };
  const request = firstAsk(column);
  return column.protocol === 'chat'
    ? { ...request, messages: history.chat }
    : { ...request, contents: history.native };
}
