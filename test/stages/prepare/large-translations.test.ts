// suite: quick
/** A large body or reply is parsed, read and written in separate turns of the event loop. */
import { expect, it, vi } from 'vitest';
import { dialects } from '../../../src/dialects/table.ts';
import { protocols } from '../../../src/protocols/table.ts';
import { clientCodecs, serverCodecs } from '../../support/codecs.ts';
import { gatewayInProcess, type InProcessGateway } from '../../support/gateway-in-process.ts';
import { channel, chat, model } from '../../support/models.ts';

interface Traced extends InProcessGateway {
  /** The steps of the translation, each with the turn of the event loop that it ran in. */
  readonly steps: readonly { readonly step: string; readonly turn: number }[];
  stop(): void;
}

/** A gateway whose chat model has one Gemini channel, and that notes each step. */
function traced(): Traced {
  const steps: { step: string; turn: number }[] = [];
  let turn = 0;
  let isOver = false;
  const countTurn = (): void => {
    turn += 1;
    if (!isOver) setImmediate(countTurn);
  };
  setImmediate(countTurn);
  const parse = JSON.parse;
  const spy = vi.spyOn(JSON, 'parse').mockImplementation((text, ...rest) => {
    if (String(text).length > 10_000) steps.push({ step: 'parse', turn });
    return parse(text, ...rest);
  });

  const { content } = serverCodecs.chat;
  const { gemini } = clientCodecs;
  if (content === undefined) throw new Error('chat has no codec for content');
  const gateway = gatewayInProcess({
    models: [model({ channels: [channel({ dialect: 'gemini' })] })],
    key: { quota: [{ id: 'caller', period: 'total', limitNanos: 10n ** 15n }] },
    tables: {
      protocols: {
        ...protocols,
        chat: {
          ...protocols.chat,
          codecs: async () => ({
            ...serverCodecs.chat,
            content: {
              ...content,
              begin: (...args) => {
                steps.push({ step: 'read', turn });
                const exchange = content.begin(...args);
                return {
                  ...exchange,
                  writeReply: (...reply) => {
                    steps.push({ step: 'write reply', turn });
                    return exchange.writeReply(...reply);
                  },
                };
              },
            },
          }),
        },
      },
      dialects: {
        ...dialects,
        gemini: {
          ...dialects.gemini,
          codecs: async () => ({
            ...gemini,
            content: {
              ...gemini.content,
              begin: (...args) => {
                steps.push({ step: 'write', turn });
                const exchange = gemini.content.begin(...args);
                return {
                  ...exchange,
                  readReply: (reply) => {
                    steps.push({ step: 'read reply', turn });
                    return exchange.readReply(reply);
                  },
                };
              },
            },
          }),
        },
      },
    },
  });
  return {
    ...gateway,
    steps,
    stop: () => {
      isOver = true;
      spy.mockRestore();
    },
  };
}

const replyOf = (text: string): string =>
  JSON.stringify({
    candidates: [{ content: { parts: [{ text }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 1, totalTokenCount: 4 },
  });

function messages(count: number): readonly unknown[] {
  return Array.from({ length: count }, () => ({ role: 'user', content: 'Some words of a text.' }));
}

it.each([
  ['above 256 KiB, in three turns', 8_000, 3],
  ['below, in one', 800, 1],
])('a body %s', async (_size, count, turns) => {
  const { start, upstream, steps, stop } = traced();

  const calling = start(chat({ messages: messages(count) }));
  const sent = await upstream.next();
  stop();
  const ofBody = [...steps];
  sent.respond(200, { 'content-type': 'application/json' });
  sent.write(replyOf('Hi'));
  sent.end();

  expect((await calling.reply).status).toBe(200);
  expect(ofBody.map(({ step }) => step)).toEqual(['parse', 'read', 'write']);
  expect(new Set(ofBody.map(({ turn }) => turn)).size).toBe(turns);
});

it('a large body that cannot be read is refused, and parsed once', async () => {
  const { call, steps, stop, upstream } = traced();

  const { status, text } = await call(
    chat({ messages: [...messages(8_000), { role: 'unknown', content: 'Hi' }] }),
  );
  stop();

  expect(status).toBe(400);
  expect(text).toContain('messages[8000].role');
  expect(steps.map(({ step }) => step)).toEqual(['parse', 'read']);
  expect(upstream.calls).toHaveLength(0);
});

it('a caller that disconnects between the turns is not sent upstream', async () => {
  const { start, steps, stop, upstream, nextRecord } = traced();

  const calling = start(chat({ messages: messages(8_000) }));
  while (!steps.some(({ step }) => step === 'parse')) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  calling.disconnect();
  const { outcome, chargeNanos } = await nextRecord();
  stop();

  expect({ outcome, chargeNanos }).toMatchObject({ chargeNanos: 0n });
  expect(upstream.calls).toHaveLength(0);
});

const words = (bytes: number): string => 'a word '.repeat(bytes / 7);

it.each([
  ['above 1 MiB, in three turns', 1_100_000, 3],
  ['below, in one', 1_000_000, 1],
])('a reply %s', async (_size, bytes, turns) => {
  const { start, upstream, steps, stop, nextRecord } = traced();

  const calling = start(chat());
  (await upstream.next()).answer(200, replyOf(words(bytes)));
  const { status, text } = await calling.reply;
  const { outcome, chargeNanos } = await nextRecord();
  stop();

  expect(status).toBe(200);
  expect(text).toContain(words(bytes));
  expect({ outcome, chargeNanos }).toEqual({ outcome: 'complete', chargeNanos: 5n });
  const readAt = steps.findIndex(({ step }) => step === 'read reply');
  const ofReply = steps.slice(readAt - 1, readAt + 2);
  expect(ofReply.map(({ step }) => step)).toEqual(['parse', 'read reply', 'write reply']);
  expect(new Set(ofReply.map(({ turn }) => turn)).size).toBe(turns);
});

it('a large reply whose caller disconnects between the turns is charged as it states', async () => {
  const { start, steps, stop, upstream, nextRecord } = traced();

  const calling = start(chat());
  (await upstream.next()).answer(200, replyOf(words(1_100_000)));
  while (!steps.some(({ step }) => step === 'read reply')) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  calling.disconnect();
  const { chargeNanos, basis } = await nextRecord();
  stop();

  expect({ chargeNanos, basis }).toEqual({ chargeNanos: 5n, basis: 'usage' });
});
