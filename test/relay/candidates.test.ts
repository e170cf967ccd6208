// suite: slow
/**
 * A stream of several candidates is complete only when each candidate that has begun has finished.
 */
import { describe, expect, it } from 'vitest';
import { anyModelGateway, type CallerRequest, chat, native } from '../support/any-model-gateway.ts';
import { scriptedUpstream } from '../support/scripted-upstream.ts';
import { brokenStream, sse } from './streams.ts';

const twoChats = '{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,"n":2}';
const twoNatives =
  '{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"generationConfig":{"candidateCount":2}}';

function choice(index: number, finish?: string): string {
  const delta = finish === undefined ? { content: 'a' } : {};
  const choices = [{ index, delta, finish_reason: finish ?? null }];
  return `data: ${JSON.stringify({ choices })}\n\n`;
}

function candidate(index: number | undefined, finishReason?: string): string {
  const content = { role: 'model', parts: [{ text: 'a' }] };
  const candidates = [{ content, ...(index === undefined ? {} : { index }), finishReason }];
  return `data: ${JSON.stringify({ candidates })}\r\n\r\n`;
}

type Row = readonly [how: string, events: readonly string[]];

const halfChats: readonly Row[] = [
  ['one after the other', [choice(0), choice(0, 'stop'), choice(1)]],
  ['side by side', [choice(0), choice(1), choice(1, 'stop')]],
  ['in one chunk', [choice(0) + choice(1) + choice(0, 'length')]],
];
const wholeChats: readonly Row[] = [
  ['each finished', [choice(0), choice(1), choice(1, 'stop'), choice(0, 'stop')]],
  ['fewer than were asked for', [choice(0), choice(0, 'stop')]],
  ['with more after an end', [choice(0, 'stop'), choice(1, 'stop'), choice(0)]],
  ['with the stream’s own end', [choice(0), 'data: [DONE]\n\n']],
];
const halfNatives: readonly Row[] = [
  ['one after the other', [candidate(undefined, 'STOP'), candidate(1)]],
  ['side by side', [candidate(undefined), candidate(1), candidate(1, 'STOP')]],
  ['in one chunk', [candidate(0) + candidate(1) + candidate(0, 'MAX_TOKENS')]],
];
const wholeNatives: readonly Row[] = [
  ['each finished', [candidate(undefined), candidate(1, 'STOP'), candidate(0, 'STOP')]],
  ['fewer than were asked for', [candidate(undefined, 'STOP')]],
  ['blocked', ['data: {"promptFeedback":{"blockReason":"SAFETY"}}\r\n\r\n']],
];

describe('a chat stream of two choices that ends without [DONE]', () => {
  it.each(
    halfChats,
  )('with an unfinished one ends with an error of the gateway: %s', async (_how, events) => {
    const { answer: reply, outcome } = await relayed(chat(twoChats), events);

    expect(brokenStream('chat', reply)?.before).toBe(events.join(''));
    expect(outcome).toBe('broken');
  });

  it.each(wholeChats)('is complete: %s', async (_how, events) => {
    const { answer: reply, outcome } = await relayed(chat(twoChats), events);

    expect(reply.text).toBe(events.join(''));
    expect(outcome).toBe('complete');
  });
});

describe('a native stream of two candidates', () => {
  it.each(
    halfNatives,
  )('with an unfinished one ends with an error of the gateway: %s', async (_how, events) => {
    const { answer: reply, outcome } = await relayed(native('sse', twoNatives), events);

    expect(brokenStream('native', reply)?.before).toBe(events.join(''));
    expect(outcome).toBe('broken');
  });

  it.each(wholeNatives)('is complete: %s', async (_how, events) => {
    const { answer: reply, outcome } = await relayed(native('sse', twoNatives), events);

    expect(reply.text).toBe(events.join(''));
    expect(outcome).toBe('complete');
  });
});

async function relayed(request: CallerRequest, events: readonly string[]) {
  const gateway = anyModelGateway({ upstream: scriptedUpstream(sse(...events)) });
  const reply = await gateway.call(request);
  return { answer: reply, outcome: gateway.records[0]?.outcome };
}
