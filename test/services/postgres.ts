/**
 * A private PostgreSQL for the tests: a cluster of its own in a temporary folder, on a unix socket,
 * gone when they are over. Debian's packages bring the programs.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';

/** A running server. */
export interface PostgresServer {
  /** The folder of its socket, as pg takes a host. */
  readonly host: string;
  /** Options for a Pool of one's own: another process's, or one through a proxy. */
  readonly connection: { readonly host: string; readonly user: string; readonly database: string };
  /** A pool of so many connections; ended with the server where nobody has ended it before. */
  pool(max?: number): pg.Pool;
  /** SIGKILL to its first process, as a crash would; over when all of its others have left too. */
  kill(): Promise<void>;
  /** Starts it on the same data, after a kill. */
  restart(): Promise<void>;
  /** Stops it and removes its folder. */
  stop(): Promise<void>;
}

/** How it keeps what it is told. */
export interface PostgresServerOptions {
  /** Writes through to the disk: for tests that kill it. Off where left out, which is faster. */
  readonly fsync?: boolean;
}

const run = promisify(execFile);

/** Where Debian puts the newest of its versions; undefined where none is installed. */
function postgresPrograms(): string | undefined {
  const root = '/usr/lib/postgresql';
  const [newest] = existsSync(root) ? readdirSync(root).toSorted((a, b) => +b - +a) : [];
  const folder = newest === undefined ? undefined : join(root, newest, 'bin');
  return folder !== undefined && existsSync(join(folder, 'postgres')) ? folder : undefined;
}

/**
 * Whether suites that need PostgreSQL can run; says so loudly where not.
 *
 * @throws where they must: `REQUIRE_SERVICES=1`
 */
export function hasPostgres(): boolean {
  if (postgresPrograms() !== undefined) return true;
  const sentence =
    'PostgreSQL is not installed: its suites are SKIPPED. apt-get install postgresql';
  if (process.env.REQUIRE_SERVICES === '1') throw new Error(sentence);
  process.stderr.write(`\n*** ${sentence}\n\n`);
  return false;
}

/** Makes a cluster and starts it; takes about a second. */
export async function startPostgres(options: PostgresServerOptions = {}): Promise<PostgresServer> {
  const programs = postgresPrograms();
  if (programs === undefined) throw new Error('PostgreSQL is not installed.');
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-pg-'));
  const owner = await ownerOf(folder);
  const data = join(folder, 'data');
  await run(join(programs, 'initdb'), initArguments(data), owner);
  await writeFile(join(data, 'postgresql.auto.conf'), settingsOf(folder, options.fsync === true));
  const pools = new Set<pg.Pool>();
  const connection = { host: folder, user: 'tollgate', database: 'postgres' };
  const start = (): Promise<RunningServer> => startServer(join(programs, 'postgres'), data, owner);
  let server = await start();
  await untilItAnswers(connection, server);

  return {
    host: folder,
    connection,
    pool: (max = 10) => {
      const pool = new pg.Pool({ ...connection, max });
      // A connection that is idle when the server dies tells the pool so; nobody waits for it.
      pool.on('error', () => {});
      pools.add(pool);
      return pool;
    },
    kill: () => ended(server.child, 'SIGKILL'),
    restart: async () => {
      server = await start();
      await untilItAnswers(connection, server);
    },
    stop: async () => {
      await Promise.all([...pools].filter((pool) => !pool.ended).map((pool) => pool.end()));
      await ended(server.child, 'SIGQUIT');
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

interface Owner {
  readonly uid?: number;
  readonly gid?: number;
}

/** The server refuses to run as root: it then runs as the user that its package made. */
async function ownerOf(folder: string): Promise<Owner> {
  if (process.getuid?.() !== 0) return {};
  const id = async (kind: string): Promise<number> =>
    Number((await run('id', [kind, 'postgres'])).stdout);
  const owner = { uid: await id('-u'), gid: await id('-g') };
  await chown(folder, owner.uid, owner.gid);
  return owner;
}

function initArguments(data: string): readonly string[] {
  return ['-D', data, '-U', 'tollgate', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync'];
}

function settingsOf(folder: string, fsync: boolean): string {
  const durable = fsync ? 'on' : 'off';
  return [
    `unix_socket_directories = '${folder}'`,
    "listen_addresses = ''",
    `fsync = ${durable}`,
    `full_page_writes = ${durable}`,
    'max_connections = 200',
    "shared_buffers = '64MB'",
    "log_min_messages = 'fatal'",
    '',
  ].join('\n');
}

/** Its first process, and what it said on its way out. */
interface RunningServer {
  readonly child: ChildProcess;
  readonly lastWords: () => string;
}

async function startServer(program: string, data: string, owner: Owner): Promise<RunningServer> {
  // Its own group: a Ctrl-C of the terminal is not for it.
  const child = spawn(program, ['-D', data], {
    ...owner,
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  let text = '';
  child.stderr.setEncoding('utf8').on('data', (piece: string) => {
    text = (text + piece).slice(-4096);
  });
  await new Promise((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
  // A run that is broken off leaves no server behind.
  const end = (): boolean => child.kill('SIGQUIT');
  process.once('exit', end);
  child.once('close', () => process.off('exit', end));
  return { child, lastWords: () => text };
}

async function untilItAnswers(
  connection: PostgresServer['connection'],
  server: RunningServer,
): Promise<void> {
  for (;;) {
    if (server.child.exitCode !== null) {
      throw new Error(`postgres ended with ${server.child.exitCode}: ${server.lastWords()}`);
    }
    const client = new pg.Client(connection);
    client.on('error', () => {});
    try {
      await client.connect();
      await client.end();
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

async function ended(server: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  // Each connection has a process of its own, which holds the memory that the next server asks for,
  // and our pipe: not the first one's exit but the pipe's end says that all have left.
  const closed = new Promise((resolve) => server.once('close', resolve));
  server.kill(signal);
  await closed;
}
