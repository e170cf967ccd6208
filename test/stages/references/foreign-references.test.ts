// suite: quick
/** References to what another key has are answered as those to what nobody has. */
import { describe, expect, it } from 'vitest';
import type { ResponseIndex } from '../../../src/ports/replies/response-index.ts';
import { memoryResponseIndex } from '../../../src/stores/memory/response-index.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';
import {
  continueFrom,
  errorIn,
  referTo,
  responsesGateway,
  sealedItem,
} from './responses-gateway.ts';

/** Every way to refer to something that is stored, with its id. */
const places: readonly (readonly [place: string, body: (id: string) => object | string])[] = [
  ['previous_response_id', continueFrom],
  ['item_reference', referTo],
  ['a bare id', (id) => ({ input: [{ id }] })],
  ['a bare id with a null type', (id) => ({ input: [{ type: null, id }] })],
  ['reasoning', (id) => ({ input: [{ type: 'reasoning', id, summary: [] }] })],
  [
    'reasoning without its content',
    (id) => ({ input: [{ type: 'reasoning', id, summary: [], encrypted_content: '' }] }),
  ],
  ['compaction', (id) => ({ input: [{ type: 'compaction', id }] })],
  ['an image', (id) => ({ input: [{ type: 'image_generation_call', id, status: 'completed' }] })],
  ['a message without content', (id) => ({ input: [{ type: 'message', role: 'assistant', id }] })],
  ['an unknown item', (id) => ({ input: [{ type: 'of_next_year', id }] })],
  [
    'after other items',
    (id) => ({ input: [{ role: 'user', content: 'x'.repeat(9_000) }, sealedItem, { id }] }),
  ],
  [
    'escaped names',
    (id) =>
      '{"model":"m","input":[{"\\u0074ype":"item\\u005freference",' +
      `"\\u0069d":${JSON.stringify(id)}}]}`,
  ],
  [
    'an escaped member',
    (id) => `{"model":"m","input":"hi","previous\\u005fresponse_id":${JSON.stringify(id)}}`,
  ],
  [
    'an escaped id',
    (id) =>
      '{"model":"m","input":[{"type":"item_reference",' +
      `"id":"\\u00${id.charCodeAt(0).toString(16)}${id.slice(1)}"}]}`,
  ],
];
const foreignIds = ['resp_1', 'rs_1', 'msg_1'];

describe('another key’s id is answered as an unknown one', () => {
  const cases = places.flatMap(([place, body]) =>
    foreignIds.map((id) => [place, id, body] as const),
  );

  it.each(cases)('%s with %s: byte for byte, with the same store calls', async (_, id, body) => {
    const unknown = id.replace('1', '9');
    const [foreign, missing] = [await attempt(body, id), await attempt(body, unknown)];

    expect(foreign.status).toBe(foreign.text.includes('previous_response') ? 400 : 404);
    expect({ ...foreign, text: foreign.text.replaceAll(id, 'ID') }).toEqual({
      ...missing,
      text: missing.text.replaceAll(unknown, 'ID'),
    });
    expect(foreign.sent).toBe(2);
  });

  it('with OpenAI’s error text', async () => {
    const gateway = responsesGateway();

    const item = errorIn(await gateway.ask(referTo('msg_0a')));
    const reply = errorIn(await gateway.ask(continueFrom('resp_0a')));

    expect(item).toEqual({
      message: expect.stringMatching(/^Item with id 'msg_0a' not found\. Items are not persisted/),
      type: 'invalid_request_error',
      param: 'input',
      code: null,
    });
    expect(reply).toEqual({
      message: "Previous response with id 'resp_0a' not found.",
      type: 'invalid_request_error',
      param: 'previous_response_id',
      code: 'previous_response_not_found',
    });
  });

  it('and no other text of the caller is repeated', async () => {
    const gateway = responsesGateway();

    for (const id of ['', 'a b', 'ü', `msg_${'x'.repeat(200)}`, 'a'.repeat(5_000), '<b>']) {
      const reply = await gateway.ask(referTo(id));
      expect([reply.status, errorIn(reply).message]).toEqual([
        404,
        expect.stringMatching(/^Item with this id not found\./),
      ]);
    }
  });
});

describe('an id of a reply that its request forbade to store is unknown to its own key too', () => {
  it.each(places)('%s, whole and streamed', async (_, body) => {
    for (const stream of [false, true]) {
      const gateway = responsesGateway();
      const made = await gateway.ask(
        `{"model":"m","input":"hi","store" : false,"stream":${stream}}`,
      );
      expect(made.text).toContain('msg_1');

      for (const id of foreignIds) {
        const unknown = id.replace('1', '9');
        const [own, missing] = [await gateway.ask(body(id)), await gateway.ask(body(unknown))];

        expect(own.status).toBe(own.text.includes('previous_response') ? 400 : 404);
        expect(own.text.replaceAll(id, 'ID')).toBe(missing.text.replaceAll(unknown, 'ID'));
      }
      expect((await gateway.stored('GET resp_1')).status).toBe(404);
      expect(gateway.sent()).toHaveLength(1);
    }
  });

  it.each(['true', 'null'])('but not with `store: %s`', async (store) => {
    const gateway = responsesGateway();
    await gateway.ask(`{"model":"m","input":"hi","store":${store}}`);

    expect((await gateway.ask(referTo('msg_1'))).status).toBe(200);
  });
});

/** What a second key sees of a reply that the first one got. */
async function attempt(body: (id: string) => object | string, id: string) {
  const lookUps: string[] = [];
  const counting = (index: ResponseIndex): ResponseIndex => ({
    ...index,
    find: (owner, ids) => {
      lookUps.push(`${owner} ${ids.length}`);
      return index.find(owner, ids);
    },
  });
  const gateway = responsesGateway({
    options: { responses: { index: counting(memoryResponseIndex({ clock: fakeClock() })) } },
  });
  await gateway.ask({});
  // Its owner may use it.
  expect((await gateway.ask(referTo('msg_1'))).status).toBe(200);
  lookUps.length = 0;
  const { status, headers, text } = await gateway.ask(body(id), 'k2');
  const { 'x-request-id': _id, 'content-length': _length, ...rest } = headers;
  return { status, headers: rest, text, lookUps, sent: gateway.sent().length };
}
