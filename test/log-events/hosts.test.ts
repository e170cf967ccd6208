/**
 * An Express host that logs with real loggers: a key appears in no line, wherever a caller sends
 * it, and neither does a prompt or a reply.
 */
import { Console } from 'node:console';
import { createServer } from 'node:http';
import { Writable } from 'node:stream';
import express from 'express';
import pino from 'pino';
import { expressAdapter } from 'tollgate/express';
import { expect, it, onTestFinished } from 'vitest';
import winston from 'winston';
import { accessLog, requestLogger } from '../../examples/logging.ts';
import { parseJson } from '../../src/json.ts';
import { logEvents } from '../../src/log-events.ts';
import { type CallerName, unmountedGateway } from '../support/mounted-gateway.ts';
import { closed, listening } from '../support/servers.ts';

const prompt = 'canary-prompt about a very private matter';
const chatPath = '/v1/chat/completions';
const nativePath = '/v1beta/models/native-1:generateContent';

interface Host {
  readonly origin: string;
  readonly secrets: Readonly<Record<CallerName, string>>;
  /** What was written, by the logger. */
  readonly lines: Readonly<Record<'pino' | 'winston' | 'console' | 'morgan', readonly string[]>>;
  waitForCalls(calls: number): Promise<void>;
}

async function startHost(): Promise<Host> {
  const lines: Record<keyof Host['lines'], string[]> = {
    pino: [],
    winston: [],
    console: [],
    morgan: [],
  };
  const sink = (name: keyof Host['lines']): Writable =>
    new Writable({
      write: (chunk, _encoding, done) => {
        lines[name].push(String(chunk));
        done();
      },
    });
  const pinoLogger = pino({ level: 'debug' }, sink('pino'));
  const listeners = [
    logEvents(pinoLogger),
    logEvents(
      winston.createLogger({
        level: 'debug',
        transports: [new winston.transports.Stream({ stream: sink('winston') })],
      }),
    ),
    logEvents(new Console(sink('console'))),
  ];
  const harness = await unmountedGateway({
    onEvent: (event) => {
      for (const listener of listeners) listener(event);
    },
  });
  const app = express();
  app.use(
    requestLogger(pinoLogger),
    accessLog((line) => lines.morgan.push(line)),
  );
  app.use(expressAdapter(harness.gateway));
  const server = createServer(app);
  const origin = await listening(server);
  onTestFinished(async () => {
    await closed(server);
    await harness.close();
  });
  const waitForCalls = async (calls: number): Promise<void> => {
    for (let call = 0; call < calls; call += 1) await harness.nextRecord();
    await harness.gateway.close();
  };
  return { origin, secrets: harness.secrets, lines, waitForCalls };
}

it('no line has a key, a prompt or a reply, wherever the key is sent', async () => {
  const { origin, secrets, lines, waitForCalls } = await startHost();
  const messages = [{ role: 'user', content: prompt }];
  const chat = JSON.stringify({ model: 'chat-1', messages });
  const native = JSON.stringify({ contents: [{ role: 'user', parts: [{ text: prompt }] }] });
  const unknown = 'canary-of-a-key-that-is-not-valid-0123456789';
  const replies: string[] = [];
  const call = async (
    path: string,
    body: string,
    headers: Readonly<Record<string, string>>,
  ): Promise<number> => {
    const sent = { 'content-type': 'application/json', ...headers };
    const reply = await fetch(`${origin}${path}`, { method: 'POST', body, headers: sent });
    replies.push(await reply.text());
    return reply.status;
  };

  const statuses = [
    await call(chatPath, chat, { authorization: `Bearer ${secrets.chat}` }),
    await call(nativePath, native, { 'x-goog-api-key': secrets.native }),
    await call(nativePath, native, { 'x-vendor-api-key': secrets.native }),
    await call(`${nativePath}?key=${secrets.native}`, native, {}),
    await call(chatPath, chat, { 'x-api-key': secrets.chat, cookie: `session=${unknown}` }),
    await call(chatPath, chat, { authorization: `Bearer ${unknown}` }),
    await call(nativePath, native, { 'x-goog-api-key': unknown }),
    await call('/v1/messages', chat, { 'x-api-key': unknown }),
    await call(`${nativePath}?key=${unknown}&alt=json`, native, {}),
  ];
  await waitForCalls(statuses.filter((status) => status === 200).length);

  expect(statuses.slice(0, 3)).toEqual([200, 200, 200]);
  expect(statuses.slice(5, 8)).toEqual([401, 401, 401]);
  const contents = replies.slice(0, 3).flatMap((text) => contentsIn(text));
  expect(contents).toHaveLength(3);
  for (const [name, written] of Object.entries(lines)) {
    const text = written.join('');
    for (const canary of [...Object.values(secrets), unknown, prompt, ...contents]) {
      expect(text, `${name} has ${canary.slice(0, 12)}`).not.toContain(canary);
    }
  }
  for (const name of ['pino', 'winston', 'console'] as const) {
    const ended = lines[name].filter((line) => line.includes('tollgate call_ended'));
    expect(ended).toHaveLength(statuses.filter((status) => status === 200).length);
    expect(ended.every((line) => line.trimEnd().split('\n').length === 1)).toBe(true);
  }
  expect(lines.morgan).toHaveLength(statuses.length);
});

/** The texts of a reply in either API. */
function contentsIn(reply: string): readonly string[] {
  return [...JSON.stringify(parseJson(reply)).matchAll(/"(?:content|text)":"([^"]{4,})"/g)].map(
    ([, text = '']) => text,
  );
}
