// suite: slow
/**
 * Streams that are silent for half a minute while the model thinks, at any byte: agents stop a
 * stream without events, so there are pings, and they change nothing of the message.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Channel } from '../../../src/ports/models/catalog.ts';
import { gatewayInProcess } from '../../support/gateway-in-process.ts';
import { brokenLaws, foldedMessage, messagesEvents } from '../../support/laws/messages-laws.ts';
import { channel, model } from '../../support/models.ts';
import { fixture } from '../../support/recorded/fixtures.ts';

interface Silent {
  readonly channel: Partial<Channel>;
  readonly recording: string;
}

const silent: readonly Silent[] = [
  { channel: { dialect: 'anthropic' }, recording: 'messages/stream-thinking-b.1' },
  { channel: { dialect: 'anthropic' }, recording: 'anthropic/stream-redacted-thinking.1' },
  { channel: { dialect: 'anthropic' }, recording: 'messages/stream-tool-no-args-b.1' },
  { channel: { dialect: 'gemini' }, recording: 'gemini/stream-thinking.1' },
  {
    channel: { dialect: 'openai', capabilities: { responses: false } },
    recording: 'openai-compat/xai-tool-call-stream',
  },
];
/** A silence at every byte takes long. */
const silences = process.env.TEST_FORM === 'full' ? Number.POSITIVE_INFINITY : 25;

describe.each(silent)('$recording', ({ channel: own, recording }) => {
  const { response } = fixture(recording);
  const bytes = Buffer.from(response);
  const isOwn = own.dialect !== 'anthropic';

  it('has pings, and the same message, wherever it is silent', async () => {
    const expected = foldedMessage(messagesEvents(await streamed(own, bytes, bytes.length)));
    const step = Math.max(1, Math.ceil(bytes.length / silences));
    let pings = 0;

    for (let at = 1; at < bytes.length; at += step) {
      const text = await streamed(own, bytes, at);

      const events = messagesEvents(text);
      expect({ at, broken: brokenLaws(events, { isOwn }) }).toEqual({ at, broken: [] });
      expect(foldedMessage(events)).toEqual(expected);
      pings += pingsIn(text) - pingsIn(bytes.toString());
    }

    // None after the last event.
    expect(pings).toBeGreaterThan(bytes.length / step / 2);
  });
});

function pingsIn(stream: string): number {
  return stream.split('event: ping').length - 1;
}

/** The stream of a caller whose upstream is silent for half a minute after so many bytes. */
async function streamed(own: Partial<Channel>, bytes: Buffer, at: number): Promise<string> {
  const harness = gatewayInProcess({
    models: [model({ protocols: ['messages'], price: { per: 'free' }, channels: [channel(own)] })],
  });
  const calling = harness.start({
    path: '/v1/messages',
    body: {
      model: 'chat',
      max_tokens: 4096,
      stream: true,
      thinking: { type: 'enabled', budget_tokens: 1024 },
      messages: [{ role: 'user', content: 'hi' }],
    },
  });
  const up = await harness.upstream.next();
  up.respond(200, { 'content-type': 'text/event-stream' });
  up.write(bytes.subarray(0, at));
  for (let second = 0; second < 31 && at < bytes.length; second += 1) {
    harness.clock.advance(1_000);
    await turn();
  }
  up.write(bytes.subarray(at));
  up.end();
  return (await calling.reply).text;
}
