/**
 * What only clients of the Messages API can send: documents, cache markers, stop sequences, and
 * encrypted reasoning in their histories.
 */
import { describe, expect, it, onTestFinished } from 'vitest';
import { items, member } from '../../src/json.ts';
import { redactedDataOf, signatureOfRound } from '../../src/testing/providers/anthropic.ts';
import { claudeText, type TextBlock } from './claude-replies.ts';
import type { AppDocument, AppTool } from './drivers/client.ts';
import { failureOf, pairs, started } from './pairs.ts';
import type { UpstreamName } from './upstreams.ts';

const documents: readonly AppDocument[] = [
  { form: 'base64', data: Buffer.from('%PDF-1.4\n%%EOF\n').toString('base64'), isCited: true },
  { form: 'url', data: 'https://files.example/report.pdf', isCited: true },
  { form: 'text', data: 'It is foggy in June.', isCited: true },
];
const citedText = 'foggy in June';

describe.each(pairs(3, 'messages'))('%s', (_name, pair) => {
  const { client, upstream } = pair;
  const isRelayed = upstream.dialect === 'anthropic';

  // Version 5 of the AI SDK downloads a PDF itself, and sends it as Base64.
  const sendable = documents.filter(
    ({ form }) => form !== 'url' || !client.name.startsWith('ai 5'),
  );
  it.each(sendable)('sends a document, as $form, and shows what is cited', async (document) => {
    const { target, lastBody, upstream: fake } = await started(pair, onTestFinished);
    const sent = sentForm(document, upstream.name);
    if (isRelayed) fake.enqueue(claudeText(citingBlocks(document), client.streams));

    const asking = client.ask(target('plain'), { prompt: 'What is this?', document });

    if (sent === undefined) {
      expect((await failureOf(asking)).message).toContain('messages[0].content[1]');
      expect(fake.calls).toEqual([]);
      return;
    }
    const { text, cited } = await asking;
    expect(lastBody()).toContain(sent);
    expect(lastBody().includes('"citations":{"enabled":true}')).toBe(isRelayed);
    expect(cited).toEqual(isRelayed ? [citedText] : []);
    expect(text).toMatch(isRelayed ? /^It says that it is foggy\.$/ : /^H/);
  });

  it('marks for the cache, where the upstream has markers', async () => {
    const { target, lastBody, nextRecord } = await started(pair, onTestFinished);

    await client.ask(target('plain'), { prompt: 'Hello!', cached: true });
    const { usage } = await nextRecord();

    expect(lastBody()).toContain('Be brief.');
    expect(lastBody().includes('cache_control')).toBe(isRelayed);
    expect(usage?.cacheWrite5mTokens ?? 0).toBe(isRelayed ? 7351 : 0);
  });

  it('sends stop sequences', async () => {
    const { target, upstream: fake } = await started(pair, onTestFinished);

    const { text } = await client.ask(target('plain'), { prompt: 'Hello!', stop: ' doing' });

    expect(JSON.stringify(fake.calls.at(-1)?.json())).toMatch(/"stop[a-zA-Z_]*":\[" doing"\]/);
    if (isRelayed) expect(text).toBe("Hello! I'm");
  });

  it.runIf(isRelayed)('sends back encrypted reasoning in three turns of calls', async () => {
    const { target, upstream: fake } = await started(pair, onTestFinished);
    const tool: AppTool = { name: 'get_weather', parameter: 'city', run: () => 'foggy' };

    const answers = await client.converse(target('redacted-agent-2'), {
      prompts: ['Hello!', 'And now?', 'And then?'],
      tools: [tool],
      reasons: true,
    });

    expect(answers).toHaveLength(3);
    for (const answer of answers) expect(answer).toContain('57°F');
    const thoughts = items(member(fake.calls.at(-1)?.json(), 'messages'))
      .flatMap((message) => items(member(message, 'content')))
      .map((block) => member(block, 'data') ?? member(block, 'signature'))
      .filter((mark) => mark !== undefined);
    const round = (index: number) => [redactedDataOf(index), signatureOfRound(index)];
    const turn = [...round(0), ...round(1), ...round(2)];
    expect(thoughts).toEqual([...turn, ...turn, ...round(0), ...round(1)]);
  });
});

/** What the upstream gets of a document; undefined if it can't take one. */
function sentForm({ form, data }: AppDocument, upstream: UpstreamName): string | undefined {
  const asBase64 = Buffer.from(data).toString('base64');
  if (form === 'text') return upstream === 'gemini' ? asBase64 : data;
  if (upstream === 'deepseek') return undefined;
  return form === 'url' && upstream === 'chat' ? undefined : data;
}

/** An answer that cites the only document. */
function citingBlocks({ form }: AppDocument): readonly TextBlock[] {
  const place =
    form === 'text'
      ? { type: 'char_location', start_char_index: 6, end_char_index: 19 }
      : { type: 'page_location', start_page_number: 1, end_page_number: 2 };
  const citation = { ...place, cited_text: citedText, document_index: 0, document_title: null };
  return [
    { type: 'text', text: 'It says that ' },
    { type: 'text', text: 'it is foggy', citations: [citation] },
    { type: 'text', text: '.' },
  ];
}
