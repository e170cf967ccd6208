// suite: quick host
/**
 * An Express host that logs with real loggers: a key appears in no line, wherever a caller sends
 * it, and neither does a prompt or a reply.
 */
import { Console } from 'node:console';
import { createServer } from 'node:http';
import { Writable } from 'node:stream';
import express from 'express';
import morgan from 'morgan';
import pino from 'pino';
import { pinoHttp } from 'pino-http';
import { expressAdapter } from 'tollgate/express';
import { expect, it, onTestFinished } from 'vitest';
import winston from 'winston';
import { accessLog, requestLogger } from '../../examples/logging.ts';
import { logEvents } from '../../src/events/log.ts';
import { parseJson } from '../../src/json.ts';
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

/** The request loggers of a host. Each event logger also writes `leak`. */
interface Loggers {
  readonly requests: typeof requestLogger;
  readonly access: typeof accessLog;
  readonly leak?: string;
}

const careful: Loggers = { requests: requestLogger, access: accessLog };
/** What the test must find: loggers as they are without the settings of the documentation. */
const careless: Loggers = {
  requests: (logger) => pinoHttp({ logger }),
  access: (write) => morgan(':req[authorization] :url', { stream: { write } }),
  leak: prompt,
};

async function startHost({ requests, access, leak }: Loggers): Promise<Host> {
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
      for (const listener of listeners) {
        listener(event);
        if (leak !== undefined) listener({ type: 'catalog_refused', source: 'x', reason: leak });
      }
    },
  });
  const app = express();
  app.use(
    requests(pinoLogger),
    access((line) => lines.morgan.push(line)),
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
  const { origin, secrets, lines, waitForCalls } = await startHost(careful);
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
  const canaries = [...Object.values(secrets), unknown, prompt, ...contents];
  expect(leaksIn(lines, canaries)).toEqual([]);
  for (const name of ['pino', 'winston', 'console'] as const) {
    const ended = lines[name].filter((line) => line.includes('tollgate call_ended'));
    expect(ended).toHaveLength(statuses.filter((status) => status === 200).length);
    expect(ended.every((line) => line.trimEnd().split('\n').length === 1)).toBe(true);
  }
  expect(lines.morgan).toHaveLength(statuses.length);
});

it('the same search finds the key and the prompt in loggers without these settings', async () => {
  const { origin, secrets, lines, waitForCalls } = await startHost(careless);
  const body = JSON.stringify({ model: 'chat-1', messages: [{ role: 'user', content: prompt }] });
  const authorization = `Bearer ${secrets.chat}`;
  const headers = { 'content-type': 'application/json', authorization };
  await (await fetch(`${origin}${chatPath}`, { method: 'POST', body, headers })).text();
  await waitForCalls(1);

  expect(leaksIn(lines, [secrets.chat])).toEqual(['pino', 'morgan']);
  expect(leaksIn(lines, [prompt])).toEqual(['pino', 'winston', 'console']);
});

/** The loggers whose lines have one of the canaries. */
function leaksIn(lines: Host['lines'], canaries: readonly string[]): readonly string[] {
  return Object.entries(lines).flatMap(([name, written]) => {
    const text = written.join('');
    return canaries.some((canary) => text.includes(canary)) ? [name] : [];
  });
}

/** The texts of a reply in either API. */
function contentsIn(reply: string): readonly string[] {
  return [...JSON.stringify(parseJson(reply)).matchAll(/"(?:content|text)":"([^"]{4,})"/g)].map(
    ([, text = '']) => text,
  );
}
