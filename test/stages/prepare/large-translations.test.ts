// suite: quick
/** A large body is parsed, read and written in separate turns of the event loop. */
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
                return content.begin(...args);
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
                return gemini.content.begin(...args);
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

const reply = JSON.stringify({
  candidates: [{ content: { parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }],
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
  sent.respond(200, { 'content-type': 'application/json' });
  sent.write(reply);
  sent.end();

  expect((await calling.reply).status).toBe(200);
  expect(steps.map(({ step }) => step)).toEqual(['parse', 'read', 'write']);
  expect(new Set(steps.map(({ turn }) => turn)).size).toBe(turns);
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
