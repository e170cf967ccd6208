/** What clients get from models that answer: text, structured output, images, refusals, limits. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { cutReply, cutText } from './cut-replies.ts';
import { failureOf, pairs, started } from './pairs.ts';

const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk' +
  '+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

describe.each(pairs(0))('%s', (_name, pair) => {
  const { api, client, upstream } = pair;

  it('shows the text, and the tokens that the record has', async () => {
    const { target, nextRecord } = await started(pair, onTestFinished);

    const answer = await client.ask(target('plain'), { prompt: 'Hello!' });
    const record = await nextRecord();

    expect(answer.text).toMatch(/^(?:Hi|Hello)\b.*\?/);
    expect(answer.unfinished).toBeUndefined();
    expect(record).toMatchObject({ protocol: api.protocol, booked: true });
    expect(record.usage?.outputTokens).toBeGreaterThan(0);
    const { inputTokens, outputTokens = 0 } = record.usage ?? {};
    expect(answer).toMatchObject(
      client.addsUsageOfEvents === true
        ? {
            inputTokens: upstream.atStart.countsInput ? inputTokens : 0,
            outputTokens: outputTokens + upstream.atStart.outputTokens,
          }
        : { inputTokens, outputTokens },
    );
  });

  // DeepSeek gets the schema as text in the prompt, in addition to its JSON mode.
  it('parses structured output', async () => {
    const { target } = await started(pair, onTestFinished);

    const answer = await client.ask(target('plain'), { prompt: 'Where?', structured: true });

    expect(answer.parsed).toEqual({ city: 'sample' });
  });

  it.runIf(upstream.takesSchemasAndImages)('sends images', async () => {
    const { target, lastBody } = await started(pair, onTestFinished);
    const imageUrl = `data:image/png;base64,${png}`;

    await client.ask(target('plain'), { prompt: 'What is this?', imageUrl });

    expect(lastBody()).toContain(png);
  });

  it.runIf(!upstream.takesSchemasAndImages)('says that the model has no images', async () => {
    const { target, upstream: fake } = await started(pair, onTestFinished);
    const imageUrl = `data:image/png;base64,${png}`;

    const failure = await failureOf(client.ask(target('plain'), { prompt: 'What?', imageUrl }));

    expect(failure).toMatchObject({
      status: 400,
      message: expect.stringContaining('does not accept image input'),
    });
    expect(fake.calls).toEqual([]);
  });

  it('shows that the model refused', async () => {
    const { target } = await started(pair, onTestFinished);

    const answer = await client.ask(target('demo-safety'), { prompt: 'Hello!' });

    expect(answer.refusal).toMatch(/\w/);
  });

  it('shows that the output limit was reached', async () => {
    const { target, upstream: fake } = await started(pair, onTestFinished);
    fake.enqueue(cutReply(upstream.name, client.streams));

    const answering = client.ask(target('plain'), { prompt: 'Hello!' });

    // The Agents SDK has no incomplete answers.
    if (client.name.startsWith('agents')) {
      await expect(answering).rejects.toThrow(/incomplete/);
      return;
    }
    const answer = await answering;
    expect(answer.text).toBe(cutText);
    expect(answer.unfinished).toMatch(/^(?:max_output_tokens|max_tokens|length)$/);
  });
});
