// suite: slow
/** Signatures of other providers in a native history that is relayed to Google. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { writeEnvelope } from '../../src/canonical/envelope.ts';
import { placeholderSignature } from '../../src/dialects/gemini/placeholder-signature.ts';
import { anyModelGateway, native } from '../support/any-model-gateway.ts';
import { scriptedUpstream } from '../support/scripted-upstream.ts';
import { escapes, respelled } from './spellings.ts';

const sealed = { provider: 'anthropic', kind: 'thinking', data: 'c2ln' } as const;
const foreign = writeEnvelope(sealed, 'base64');
const own = 'CiQBVKhc';

it('are replaced in every spelling of JSON, and nothing else is', async () => {
  const name = fc.constantFrom('thoughtSignature', 'thought_signature');
  const part = fc.record({ name, value: fc.constantFrom(foreign, own) });
  const law = fc.asyncProperty(fc.array(part, { maxLength: 4 }), escapes, async (signed, at) => {
    const bodyOf = (sent: (value: string) => string): object => ({
      contents: [
        { role: 'user', parts: [{ text: foreign }] },
        {
          role: 'model',
          parts: signed.map((one) => ({ text: `"${foreign}"`, [one.name]: sent(one.value) })),
        },
      ],
    });
    const headers = { 'content-type': 'application/json' };
    const upstream = scriptedUpstream({ status: 400, headers, chunks: ['{}'] });

    await anyModelGateway({ upstream }).call(
      native('json', respelled(JSON.stringify(bodyOf((value) => value)), at)),
    );

    const up = Buffer.concat([...(upstream.requests[0]?.body ?? [])]).toString();
    const expected = bodyOf((value) => (value === foreign ? placeholderSignature : value));
    expect(JSON.parse(up)).toEqual(expected);
  });

  await fc.assert(law, { numRuns: 150 });
});
