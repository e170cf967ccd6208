/**
 * What only clients of the Messages API can send: documents, cache markers, stop sequences, and
 * encrypted reasoning in their histories.
 */
import { describe, expect, it, onTestFinished } from 'vitest';
import { items, member } from '../../src/json.ts';
import {
  redactedDataOf,
  signatureOfRound,
} from '../../src/testing/providers/anthropic-thinking.ts';
import type { AppTool } from './drivers/client.ts';
import { pairs, started } from './pairs.ts';

const pdf = Buffer.from('%PDF-1.4\n%%EOF\n').toString('base64');

describe.each(pairs(3, 'messages'))('%s', (_name, pair) => {
  const { client, upstream } = pair;
  const isRelayed = upstream.dialect === 'anthropic';

  it.runIf(upstream.takesSchemasAndImages)('sends documents', async () => {
    const { target, lastBody } = await started(pair, onTestFinished);

    const { text } = await client.ask(target('plain'), { prompt: 'What is this?', pdf });

    expect(text).toMatch(/^H/);
    expect(lastBody()).toContain(pdf);
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
