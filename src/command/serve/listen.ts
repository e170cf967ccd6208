/** Opens the ports of `serve`, all or none. */
import type { Server } from 'node:http';
import { thrownCode } from '../../thrown.ts';
import { CommandError, exitCodes } from '../command.ts';

export interface Port {
  /** The member of the configuration that it comes from: `listen`. */
  readonly member: string;
  readonly server: Server;
  readonly port: number;
  /** Default: all addresses. */
  readonly host?: string | undefined;
}

/**
 * Listens on all ports, and then calls `whenOpen`.
 *
 * @throws CommandError that names the member of the configuration, or what `whenOpen` throws; then
 *   no port stays open
 */
export async function listenOn(ports: readonly Port[], whenOpen: () => void): Promise<void> {
  try {
    for (const port of ports) await listen(port);
    whenOpen();
  } catch (error) {
    for (const { server } of ports) stop(server);
    throw error;
  }
}

function listen({ member, server, port, host }: Port): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const code = thrownCode(error);
      const remedy = code === 'EADDRINUSE' ? 'It is taken: choose a free one.' : String(code);
      const place = code === 'EADDRINUSE' || code === 'EACCES' ? 'port' : 'host';
      const message = `${member}.${place}: can't listen on port ${port}. ${remedy}`;
      reject(new CommandError(exitCodes.failed, message, error));
    });
    server.listen({ port, ...(host === undefined ? {} : { host }) }, resolve);
  });
}

/** Where a server listens; for port 0, the port that the system has chosen. */
export function addressOf(server: Server): { readonly address?: string; readonly port?: number } {
  const bound = server.address();
  if (typeof bound !== 'object' || bound === null) return {};
  return { address: bound.address, port: bound.port };
}

export function stop(server: Server): void {
  server.close();
  server.closeAllConnections();
}
