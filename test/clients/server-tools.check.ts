/**
 * What only Anthropic can run: searches, fetches, code execution, and `fallbacks`. They are relayed
 * where the record of the model prices or allows them, and refused with an explanation elsewhere.
 */
import { describe, expect, it, onTestFinished } from 'vitest';
import { items, type JsonValue, member } from '../../src/json.ts';
import { anthropicError } from '../../src/testing/providers/anthropic-replies.ts';
import {
  claudeReply,
  claudeText,
  type RecordedReply,
  recordedReply,
  textOf,
  valuesOf,
} from './claude-replies.ts';
import type { ServerTool } from './drivers/client.ts';
import { failureOf, pairs, started } from './pairs.ts';
import { searchNanos } from './upstreams.ts';

const recordings: Readonly<Record<ServerTool, { whole: string; streamed: string }>> = {
  web_search: { whole: 'messages/web-search.1', streamed: 'messages/stream-web-search.1' },
  web_fetch: { whole: 'messages/web-fetch.1', streamed: 'messages/stream-web-fetch.1' },
  code_execution: {
    whole: 'messages/code-exec-container.1',
    streamed: 'messages/stream-code-exec.1',
  },
};
/** The text of a refusal, after the name of the member. */
const refusals: Readonly<Record<ServerTool, RegExp>> = {
  web_search: /`tools\[0\]\.type` searches the web for a fee/,
  web_fetch: /`tools\[0\]\.type` fetches pages of unlimited size/,
  code_execution: /`tools\[0\]\.type` runs code at the provider/,
};
const serverTools = ['web_search', 'web_fetch', 'code_execution'] as const;

