/** A fake console that has one text wherever the console shows text from outside. */
import type { CallDetail, Now } from '../../../src/admin/index.ts';
import { models } from './channels.ts';
import type { FakeConsole } from './console.ts';
import { call, detail, failingNow } from './data.ts';

/** Live figures that have the text in every place for text from outside. */
export function hostileNow(text: string): Now {
  const now = failingNow();
  return {
    ...now,
    refusals: now.refusals.map((refusal) => ({
      ...refusal,
      code: text,
      detail: text,
      meaning: text,
      remedy: text,
    })),
    sentence: now.sentence.map((clause) => ({ ...clause, text, detail: text, href: text })),
    attention: now.attention.map((entry) => ({ ...entry, text, detail: text, href: text })),
  };
}

function hostileCall(text: string): CallDetail {
  const names = { keyId: text, group: text, modelId: text, channelId: text, protocol: text };
  const found = detail(call(0, { ...names, requestId: text, reservationId: text }));
  return {
    ...found,
    upstreamModel: text,
    meaning: text,
    remedy: text,
    metadata: { [text]: text },
    lines: [{ subject: text, period: text, heldNanos: 1n }],
    attempts: found.attempts.map((attempt) => ({
      ...attempt,
      channelId: text,
      meaning: text,
      remedy: text,
    })),
  };
}

/** Puts the text into calls, channels and a key; `hostileNow` has it in the figures. */
export function placeText({ state, keys }: FakeConsole, text: string): void {
  const hostile = hostileCall(text);
  state.calls = {
    ...state.calls,
    list: async () => ({ data: [hostile], next: undefined, source: 'log' }),
    find: async (requestId) => ({ requestId, calls: [hostile], refusals: [] }),
  };
  state.channels = {
    ...state.channels,
    list: () =>
      models().map(({ channels }) => ({
        modelId: text,
        aliases: [text],
        groups: [text],
        channels: channels.map((channel) => ({
          ...channel,
          channelId: text,
          upstreamModel: text,
          groups: [text],
          remedy: text,
        })),
      })),
  };
  keys.issue({ id: 'key-1', group: text, limitNanos: 1n, metadata: { [text]: text } });
}
