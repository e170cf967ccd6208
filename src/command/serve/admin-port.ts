/** The console and the admin interface of `serve`, on a port of their own, off by default. */
import { timingSafeEqual } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { dirname, resolve } from 'node:path';
import { type Admin, createAdmin } from '../../admin/admin.ts';
import { given } from '../../admin/deps.ts';
import type { ConsoleSignIn } from '../../console/sign-in.ts';
import { errorClass, isError } from '../../errors.ts';
import { thrownCode } from '../../events/thrown.ts';
import { digestSecret } from '../../secret.ts';
import { CommandError, exitCodes, type Surroundings } from '../command.ts';
import type { AdminConfig, ServeConfig } from '../config/config.ts';
import { auditTo, type Log } from '../log.ts';
import { reasonOf } from '../output.ts';
import { type AdminToken, consolePath, originOf, tokensOf } from '../requests.ts';
import type { OpenGateway } from './open-gateway.ts';

export type AdminPort = Awaited<ReturnType<typeof adminPort>>;

export interface AdminPortDeps {
  readonly opened: OpenGateway;
  readonly config: ServeConfig;
  /** The path of the configuration file; relative paths are resolved against its folder. */
  readonly path: string;
  readonly log: Log;
  readonly around: Surroundings;
}

/** @throws CommandError if the file of the audit trail can't be written */
export async function adminPort(chosen: AdminConfig, deps: AdminPortDeps) {
  const { around, log, path } = deps;
  const { port, host, hosts } = chosen;
  // Loaded only here, because its pages are large and most processes have no console.
  const { consoleHandler, consoleSignIn } = await import('../../console/index.ts');
  const admin = adminOver(deps);
  const signIn = consoleSignIn({ clock: around.clock });
  const answer = consoleHandler(admin, {
    path: consolePath,
    signIn: withTokens(signIn, tokensOf(chosen)),
    ...(hosts === undefined ? {} : { hosts }),
    onError: (error) => log.write('error', 'admin_failed', membersOf(error)),
  });
  const server = createServer((request, response) => {
    if (request.url === '/') response.writeHead(302, { location: consolePath }).end();
    else void answer(request, response);
  });
  const link = signInLink(chosen, dirname(path), around);
  /** Writes a sign-in link, which works once, where only the operator can read it. */
  const invite = (): void => {
    const { port: bound = port } = addressOf(server);
    link.write(signIn.link(originOf({ host, port: bound }) + consolePath));
  };
  return {
    port: { member: 'admin', server, port, host } satisfies Port,
    invite,
    /** The same while calls are served: a failure is logged and not thrown. */
    inviteAgain: (): void => {
      try {
        invite();
      } catch (error) {
        log.write('error', 'sign_in_failed', { reason: isError(error) ? error.message : '' });
      }
    },
    close: (): void => {
      link.remove();
      admin.close();
    },
  };
}

/** Messages of drivers may contain an address or a value: of theirs only the code is written. */
function membersOf(error: unknown): object {
  return { error: errorClass(error), code: thrownCode(error), reason: reasonOf(error) };
}

function adminOver({ opened, config, path, log, around }: AdminPortDeps): Admin {
  const { gateway, catalog, stores } = opened;
  const { keys, quota, usage, replyStores, auditLog } = stores;
  return createAdmin({
    ...{ gateway, keys, quota, usage, replyStores },
    catalog: catalog.forAdmin,
    onAudit: auditTo(config.audit, dirname(path), log),
    ...(auditLog === undefined ? {} : { auditLog }),
    onAuditError: (error) => log.write('error', 'audit_not_written', membersOf(error)),
    clock: around.clock,
    ...given({ currency: config.admin?.currency, timeZone: config.admin?.timeZone }),
  });
}

/** Lets scripts and `tollgate channels` in by a token in place of a session. */
export function withTokens(signIn: ConsoleSignIn, tokens: readonly AdminToken[]): ConsoleSignIn {
  const known = tokens.map(({ token, name: actor, can }) => ({
    expected: Buffer.from(digestSecret(token)),
    access: { actor, can, via: 'token' } as const,
  }));
  return {
    ...signIn,
    authorize: (request) => {
      const [, given] = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
      const digest = given === undefined ? undefined : Buffer.from(digestSecret(given));
      const found = known.find(({ expected }) => digest && timingSafeEqual(digest, expected));
      return found?.access ?? signIn.authorize(request);
    },
  };
}

/**
 * Links go to standard error, or to a file that only its owner can read.
 *
 * @param folder of the configuration file; a relative path is resolved against it
 */
function signInLink({ signInFile }: AdminConfig, folder: string, { err, beforeEnd }: Surroundings) {
  if (signInFile === undefined) {
    return {
      write: (link: string) => err(`Console: ${link}\nIt works once, within ten minutes.\n`),
      remove: () => {},
    };
  }
  const path = resolve(folder, signInFile);
  let isWritten = false;
  const remove = (): void => rmSync(path, { force: true });
  const removeOwn = (): void => {
    if (!isWritten) return;
    isWritten = false;
    try {
      remove();
    } catch {
      // The process ends anyway.
    }
  };
  beforeEnd(removeOwn);
  return {
    /** @throws CommandError if the file can't be written */
    write: (link: string): void => {
      try {
        // Always a new file: an old one may have other permissions, or be a link to another place.
        remove();
        isWritten = true;
        writeFileSync(path, `${link}\n`, { mode: 0o600, flag: 'wx' });
      } catch (error) {
        const code = thrownCode(error);
        const message = `admin.signInFile can't be written (${code}). Its folder must exist.`;
        throw new CommandError(exitCodes.unreachable, message, error);
      }
    },
    remove: removeOwn,
  };
}

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
