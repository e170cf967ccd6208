// suite: quick
/** Features of replies on every wire: read from upstreams, written for callers, also streamed. */
import { describe, expect, it } from 'vitest';
import { contents } from './contents.ts';
import { finishes, unusables, usages } from './finishes.ts';
import { tool } from './parts.ts';
import { callReplies, reasoning, texts } from './replies.ts';
import { checkReplies } from './reply-rows.ts';
import { exchangeWith } from './wires.ts';

describe('texts', () => checkReplies(texts));
describe('reasoning', () => checkReplies(reasoning));
describe('calls', () => checkReplies(callReplies));

it('a function that was renamed for the upstream has the caller’s name in the reply', () => {
  const request = { tools: [tool('1 f.g:h')] };
  const name = (wire: 'chat' | 'messages' | 'gemini') =>
    /"name":"([^"]*_[0-9a-f]{6})"/.exec(exchangeWith(wire, request).body)?.[1] ?? '';
  const chat = { id: 'a', function: { name: name('chat'), arguments: '{}' } };
  const claude = { type: 'tool_use', id: 'a', name: name('messages'), input: {} };
  const gemini = { functionCall: { name: name('gemini') } };

  for (const events of [
    exchangeWith('chat', request).readReply({ choices: [{ message: { tool_calls: [chat] } }] }),
    exchangeWith('messages', request).readReply({ content: [claude] }),
    exchangeWith('gemini', request).readReply({ candidates: [{ content: { parts: [gemini] } }] }),
  ]) {
    expect(events).toContainEqual(expect.objectContaining({ name: '1 f.g:h' }));
  }
});

describe('other contents', () => checkReplies(contents));
describe('ends', () => checkReplies(finishes));
describe('replies of no use', () => checkReplies(unusables));
describe('usage', () => checkReplies(usages));
