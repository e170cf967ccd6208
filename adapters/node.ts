/**
 * Mounts a gateway on `node:http`, on HTTP/2's compatibility API, and in connect-style frameworks.
 */

import { cutOff } from '../src/host-streams.ts';
import type { GatewayHandler } from '../src/http.ts';
import type { HostRequest, HostResponse } from './host.ts';
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

/** A listener for `createServer`, or a middleware if called with `next`. Never throws. */
export type NodeHandler = (
  req: HostRequest,
  res: HostResponse,
  next?: (error?: unknown) => void,
) => void;

/**
 * Answers the gateway's requests. Other paths, and `OPTIONS` (which the host's CORS middleware
 * answers), go to `next`; without `next` the gateway answers them too.
 *
 * Mount it before body parsers, so that the caller's bytes are forwarded unchanged and the
 * gateway's own limits apply.
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
    const adapted = adaptRequest(req, res, path, req, state);
    const reply = await gateway.handle(adapted.request);
    adapted.isAnswered = true;
    sendReply(req, res, reply, state);
  } catch {
    // Only a wrapper of the host can throw here. The connection is closed, so that the caller does
    // not wait.
    cutOff(res);
  }
}
