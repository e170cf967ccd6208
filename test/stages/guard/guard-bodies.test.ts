// suite: quick
/** The body that a guard sees: all of it, frozen, and not what is sent upstream. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chat, sampleRequests } from '../../support/models.ts';
import { guarded } from './guarded-gateway.ts';

describe('the body that a guard sees', () => {
  it('is parsed once, and only if it is asked for', async () => {
    const bodies: unknown[] = [];
    const { call } = guarded('chat', {
      check: ({ body }) => {
        bodies.push(body(), body());
        return undefined;
      },
    });

    await call(sampleRequests.chat);

    expect(bodies[0]).toBe(bodies[1]);
  });

  it('is frozen at every level, and changes nothing of what is sent', async () => {
    const document = fc.object({ maxDepth: 4, withNullPrototype: false });
    await fc.assert(
      fc.asyncProperty(document, async (extra) => {
        const body = { model: 'chat', messages: [{ role: 'user', content: 'hi' }], extra };
        const sent = JSON.stringify(body);
        const seen: unknown[] = [];
        const { call, upstream } = guarded('chat', {
          check: (guardedCall) => {
            const { body: read } = guardedCall;
            vandalise(guardedCall);
            vandalise(read());
            seen.push(read());
            return undefined;
          },
        });

        await call({ ...sampleRequests.chat, body: sent });

        const received = Buffer.concat(upstream.calls[0]?.request.body ?? []).toString();
        expect(JSON.parse(received)).toEqual(JSON.parse(sent));
        expect(seen).toEqual([JSON.parse(sent)]);
      }),
      { numRuns: 40 },
    );
  });

  it('contains the long strings that the gateway does not read itself', async () => {
    const data = 'QUJD'.repeat(200_000);
    const url = `data:image/png;base64,${data}`;
    const messages = [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }];
    const { call, seen } = guarded('chat');

    expect((await call(chat({ messages }))).status).toBe(200);

    expect(seen[0]?.body()).toEqual({ model: 'chat', messages });
  });

  it.each([
    ['one of too many values', `[${'0,'.repeat(100_000)}0]`, 'too_complex'],
    ['one with a control character in a long string', `"${'a'.repeat(70_000)}\u0001"`, null],
  ])('is refused with 400 if it is %s, even where failures pass', async (_what, extra, code) => {
    const text = JSON.stringify(sampleRequests.chat.body);
    const body = `${text.slice(0, -1)},"extra":${extra}}`;
    const { call, events, upstream } = guarded('chat', {
      check: (guardedCall) => {
        guardedCall.body();
        return undefined;
      },
      onFailure: 'pass',
    });

    const reply = await call({ ...sampleRequests.chat, body });

    expect([reply.status, JSON.parse(reply.text).error.code]).toEqual([400, code]);
    expect([events, upstream.calls]).toEqual([[], []]);
  });
});

/** Tries to change, delete and add members at every level. */
function vandalise(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  for (const name of Object.keys(value)) {
    if (name === 'key' || name === 'model') continue;
    vandalise(Reflect.get(value, name));
    Reflect.set(value, name, 'changed');
    Reflect.deleteProperty(value, name);
  }
  Reflect.set(value, 'added', true);
}
