/**
 * Mounts a gateway on `node:http`, on HTTP/2's compatibility API, and in connect-style frameworks.
 */

import type { GatewayHandler } from '../src/http.ts';
import { type HostRequest, type HostResponse, isGone } from './host.ts';
import {
  type AdapterOptions,
  adapterState,
  answerRequest,
  checkMount,
  isBelowPrefix,
  mountedPath,
  notePreflight,
} from './record.ts';

export type { HostRequest, HostResponse } from './host.ts';
export type { AdapterOptions } from './record.ts';

/**
 * A listener for `createServer`, or a middleware if called with `next`.
 *
 * Resolves when the whole response has been sent or its connection has closed, so that a function
 * of a serverless platform or a route of Next's `pages/api` can await it; immediately if the
 * request was passed to `next`. Never rejects.
 */
export type NodeHandler = (
  req: HostRequest,
  res: HostResponse,
  next?: (error?: unknown) => void,
) => Promise<void>;

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
    const full = req.originalUrl ?? url;
    const path = mountedPath(url, full, options);
    const isPassed = (): boolean =>
      req.method === 'OPTIONS' || !gateway.owns(path, req.method, isBelowPrefix(path, full));
    if (req.method === 'OPTIONS') notePreflight(gateway, state, path, req, res);
    if (next !== undefined && isPassed()) {
      next();
      return settled;
    }
    void answerRequest(gateway, state, path, req, res, req);
    return new Promise((resolve) => {
      if (res.writableFinished || isGone(res)) resolve();
      // Not only `close`, which the responses of some serverless wrappers do not emit.
      else res.on('finish', resolve).on('close', resolve);
    });
  };
}

/** A resolved promise has no state, so all calls share it. */
const settled: Promise<void> = Promise.resolve();
