// suite: quick
/**
 * A relayed chat stream is checked and counted the same way, whatever the tap learnt from earlier
 * events.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StreamTap } from '../../src/dialects/taps/tap.ts';
import type { JsonValue } from '../../src/json.ts';
import { protocols } from '../../src/protocols/table.ts';
import { brokenStream, sse } from '../relay/streams.ts';
import { anyModelGateway, chat } from '../support/any-model-gateway.ts';
import { scriptedUpstream } from '../support/scripted-upstream.ts';

const event = (delta: JsonValue, more: Readonly<Record<string, JsonValue>> = {}): string =>
  `data: ${JSON.stringify({
    id: 'c',
    choices: [{ index: 0, delta, finish_reason: null }],
    usage: null,
    ...more,
  })}\n\n`;

/** Events an upstream may send: with changing frames, changing names, padding. */
const events = fc.oneof(
  fc.string({ maxLength: 12 }).map((content) => event({ content })),
  fc.string({ unit: 'binary', maxLength: 4 }).map((content) => event({ content })),
  fc.string({ maxLength: 6 }).map((content) => event({ content }, { obfuscation: 'x"\\y' })),
  fc.base64String({ maxLength: 8 }).map((obfuscation) => event({ content: 'a' }, { obfuscation })),
  fc.string({ maxLength: 6 }).map((reasoning) => event({ reasoning, content: '' })),
  fc.constant(event({ role: 'assistant', content: '' })),
  fc.constant(event({ tool_calls: [{ index: 0, function: { arguments: '{"a":1}' } }] })),
);

const streamCall = { framing: 'sse', wantsUsage: true, demand: { candidates: 1 } };

function freshTap(): StreamTap {
  // The tap needs only these members of a call.
  return Reflect.apply(protocols.chat.relay.tap, undefined, [streamCall, {}]);
}

function through(tap: StreamTap, chunks: readonly string[]): string {
  const passed = chunks.map((chunk) => Buffer.from(tap.write(Buffer.from(chunk))).toString());
  return passed.join('');
}

describe('a relayed chat stream', () => {
  it('is passed on and counted equally in one piece, event by event and in separate taps', () => {
    fc.assert(
      fc.property(fc.array(events, { maxLength: 12 }), (list) => {
        const [together, apart] = [freshTap(), freshTap()];
        const whole = list.join('');

        expect(through(together, [whole])).toBe(whole);
        expect(through(apart, list)).toBe(whole);
        expect(apart.countedTokens()).toBe(together.countedTokens());
        const alone = list.map((one) => {
          const tap = freshTap();
          through(tap, [one]);
          return tap.hasBegun();
        });
        expect(apart.hasBegun()).toBe(alone.includes(true));
      }),
      { numRuns: 500 },
    );
  });

  const good = event({ content: 'Once' });
  it.each([
    ['cut in its content', good.slice(0, good.indexOf('Once') + 2)],
    ['without its last brace', `${good.trimEnd().slice(0, -1)}\n\n`],
    ['with a line break in its content', good.replace('Once', 'On\nce')],
    ['with unframed text after it', good.replace('}\n\n', '} sk-canary\n\n')],
    ['with a broken frame', good.replace('"id"', 'id')],
  ])('ends at an event %s, even after a template was learnt', async (_, bad) => {
    const broken = bad.endsWith('\n\n') ? bad : `${bad}\n\n`;
    for (const chunks of [[good, good, good, broken, good], [good.repeat(3) + broken + good]]) {
      const upstream = scriptedUpstream(sse(...chunks));
      const reply = await anyModelGateway({ upstream }).call(chat());

      expect(reply.text).not.toContain('canary');
      expect(brokenStream('chat', reply)?.before).toBe(good.repeat(3));
    }
  });
});
