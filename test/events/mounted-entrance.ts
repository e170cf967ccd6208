/** Callers of a history that reach the gateway over HTTP, through a host. */
import { request as httpRequest } from 'node:http';
import type { GatewayHandler } from '../../src/http.ts';
import { type Mount, mounts } from '../adapters/mounts.ts';
import { turns } from '../stages/ports/failing.ts';
import { bytesOf, type CallerRequest, requestOf } from '../support/gateway-in-process.ts';
import { type AnswerLaws, answerLaws } from '../support/laws/answer-laws.ts';
import type { Caller, Entrance } from './history.ts';

/** An entrance through this host. */
export function mountedEntrance(mount: Mount): Entrance {
  return async ({ gateway }) => {
    const answers = answerLaws({ knowsUpstream: false, knowsErrors: true });
    const broken: unknown[] = [];
    const check = (law: () => void): void => {
      try {
        law();
      } catch (error) {
        broken.push(error);
      }
    };
    gateway.subscribe((event) => check(() => answers.see(event)));
    const arrivals = new Map<string, () => void>();
    const handler: GatewayHandler = {
      ...gateway,
      handle: (request) => {
        arrivals.get(String(request.headers['x-request-id']))?.();
        return gateway.handle(request);
      },
    };
    const host = await mount.start(handler);
    const checked = {
      ...answers,
      answered: (answer: Answered) => check(() => answers.answered(answer)),
    };
    return {
      send: async (request) => {
        const arrived = new Promise<void>((resolve) => {
          arrivals.set(request.headers?.['x-request-id'] ?? '', resolve);
        });
        const caller = call(`${host.origin}${host.base}`, request, checked);
        await arrived;
        await turns();
        return caller;
      },
      close: async () => {
        await host.close();
        if (broken.length > 0) throw broken[0];
        if (host.reported.length > 0) throw host.reported[0];
      },
    };
  };
}

type Answered = Parameters<AnswerLaws['answered']>[0];

/** Sends a request on a connection of its own. */
function call(base: string, asked: CallerRequest, answers: Pick<AnswerLaws, 'answered'>): Caller {
  const { method, path, search, headers } = requestOf(asked, []);
  const target = `${base}${path}${search === '' ? '' : `?${search}`}`;
  const outgoing = httpRequest(target, {
    method,
    headers: { ...headers, connection: 'close' },
    agent: false,
  });
  const answered = new Promise<void>((resolve) => {
    // The connection of a caller that disconnected.
    outgoing.on('error', () => resolve());
    outgoing.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', () => {
        // The connection was cut; `close` follows.
      });
      response.on('close', () => {
        const { statusCode: status = 0, complete } = response;
        answers.answered({
          requestId: String(response.headers['x-request-id']),
          status,
          text: Buffer.concat(chunks).toString(),
          isCut: !complete,
          hasDisconnected: outgoing.destroyed && !complete,
        });
        resolve();
      });
    });
  });
  outgoing.end(bytesOf(asked.body));
  return { answered, disconnect: () => outgoing.destroy() };
}

/** The hosts of these histories, each with its own adapter or version. */
export const hosts: readonly Mount[] = mounts.filter(
  ({ name }) => name === 'node:http' || name.endsWith(' at the root'),
);
