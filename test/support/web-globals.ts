/** Restores the classes that `@hono/node-server` replaces, as it does in its users' processes. */
const { Request, Response } = globalThis;

/** Puts the global `Request` and `Response` of Node back. */
export function restoreWebGlobals(): void {
  Object.assign(globalThis, { Request, Response });
}
