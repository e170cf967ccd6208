// suite: slow
/** Relayed Responses calls: the recorded replies of OpenAI and others pass unchanged. */
import { describe, expect, it } from 'vitest';
import {
  type AnyModelGateway,
  anyModelGateway,
  type CallerRequest,
  responses,
  wholeResponse,
} from '../support/any-model-gateway.ts';
import type { CallerReply } from '../support/gateway-in-process.ts';
import {
  type ResponsesFixture,
  responsesFixture,
  responsesFixtures,
} from '../support/recorded/responses-fixtures.ts';
import { someOf } from '../support/sample.ts';
import { type ScriptedReply, scriptedUpstream } from '../support/scripted-upstream.ts';
import { documentOf, eventsOf } from './oracle.ts';
import { bytewise, json, pieces, sse } from './streams.ts';

const recordings = responsesFixtures('openai', 'openai-replies', 'compat', 'synthetic').filter(
  ({ response }) => response !== undefined,
);
const replies = recordings.filter(({ streamed, status = 200 }) => !streamed && status === 200);
const streams = recordings.filter(({ streamed }) => streamed);
/** Cuts at every byte; by default only at some, and at those near the end. */
const isFull = process.env.TEST_FORM === 'full';

/** What a reply states about itself. */
interface Stated {
  readonly object?: string;
  readonly status?: string;
  readonly output?: unknown;
  readonly usage?: {
    readonly input_tokens: number;
    readonly output_tokens: number;
    readonly total_tokens: number;
    readonly input_tokens_details?: { readonly cached_tokens?: number };
  } | null;
}

describe('a whole Responses reply', () => {
  const finished = replies.filter((recorded) => {
    const { object, status } = statedBy(recorded);
    return object === 'response' && status !== 'queued' && status !== 'in_progress';
  });

  it.each(
    finished.map(named),
  )('%s is relayed byte for byte, with its usage', async (_, recorded) => {
    const { reply, gateway } = await relayed(json(bytesOf(recorded)), responses(wholeResponse));

    if (statedBy(recorded).status === 'failed') {
      expect(reply.status).toBeGreaterThanOrEqual(400);
    } else {
      expect(reply.status).toBe(200);
      expect(reply.bytes.equals(bytesOf(recorded))).toBe(true);
      expect(gateway.records[0]).toMatchObject({
        protocol: 'responses',
        outcome: 'complete',
        ...usageIn(statedBy(recorded)),
      });
    }
  });

  const others = replies.filter(({ name }) => !finished.some((one) => one.name === name));

  it.each(others.map(named))('%s is not a reply of a call', async (_, recorded) => {
    const { reply } = await relayed(json(bytesOf(recorded)), responses(wholeResponse));

    expect(reply.status).toBe(
      'error' in statedBy(recorded) && statedBy(recorded).status === undefined ? 429 : 502,
    );
    expect(Object.keys(JSON.parse(reply.text))).toEqual(['error']);
  });
});

describe('a streamed Responses reply', () => {
  it.each(streams.map(named))('%s passes unchanged but for errors', async (_, recorded) => {
    const expected = relayedStream(bytesOf(recorded).toString());

    const { reply, gateway } = await relayed(sse(...firstApart(recorded)), responses());

    expect(reply.isCut).toBe(false);
    if (reply.status !== 200) return expect(expected.hasContent).toBe(false);
    expect(reply.text.startsWith(expected.text)).toBe(true);
    const rest = reply.text.slice(expected.text.length);
    expect(namesIn(rest)).toEqual(expected.isWhole ? [] : ['error', 'response.failed']);
    expect(gateway.records[0]).toMatchObject({
      outcome: expected.isWhole ? 'complete' : 'broken',
      ...usageIn(expected.response),
    });
  });

  it.each(streams.map(named))('%s does not depend on its chunks', async (_, recorded) => {
    const bytes = bytesOf(recorded);
    const plain = await relayed(sse(...firstApart(recorded)), responses());
    const cuts = [pieces(bytes, 1), pieces(bytes, 2)];
    if (bytes.length < 8_000) cuts.push(bytewise(bytes));

    for (const chunks of someOf(cuts)) {
      const cut = await relayed(sse(...chunks), responses());

      expect(cut.reply.text).toBe(plain.reply.text);
      // OpenAI states the usage of a failed stream after the error, which may come too late.
      if (relayedStream(bytes.toString()).isWhole)
        expect(figuresOf(cut.gateway)).toEqual(figuresOf(plain.gateway));
    }
  });
});

