// suite: quick
/** The laws between events and what others see can be broken: each breach is found. */
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../src/errors.ts';
import type { GatewayEvent } from '../../src/events/events.ts';
import { anthropicCaller } from '../../src/protocols/callers/anthropic.ts';
import { geminiCaller } from '../../src/protocols/callers/gemini.ts';
import { openaiCaller } from '../../src/protocols/callers/openai.ts';
import { usageRecord } from '../../src/testing/contracts/usage-sink.ts';
import { answerLaws, type SeenAnswer } from '../support/laws/answer-laws.ts';

const requestId = 'request';
const reply: SeenAnswer = {
  requestId,
  status: 200,
  text: '{"choices":[]}',
  isCut: false,
  hasDisconnected: false,
};
const busy = new GatewayError('no_channel', 'No.');
const refusal: SeenAnswer = { ...reply, status: 503, text: bodyOf(openaiCaller, busy) };
const brokenStream: SeenAnswer = {
  ...reply,
  text: `data: {"choices":[]}\n\ndata: ${bodyOf(openaiCaller, busy)}\n\n`,
};

function bodyOf({ errors }: typeof openaiCaller, error: GatewayError): string {
  return errors.body(error, requestId).toString();
}

const ended = (
  status: number,
  code?: 'no_channel' | 'upstream_failed',
  reason?: 'caller_stalled',
): GatewayEvent => ({
  type: 'call_ended',
  record: usageRecord({ requestId, status, reason }),
  code,
});

/** What the laws say, whichever of the two comes first. */
function verdicts(event: GatewayEvent, answer: SeenAnswer): readonly string[] {
  const first = answerLaws({ knowsUpstream: false, knowsErrors: true });
  const last = answerLaws({ knowsUpstream: false, knowsErrors: true });
  first.see(event);
  last.answered(answer);
  return [() => first.answered(answer), () => last.see(event)].map((check) => {
    try {
      check();
      return 'agree';
    } catch (error) {
      return String(error);
    }
  });
}

const agreeing: readonly (readonly [string, GatewayEvent, SeenAnswer])[] = [
  ['a reply', ended(200), reply],
  ['an error of OpenAI’s API', ended(503, 'no_channel'), refusal],
  [
    'an error of Google’s API',
    ended(503, 'no_channel'),
    { ...refusal, text: bodyOf(geminiCaller, busy) },
  ],
  [
    'an error of Anthropic’s API',
    ended(503, 'no_channel'),
    { ...refusal, text: bodyOf(anthropicCaller, busy) },
  ],
  ['a stream that ends with an error', ended(200, 'no_channel'), brokenStream],
  ['a stream that is cut', ended(200, 'no_channel'), { ...reply, isCut: true }],
  ['a caller that left', ended(499), { ...reply, hasDisconnected: true }],
  ['a caller that does not read', ended(499, undefined, 'caller_stalled'), reply],
];

describe('events and answers agree about', () => {
  it.each(agreeing)('%s', (_name, event, answer) => {
    expect(verdicts(event, answer)).toEqual(['agree', 'agree']);
  });
});

const breaches: readonly (readonly [string, GatewayEvent, SeenAnswer])[] = [
  ['The caller got another status', ended(502, 'no_channel'), refusal],
  ['The caller got another error', ended(503, 'upstream_failed'), refusal],
  ['The caller got an error', ended(200), brokenStream],
  ['The caller got no error', ended(200, 'no_channel'), reply],
  ['The caller had not disconnected', ended(499), reply],
];

describe('a breach is found', () => {
  it.each(breaches)('%s', (complaint, event, answer) => {
    const found = expect.stringContaining(complaint);
    expect(verdicts(event, answer)).toEqual([found, found]);
  });

  it('in the status of an attempt', () => {
    const of = {
      ...{ requestId, reservationId: 'hold', attempt: 1, modelId: 'chat', channelId: 'a' },
      ...{ upstreamModel: 'chat', account: undefined },
    };
    const over = (status: number): GatewayEvent => ({
      ...{ type: 'attempt_ended', ...of, status, reason: 'upstream_bad_stream' },
      ...{ mayHaveRun: true, durationMs: 1 },
    });
    const laws = answerLaws({ knowsUpstream: true, knowsErrors: true });
    laws.see({ type: 'attempt_started', ...of, dialect: 'openai', afterMs: 0 });
    laws.sent(() => 200);

    expect(() => laws.see(over(502))).toThrow('The upstream sent 200');
  });
});
