// suite: quick
/**
 * A picture that the model made is in the next request too, where its caller says what to change:
 * with its signature for the provider that made it, and listed where it can't be shown.
 */
import { describe, expect, it } from 'vitest';
import { items, type JsonValue, member } from '../../../src/json.ts';
import type { Channel } from '../../../src/ports/models/catalog.ts';
import { json, sse } from '../../relay/streams.ts';
import { anyModelGateway, responses } from '../../support/any-model-gateway.ts';
import { scriptedUpstream } from '../../support/scripted-upstream.ts';

const user = (text: string) => ({ role: 'user', content: text });
const data = 'iVBORw0KGgoAAAANSUhEUg==';
const signature = 'c2lnbmVkLWltYWdl';
const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 };

/** The output items of a reply of Gemini with these parts. */
async function outputOf(parts: readonly object[], stream: boolean): Promise<readonly JsonValue[]> {
  const last = { content: { role: 'model', parts }, finishReason: 'STOP' };
  const reply = JSON.stringify({ candidates: [last], usageMetadata });
  const upstream = scriptedUpstream(stream ? sse(`data: ${reply}\n\n`) : json(reply));
  const gateway = anyModelGateway({ upstream, channel: { dialect: 'gemini' } });
  const include = ['reasoning.encrypted_content'];
  const { text } = await gateway.call(
    responses(JSON.stringify({ model: 'm', input: 'Draw a boat.', stream, include })),
  );
  if (!stream) return items(member(JSON.parse(text), 'output') ?? null);
  const [, completed = ''] = /event: response\.completed\ndata: (.*)/.exec(text) ?? [];
  return items(member(member(JSON.parse(completed), 'response'), 'output') ?? null);
}

/** The next request with these items, as an upstream of this channel gets it. */
async function next(output: readonly JsonValue[], channel: Partial<Channel>) {
  const upstream = scriptedUpstream(json('{}'));
  const gateway = anyModelGateway({ upstream, channel });
  const input = [user('Draw a boat.'), ...output, user('Make it blue.')];
  await gateway.call(responses(JSON.stringify({ model: 'm', input })));
  return JSON.parse(Buffer.concat(upstream.requests[0]?.body ?? []).toString());
}

const image = (mimeType: string, signed: boolean) => ({
  inlineData: { mimeType, data },
  ...(signed ? { thoughtSignature: signature } : {}),
});
const words = { text: 'Here it is.' };
const replies = ['image/png', 'image/jpeg', 'image/webp'].flatMap((mimeType) =>
  [false, true].flatMap((signed) =>
    [
      [image(mimeType, signed)],
      [words, image(mimeType, signed)],
      [image(mimeType, signed), words],
    ].flatMap((parts) => [false, true].map((stream) => ({ parts, stream }))),
  ),
);

describe('a generated picture', () => {
  it.each(replies)('goes back to Gemini as it was: $parts; streamed: $stream', async (made) => {
    const output = await outputOf(made.parts, made.stream);

    const { contents } = await next(output, { dialect: 'gemini' });

    expect(contents).toEqual([
      { role: 'user', parts: [{ text: 'Draw a boat.' }] },
      { role: 'model', parts: made.parts },
      { role: 'user', parts: [{ text: 'Make it blue.' }] },
    ]);
  });

  it('goes to a server of the OpenAI dialect whose models make pictures', async () => {
    const output = await outputOf([image('image/png', false)], false);

    const { messages } = await next(output, {
      dialect: 'openai',
      capabilities: { responses: false, mediaOutput: true },
    });

    expect(messages[1].images[0].image_url.url).toBe(`data:image/png;base64,${data}`);
  });

  it.each([
    { dialect: 'openai', capabilities: { responses: false } },
    { dialect: 'anthropic' },
  ] as const)('is listed by $dialect, which takes none of the model', async (channel) => {
    const output = await outputOf([words, image('image/png', false)], false);
    const upstream = scriptedUpstream({ status: 400 });
    const gateway = anyModelGateway({ upstream, channel, model: { strict: true } });
    const input = [user('Draw a boat.'), ...output, user('Make it blue.')];

    const { status, text } = await gateway.call(responses(JSON.stringify({ model: 'm', input })));

    expect([status, text]).toEqual([400, expect.stringContaining('input[2]')]);
    expect(JSON.stringify(await next(output, channel))).toContain('Here it is.');
  });

  it('without a result is left out as before', async () => {
    const item = { type: 'image_generation_call', status: 'completed', result: null };

    expect((await next([item], { dialect: 'gemini' })).contents).toHaveLength(1);
  });
});
