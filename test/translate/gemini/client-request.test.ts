// suite: quick
/** The conversation of a request translated for a Gemini upstream. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { items, type JsonValue, member } from '../../../src/json.ts';
import { assistant, user } from '../../support/plain-request.ts';
import { begin, call, target, text } from './client.ts';

function contents(body: JsonValue): readonly JsonValue[] {
  return items(member(body, 'contents'));
}

describe('calls and their results', () => {
  it('make the round trip with ids, names, arguments and signatures', () => {
    const signature = fc.option(fc.base64String({ minLength: 4 }), { nil: undefined });
    const made = fc.record({
      id: fc.stringMatching(/^call_[a-zA-Z0-9]{1,20}$/),
      name: fc.stringMatching(/^[ -~]{1,80}$/),
      args: fc.dictionary(fc.string(), fc.jsonValue()),
      signature,
    });

    fc.assert(
      fc.property(fc.uniqueArray(made, { selector: ({ id }) => id, minLength: 1 }), (all) => {
        const parts = all.map(({ id, name, args, signature: data }) =>
          call({
            id,
            name,
            arguments: JSON.stringify(args),
            providerData:
              data === undefined ? undefined : { provider: 'gemini', kind: 'signature', data },
          }),
        );
        const exchange = begin(
          { turns: [user(text('Hi.')), assistant(...parts)] },
          target('gemini-2.5-flash'),
        );

        const echoed = contents(JSON.parse(exchange.body))[1] ?? null;
        const events = exchange.readReply({ candidates: [{ content: echoed }] });

        const calls = events.filter((event) => event.type === 'tool_begin');
        expect(calls.map(({ id, name, providerData }) => ({ id, name, providerData }))).toEqual(
          parts.map(({ id, name, providerData }) => ({ id, name, providerData })),
        );
        expect(calls.map((one) => JSON.parse(one.arguments))).toEqual(
          parts.map((one) => JSON.parse(one.arguments)),
        );
      }),
      { numRuns: 100 },
    );
  });
});
