// suite: quick
/** The tier that served a translated call: the reply states what the upstream said, or null. */
import { expect, it } from 'vitest';
import { type JsonValue, member, parseJson } from '../../../src/json.ts';
import type { DialectName } from '../../../src/ports/models/capabilities.ts';
import { anyModelGateway, responses } from '../../support/any-model-gateway.ts';
import { responsesEvents } from '../../support/laws/responses-laws.ts';
import { events } from '../../support/models.ts';
import { scriptedUpstream } from '../../support/scripted-upstream.ts';

interface UpstreamReplies {
  readonly model: string;
  readonly whole: object;
  readonly streamed: string;
}

/** The replies of an upstream that names this tier; undefined if it names none. */
const upstreams: Readonly<
  Partial<Record<DialectName, (tier: JsonValue | undefined) => UpstreamReplies>>
> = {
  openai: (service_tier) => {
    const head = { id: 'c1', model: 'm', service_tier };
    const message = { role: 'assistant', content: 'Hi' };
    return {
      model: 'gpt-5.4',
      whole: { ...head, choices: [{ index: 0, message, finish_reason: 'stop' }] },
      streamed: events(
        { ...head, choices: [{ index: 0, delta: message, finish_reason: null }] },
        { ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
        '[DONE]',
      ),
    };
  },
  anthropic: (service_tier) => {
    const usage = { input_tokens: 1, output_tokens: 1, service_tier };
    const head = { id: 'm1', type: 'message', role: 'assistant', model: 'm', usage };
    const text = { type: 'text', text: 'Hi' };
    return {
      model: 'claude-opus-4-8',
      whole: { ...head, content: [text], stop_reason: 'end_turn' },
      streamed: events(
        { type: 'message_start', message: { ...head, content: [], stop_reason: null } },
        { type: 'content_block_start', index: 0, content_block: text },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
        { type: 'message_stop' },
      ),
    };
  },
};

const openaiTiers = ['auto', 'default', 'flex', 'scale', 'priority'].map(
  (tier) => ['openai', tier, tier] as const,
);
const none = [undefined, null, '', 'gold', 1, {}].flatMap((tier) =>
  (['openai', 'anthropic'] as const).map((dialect) => [dialect, tier, null] as const),
);

it.each<readonly [DialectName, JsonValue | undefined, string | null]>([
  ...openaiTiers,
  ['anthropic', 'standard', 'default'],
  ['anthropic', 'priority', 'priority'],
  ['anthropic', 'batch', null],
  ...none,
])('%s: %j is %j, whole and streamed', async (dialect, tier, expected) => {
  const replies = upstreams[dialect]?.(tier);
  const ask = async (stream: boolean): Promise<string> => {
    const chunks = [stream ? (replies?.streamed ?? '') : JSON.stringify(replies?.whole)];
    const type = stream ? 'text/event-stream' : 'application/json';
    const upstream = scriptedUpstream({ status: 200, chunks, headers: { 'content-type': type } });
    const gateway = anyModelGateway({
      upstream,
      channel: {
        dialect,
        upstreamModel: replies?.model ?? '',
        capabilities: { responses: false },
      },
    });
    return (await gateway.call(responses(JSON.stringify({ model: 'm', input: 'Hi', stream }))))
      .text;
  };

  expect(member(parseJson(await ask(false)), 'service_tier')).toBe(expected);
  const objects = responsesEvents(await ask(true)).map(({ data }) => member(data, 'response'));
  const stated = objects.filter((one) => one !== undefined);
  expect(stated.length).toBeGreaterThanOrEqual(3);
  expect(stated.map((one) => member(one, 'service_tier'))).toEqual(stated.map(() => expected));
});
