/**
 * Mounts a gateway on `node:http`, on HTTP/2's compatibility API, and in whatever is connect-style.
 */
import type { GatewayHandler } from '../src/http.ts';
import { cutOff, type HostRequest, type HostResponse } from './host.ts';
import {
  type AdapterOptions,
  type AdapterState,
  adapterState,
  adaptRequest,
  checkMount,
  mountedPath,
  sendReply,
} from './record.ts';

export type { HostRequest, HostResponse } from './host.ts';
export type { AdapterOptions } from './record.ts';

/** A listener for `createServer`, and a middleware wherever `next` is passed. Never throws. */
export type NodeHandler = (
  req: HostRequest,
  res: HostResponse,
  next?: (error?: unknown) => void,
) => void;

/**
 * Answers the gateway's requests. Paths that are not the gateway's, and `OPTIONS` (the host's CORS
 * layer answers it), go to `next`; where there is none, the gateway answers those too.
 *
 * Mount it before body parsers: it then forwards the caller's bytes exactly and with its own
 * limits.
 *
 * ```ts
 * createServer(nodeAdapter(gateway)).listen(8787);
 * createServer(nodeAdapter(gateway, { basePath: '/llm' })).listen(8787);
 * ```
 */
export function nodeAdapter(gateway: GatewayHandler, options: AdapterOptions = {}): NodeHandler {
  checkMount('nodeAdapter', gateway, options);
  const state = adapterState();
  return (req, res, next) => {
    const url = req.url ?? '';
    const path = mountedPath(url, req.originalUrl ?? url, options);
    if (next !== undefined && (req.method === 'OPTIONS' || !gateway.owns(path))) return next();

    void answer(gateway, state, path, req, res);
  };
}

async function answer(
  gateway: GatewayHandler,
  state: AdapterState,
  path: string,
  req: HostRequest,
  res: HostResponse,
): Promise<void> {
  try {
    const visit = adaptRequest(req, res, path, req, state);
    const reply = await gateway.handle(visit.request);
    visit.isAnswered = true;
    sendReply(req, res, reply, state);
  } catch {
    // Only a wrapper of the host's can have thrown; the caller is not left waiting for it.
    cutOff(res);
  }
}