describe.each(pairs(9, 'messages'))('%s', (_name, pair) => {
  const { client, upstream } = pair;
  const isRelayed = upstream.dialect === 'anthropic';

  it.each(
    serverTools,
  )('is refused %s with an explanation, unless the record prices it', async (name) => {
    const { target, upstream: fake } = await started(pair, onTestFinished);
    const question = { prompt: 'Hello!', serverTool: name };

    const unpriced = await failureOf(client.ask(target('plain'), question));

    expect(unpriced).toMatchObject({ status: 400, message: expect.stringMatching(refusals[name]) });
    if (!isRelayed) {
      const priced = await failureOf(client.ask(target('tools'), question));
      expect(priced).toMatchObject({ status: 400, message: expect.stringContaining('tools[0]') });
    }
    expect(fake.calls).toEqual([]);
  });

  it.runIf(isRelayed).each(serverTools)('shows what %s found, and pays for it', async (name) => {
    const { target, upstream: fake, nextRecord } = await started(pair, onTestFinished);
    const { script, message } = recorded(name);
    fake.enqueue(script);

    const { text, cited } = await client.ask(target('tools'), {
      prompt: 'Hello!',
      serverTool: name,
    });
    const { usage, chargeNanos, basis } = await nextRecord();

    expect(text).toBe(textOf(message));
    for (const page of citedPages(message)) expect(cited).toContain(page);
    const { inputTokens = 0, outputTokens = 0 } = usage ?? {};
    const fee = name === 'web_search' ? searchNanos : 0n;
    expect(usage?.toolCalls?.web_search).toBe(name === 'web_search' ? 1 : 0);
    expect({ basis, chargeNanos }).toEqual({
      basis: 'usage',
      chargeNanos: BigInt(inputTokens) + 4n * BigInt(outputTokens) + fee,
    });
  });

  const kept = serverTools.filter((name) => client.forgets?.includes(name) !== true);
  it.runIf(isRelayed).each(kept)('sends back the turn in which %s ran', async (name) => {
    const { target, upstream: fake } = await started(pair, onTestFinished);
    const { script, message } = recorded(name);
    fake.enqueue(script, claudeText([{ type: 'text', text: 'Fog.' }], client.streams));

    await client.converse(target('tools'), {
      prompts: ['Hello!', 'And now?'],
      tools: [],
      serverTool: name,
      reasons: false,
    });

    const [, , ...more] = fake.calls;
    const sent = member(fake.calls[1]?.json(), 'messages');
    expect(more).toEqual([]);
    for (const mark of ['encrypted_content', 'tool_use_id', 'stdout']) {
      expect(valuesOf(mark, sent)).toEqual(valuesOf(mark, member(message, 'content')));
    }
  });

  it.runIf(isRelayed && client.resumesTurns === true)('continues a paused turn', async () => {
    const { target, upstream: fake, nextRecord } = await started(pair, onTestFinished);
    const { message } = recordedReply('messages/stream-pause-turn.1');
    fake.enqueue(claudeReply(message, false), claudeText([{ type: 'text', text: 'Fog.' }], false));

    const answers = await client.converse(target('tools'), {
      prompts: ['Hello!'],
      tools: [],
      serverTool: 'web_search',
      reasons: false,
    });
    const records = [await nextRecord(), await nextRecord()];

    const [first, second, ...more] = fake.calls.map((call) =>
      items(member(call.json(), 'messages')),
    );
    expect(message.stop_reason).toBe('pause_turn');
    expect(answers).toEqual(['Fog.']);
    expect(more).toEqual([]);
    expect(second?.slice(0, -1)).toEqual(first);
    expect(second?.at(-1)).toEqual({ role: 'assistant', content: message.content });
    for (const { basis, booked, outcome } of records) {
      expect({ basis, booked, outcome }).toEqual({
        basis: 'usage',
        booked: true,
        outcome: 'complete',
      });
    }
  });

  it.runIf(isRelayed)('continues at another provider without its search results', async () => {
    const { target, upstream: fake } = await started(pair, onTestFinished);
    const { script, message } = recorded('web_search');
    fake.enqueue(script, anthropicError(529, 'overloaded_error', 'Overloaded'));

    const answers = await client.converse(target('moving'), {
      prompts: ['Hello!', 'And now?'],
      tools: [],
      serverTool: 'web_search',
      reasons: false,
    });

    const [, , moved, ...more] = fake.calls;
    const sent = moved?.body.toString() ?? '';
    expect(answers).toEqual([textOf(message), expect.stringMatching(/^H/)]);
    expect(more).toEqual([]);
    expect(moved?.path).toContain('gemini');
    expect(sent).toContain(JSON.stringify(textOf(message)).slice(-40, -1));
    expect(sent).not.toMatch(/web_search|encrypted_|srvtoolu_/);
  });

  it('is refused models of its choice, unless the record allows them', async () => {
    const { target, upstream: fake } = await started(pair, onTestFinished);
    const question = { prompt: 'Hello!', fallback: 'claude-haiku-5' };

    const unlisted = await failureOf(client.ask(target('plain'), question));
    const other = { ...question, fallback: 'claude-other' };
    const unknown = await failureOf(client.ask(target('tools'), other));

    const refused = { status: 400, message: expect.stringContaining('`fallbacks') };
    expect(unlisted).toMatchObject(refused);
    expect(unknown).toMatchObject(refused);
    expect(fake.calls).toEqual([]);
  });

  it('shows what an allowed model answered, where Anthropic asked it', async () => {
    const { target, upstream: fake, nextRecord } = await started(pair, onTestFinished);
    const { message } = recordedReply('anthropic/v-fallback');
    if (isRelayed) fake.enqueue(claudeReply(message, client.streams));

    const question = { prompt: 'Hello!', fallback: 'claude-haiku-5' };
    const { text } = await client.ask(target('tools'), question);
    const { usage } = await nextRecord();

    const received = member(fake.calls[0]?.json(), 'fallbacks');
    expect(received).toEqual(isRelayed ? [{ model: 'claude-haiku-5' }] : undefined);
    expect(text).toMatch(isRelayed ? /^The printing press/ : /^H/);
    // Both attempts: the refused one has 408 tokens of input.
    if (isRelayed) expect(usage).toMatchObject({ inputTokens: 820, outputTokens: 264 });
  });

  /** The recorded reply in which the tool ran, in the way that the client asks. */
  function recorded(name: ServerTool): RecordedReply {
    return recordedReply(recordings[name][client.streams ? 'streamed' : 'whole']);
  }
});

/** The pages that the text of a message cites. */
function citedPages(message: JsonValue): readonly JsonValue[] {
  return items(member(message, 'content')).flatMap((block) =>
    valuesOf('url', member(block, 'citations')),
  );
}
