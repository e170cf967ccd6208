// suite: quick
/** Translated Responses calls may refer to items of earlier replies, which the gateway keeps. */
import { describe, expect, it } from 'vitest';
import type { ItemStore } from '../../../src/ports/replies/item-store.ts';
import { memoryItemStore } from '../../../src/stores/memory/item-store.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';
import type { DrivenCall } from '../../support/driven-upstream.ts';
import { errorIn, type ResponsesSetup, regional, responsesGateway } from './responses-gateway.ts';

const gemini = regional('gemini', {
  dialect: 'gemini',
  baseUrl: 'https://gemini.example/v1beta',
});

/** A gateway whose only channel is one of Gemini. */
function translating(setup: ResponsesSetup = {}) {
  return responsesGateway({ channels: [gemini], upstream: answerAsGemini, ...setup });
}

function answerAsGemini(call: DrivenCall): void {
  const isStreamed = call.request.path.includes('stream');
  const document = {
    candidates: [{ content: { parts: [{ text: 'I am a fox.' }] }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 4, totalTokenCount: 7 },
  };
  if (!isStreamed) return call.answer(200, document);
  call.respond(200, { 'content-type': 'text/event-stream' });
  call.write(`data: ${JSON.stringify(document)}\n\n`);
  call.end();
}

/** The ids of a reply, whole or streamed: its own, and those of its items. */
function idsIn(text: string): readonly string[] {
  return [...new Set(text.match(/(?:resp|msg|rs)_tg_[\w-]+/g))].sort();
}

const go = { role: 'user', content: 'go' };

describe('an item of a translated reply', () => {
  it.each([false, true])('takes the place of the reference; streamed: %s', async (stream) => {
    const gateway = translating();
    const first = await gateway.ask({ stream });
    const [msg = '', resp = ''] = idsIn(first.text);

    const reply = await gateway.ask({ input: [{ type: 'item_reference', id: msg }, go] });

    expect([msg, resp]).toEqual([expect.stringMatching(/^msg_/), expect.stringMatching(/^resp_/)]);
    expect(first.text).toContain('"store":true');
    expect(reply.status).toBe(200);
    expect(JSON.parse(gateway.sent()[1] ?? '').contents).toEqual([
      { role: 'model', parts: [{ text: 'I am a fox.' }] },
      { role: 'user', parts: [{ text: 'go' }] },
    ]);
    expect(reply.headers['x-tollgate-dropped']).toBe(undefined);
  });

  it('takes the place of the reference on a relay too, without its id, and is listed', async () => {
    const items = memoryItemStore({ clock: fakeClock() });
    const translated = translating({ options: { responses: { items } } });
    const [id = ''] = idsIn((await translated.ask({})).text);
    const gateway = responsesGateway({ options: { responses: { items } } });

    const reply = await gateway.ask({ input: [{ id }, go] });

    expect(reply.status).toBe(200);
    expect(reply.headers['x-tollgate-dropped']).toBe('input[0]');
    expect(JSON.parse(gateway.sent()[0] ?? '').input).toEqual([
      expect.objectContaining({ type: 'message', role: 'assistant' }),
      go,
    ]);
    expect(gateway.sent()[0]).not.toContain('_tg_');
  });

  it('is unknown to another key', async () => {
    const gateway = translating();
    const [id = ''] = idsIn((await gateway.ask({})).text);
    const unknown = `${id.slice(0, -1)}_`;

    const foreign = await gateway.ask({ input: [{ type: 'item_reference', id }] }, 'k2');
    const missing = await gateway.ask({ input: [{ type: 'item_reference', id: unknown }] }, 'k2');

    expect(foreign.status).toBe(404);
    expect(foreign.text.replace(id, '')).toBe(missing.text.replace(unknown, ''));
    expect(errorIn(foreign).message).toContain('providerOptions.openai.store = false');
  });

  it('is gone after its time', async () => {
    const gateway = translating({ options: { responses: { itemTtlMs: 1_000 } } });
    const [id = ''] = idsIn((await gateway.ask({})).text);
    gateway.clock.advance(1_000);

    expect((await gateway.ask({ input: [{ id }, go] })).status).toBe(404);
  });

  it.each([
    ['forbidden by the caller', { store: false }, {}],
    ['switched off', {}, { options: { responses: { items: false } } }],
  ] as const)('is not kept where that is %s, and the reply says so', async (_, members, setup) => {
    const kept: string[] = [];
    const recording: ItemStore = {
      ...memoryItemStore(),
      put: (_owner, items) => {
        kept.push(...items.map(({ id }) => id));
        return [];
      },
    };
    const options = { responses: { items: recording } };

    for (const stream of [false, true]) {
      const gateway = translating({ options, ...setup });
      const first = await gateway.ask({ ...members, stream });
      const [id = ''] = idsIn(first.text);

      expect(first.text).toContain('"store":false');
      expect((await gateway.ask({ input: [{ id }, go] })).status).toBe(404);
    }
    expect(kept).toEqual([]);
  });

  it('that is too large is an event', async () => {
    const items = memoryItemStore({ maxItemBytes: 20 });
    const gateway = translating({ options: { responses: { items } } });

    expect((await gateway.ask({})).status).toBe(200);

    expect(gateway.events).toContainEqual(
      expect.objectContaining({ type: 'items_not_kept', reason: 'too_large' }),
    );
  });

  it.each([
    false,
    true,
  ])('while the store is down the reply comes; streamed: %s', async (stream) => {
    const down = async (): Promise<never> => {
      throw new Error('down');
    };
    const items: ItemStore = { put: down, get: down, forget: down };
    const gateway = translating({ options: { responses: { items } } });

    const reply = await gateway.ask({ stream });
    const [id = ''] = idsIn(reply.text);

    expect([reply.status, reply.isCut]).toEqual([200, false]);
    expect(gateway.events).toContainEqual(
      expect.objectContaining({ type: 'items_not_kept', reason: 'failed', count: 1 }),
    );
    expect((await gateway.ask({ input: [{ id }] })).status).toBe(503);
  });
});

describe('a model whose providers keep nothing', () => {
  it.each(['resp_0a', 'resp_tg_0a', ''])('refuses to continue %j', async (id) => {
    const gateway = translating();

    const reply = await gateway.ask({ previous_response_id: id });

    expect(reply.status).toBe(400);
    expect(errorIn(reply).message).toBe(
      'This model keeps no conversations. Send the whole history as `input`.',
    );
    expect(gateway.sent()).toEqual([]);
  });

  it('does not know the items of a provider that does, even the key’s own', async () => {
    const gateway = responsesGateway();
    await gateway.ask({});
    gateway.replaceChannels([gemini]);

    expect((await gateway.ask({ input: [{ id: 'msg_1' }] })).status).toBe(404);
  });
});

it('items that are larger, all together, than a request may be are refused', async () => {
  const gateway = translating({ options: { maxBodyBytes: 4_096, maxImageBodyBytes: 4_096 } });
  const [id = ''] = idsIn((await gateway.ask({})).text);
  const input = Array.from({ length: 40 }, () => ({ id }));

  expect((await gateway.ask({ input: input.slice(0, 2) })).status).toBe(200);
  expect((await gateway.ask({ input })).status).toBe(413);
});
