// suite: search host
/**
 * On Express with OpenTelemetry's instrumentations, in a process of its own: the spans of calls are
 * in the trace of the caller, below the span of the host's request.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { SpanKind } from '@opentelemetry/api';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { childScript } from '../support/child-script.ts';
import { closed, listening } from '../support/servers.ts';

const secret = 'canary-key-0123456789';
const attributes = z.record(z.string(), z.unknown());
const spanForm = z.object({
  name: z.string(),
  kind: z.number(),
  id: z.string(),
  trace: z.string(),
  parent: z.string().optional(),
  attributes,
  events: z.array(z.object({ name: z.string(), attributes: attributes.optional() })),
});
type PlainSpan = z.infer<typeof spanForm>;

/** How the upstream handles the next calls. */
const handlers: ((request: IncomingMessage, response: ServerResponse) => void)[] = [];
const upstream = createServer((request, response) => {
  request.resume().once('end', () => (handlers.shift() ?? answer)(request, response));
});
let child: ChildProcess;
let origin: string;

beforeAll(async () => {
  const baseUrl = await listening(upstream);
  const script = await childScript(
    join(import.meta.dirname, 'express-host.ts'),
    ...[/^@opentelemetry\//, 'express', 'undici', 'zod'],
  );
  child = spawn(process.execPath, [script, JSON.stringify({ baseUrl, secret })], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const [message] = await once(child, 'message');
  origin = z.object({ origin: z.string() }).parse(message).origin;
});

afterAll(async () => {
  child.kill('SIGKILL');
  await closed(upstream);
});

it('a whole reply, a stream and a fail-over are below the span of their request', async () => {
  const traces = ['1', '2', '3'].map((digit) => digit.repeat(32));
  expect((await call(traces[0])).status).toBe(200);
  handlers.push(stream);
  expect(await (await call(traces[1], { stream: true })).text()).toContain('[DONE]');
  handlers.push((_request, response) => {
    response.writeHead(503).end();
  });
  expect((await call(traces[2])).status).toBe(200);

  const spans = await spansWhen((found) => found.filter(isCall).length === 3);
  const byTrace = traces.map((trace) => spans.filter((span) => span.trace === trace));
  expect(byTrace.map((found) => found.filter(isCall).length)).toEqual([1, 1, 1]);
  expect(byTrace.map((found) => found.filter(isAttempt).length)).toEqual([1, 1, 2]);
  for (const found of byTrace) {
    const outer = found.find(isCall);
    const request = found.find(({ kind }) => kind === SpanKind.SERVER);
    expect(outer?.kind).toBe(SpanKind.CLIENT);
    expect(ancestorsOf(outer, found)).toContain(request?.id);
    for (const attempt of found.filter(isAttempt)) expect(attempt.parent).toBe(outer?.id);
  }
});

it('a refused call marks the span of its request, and has none of its own', async () => {
  const trace = '4'.repeat(32);
  expect((await call(trace, { model: 'no-such-model' })).status).toBe(404);

  const spans = await spansWhen((found) =>
    found.some((span) => span.trace === trace && span.kind === SpanKind.SERVER),
  );
  const found = spans.filter((span) => span.trace === trace);
  const marks = found
    .flatMap(({ events }) => events)
    .filter(({ name }) => name === 'tollgate.refused');
  expect(found.filter(isCall)).toEqual([]);
  expect(marks.map((mark) => mark.attributes)).toEqual([
    expect.objectContaining({
      'tollgate.refusal.code': 'model_not_found',
      'tollgate.key.id': 'staff-key',
      'tollgate.status': 404,
    }),
  ]);
});

it('a stream whose caller disconnects ends its span in its own trace', async () => {
  const trace = '5'.repeat(32);
  handlers.push((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(frame({ choices: [{ index: 0, delta: { content: 'canary-completion' } }] }));
  });
  const leaving = new AbortController();
  const reply = await call(trace, { stream: true }, leaving.signal);
  await reply.body?.getReader().read();
  leaving.abort();

  const spans = await spansWhen((found) =>
    found.some((span) => span.trace === trace && isCall(span)),
  );
  const outer = spans.find((span) => span.trace === trace && isCall(span));
  expect(outer?.attributes['tollgate.outcome']).toBe('caller_left');
});

it('no span of the gateway holds the key, a prompt or a completion', async () => {
  const spans = await spansWhen(() => true);
  const own = spans.filter((span) => isCall(span) || isAttempt(span));

  expect(own.length).toBeGreaterThan(0);
  expect(JSON.stringify(own)).not.toContain('canary');
});

function call(trace = '', members: object = {}, signal?: AbortSignal): Promise<Response> {
  const messages = [{ role: 'user', content: 'canary-prompt' }];
  return fetch(`${origin}/llm/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${secret}`,
      'content-type': 'application/json',
      traceparent: `00-${trace}-00f067aa0ba902b7-01`,
    },
    body: JSON.stringify({ model: 'gpt-4o-mini', messages, ...members }),
    ...(signal === undefined ? {} : { signal }),
  });
}

/** The finished spans, once they are as they must be: those of a call end after its reply. */
async function spansWhen(
  isComplete: (spans: readonly PlainSpan[]) => boolean,
): Promise<readonly PlainSpan[]> {
  for (;;) {
    child.send('spans');
    const [message] = await once(child, 'message');
    const { spans } = z.object({ spans: z.array(spanForm) }).parse(message);
    if (isComplete(spans)) return spans;
  }
}

function isCall({ name }: PlainSpan): boolean {
  return name === 'chat gpt-4o-mini';
}

function isAttempt({ name }: PlainSpan): boolean {
  return name === 'tollgate.attempt';
}

function ancestorsOf(span: PlainSpan | undefined, all: readonly PlainSpan[]): readonly string[] {
  const parent = all.find(({ id }) => id === span?.parent);
  return parent === undefined ? [] : [parent.id, ...ancestorsOf(parent, all)];
}

const head = { id: 'chatcmpl-1', created: 1, model: 'gpt-4o-mini' };
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };

function answer(_request: IncomingMessage, response: ServerResponse): void {
  const message = { role: 'assistant', content: 'canary-completion' };
  response.setHeader('content-type', 'application/json');
  response.end(
    JSON.stringify({ ...head, object: 'chat.completion', choices: [{ index: 0, message }], usage }),
  );
}

function stream(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(frame({ choices: [{ index: 0, delta: { content: 'canary-completion' } }] }));
  response.write(frame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }));
  response.write(frame({ choices: [], usage }));
  response.end('data: [DONE]\n\n');
}

function frame(members: object): string {
  return `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...members })}\n\n`;
}