describe('a Responses stream cut at any byte', () => {
  const names = ['openai/stream-tools.1', 'openai/tl-stream.1', 'compat/openrouter-cot-stream.1'];

  it.each(names)('%s is either complete or ends in the form of a failure', async (name) => {
    const text = bytesOf(responsesFixture(name)).toString();
    const { length } = Buffer.from(text);
    const last = relayedStream(text);
    const ends = Array.from({ length: length - 1 }, (_, at) => at + 1).filter(
      (end) => isFull || end % 41 === 0 || (end > length - 80 && end % 3 === 0),
    );

    for (const end of isFull ? ends : someOf(ends)) {
      const cut = Buffer.from(text).subarray(0, end).toString();
      const whole = eventsOf(cut).filter((event) => /\r?\n\r?\n$/.test(event));
      const { reply } = await relayed(sse(cut), responses());

      const { text: before, hasContent } = relayedStream(whole.join(''));
      if (reply.status !== 200) expect(hasContent).toBe(false);
      // The last event counts if only its blank line is missing.
      else if (last.text.startsWith(reply.text)) expect(reply.text).toBe(last.text);
      else {
        expect(reply.text.startsWith(before)).toBe(true);
        const rest = namesIn(reply.text.slice(before.length));
        expect(rest).toEqual(['error', 'response.failed']);
      }
    }
  });
});

function named(recorded: ResponsesFixture): [string, ResponsesFixture] {
  return [recorded.name, recorded];
}

function bytesOf({ response }: ResponsesFixture): Buffer {
  return Buffer.from(response ?? []);
}

function statedBy(recorded: ResponsesFixture): Stated {
  return JSON.parse(bytesOf(recorded).toString());
}

/** The first event separately, because an error that comes with it becomes a status. */
function firstApart(recorded: ResponsesFixture): readonly string[] {
  const [first = '', ...rest] = eventsOf(bytesOf(recorded).toString());
  return [first, rest.join('')];
}

async function relayed(
  scripted: ScriptedReply,
  request: CallerRequest,
): Promise<{ readonly reply: CallerReply; readonly gateway: AnyModelGateway }> {
  const gateway = anyModelGateway({ upstream: scriptedUpstream(scripted) });
  return { reply: await gateway.call(request), gateway };
}

/** What must reach the caller of a recorded stream before any error of the gateway. */
interface Expected {
  readonly text: string;
  /** It ends with an event that holds a response that did not fail. */
  readonly isWhole: boolean;
  readonly hasContent: boolean;
  readonly response: Stated;
}

/** Some recordings continue with the next stream of the same client. */
function relayedStream(text: string): Expected {
  const all = eventsOf(text).filter((event) => typeOf(event) !== undefined);
  const end = all.findIndex((event) => lastType.test(typeOf(event) ?? ''));
  const events = end === -1 ? all : all.slice(0, end + 1);
  const faulty = events.findIndex((event) => failedType.test(typeOf(event) ?? ''));
  const good = faulty === -1 ? events : events.slice(0, faulty);
  return {
    text: good.join(''),
    isWhole: faulty === -1 && end !== -1,
    hasContent: good.some((event) => /\.delta$|output_item\.done$/.test(typeOf(event) ?? '')),
    response: Object(documentOf(all[end] ?? '')?.response),
  };
}

const lastType = /^response\.(?:completed|incomplete|failed)$/;
const failedType = /^(?:error|response\.failed)$/;

function typeOf(event: string): string | undefined {
  const type = documentOf(event)?.type;
  return typeof type === 'string' ? type : undefined;
}

function namesIn(text: string): readonly (string | undefined)[] {
  return eventsOf(text).map(typeOf);
}

function usageIn({ usage }: Stated): object {
  if (usage === undefined || usage === null) return {};
  expect(usage.input_tokens + usage.output_tokens).toBe(usage.total_tokens);
  return {
    usage: {
      inputTokens: usage.input_tokens,
      outputTokens: usage.output_tokens,
      cachedInputTokens: usage.input_tokens_details?.cached_tokens ?? 0,
    },
  };
}

function figuresOf({ records }: AnyModelGateway): unknown {
  return records.map(({ usage, basis, chargeNanos, outcome, reason }) => ({
    usage,
    basis,
    chargeNanos,
    outcome,
    reason,
  }));
}
