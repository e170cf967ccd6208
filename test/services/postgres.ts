/**
 * A private PostgreSQL for the tests: a cluster in a temporary folder, on a Unix socket, which is
 * removed after the tests. The programs come from Debian's packages.
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
  /** The folder of its socket, which pg accepts as a host. */
  readonly host: string;
  /** Options for a further pool: in another process, or through a proxy. */
  readonly connection: { readonly host: string; readonly user: string; readonly database: string };
  /** A pool with this many connections; it is closed with the server if it still is open. */
  pool(max?: number): pg.Pool;
  /**
   * Kills its first process with SIGKILL, as in a crash; resolves when its other processes have
   * ended too.
   */
  kill(): Promise<void>;
  /** Restarts it on the same data after a kill. */
  restart(): Promise<void>;
  /** Stops it and removes its folder. */
  stop(): Promise<void>;
}

/** How durable its writes are. */
export interface PostgresServerOptions {
  /** Flushes writes to the disk, for tests that kill it. Default: off, which is faster. */
  readonly fsync?: boolean;
}

const run = promisify(execFile);

/**
 * The folder of the newest version that Debian's packages installed; undefined if there is none.
 */
function postgresPrograms(): string | undefined {
  const root = '/usr/lib/postgresql';
  const [newest] = existsSync(root) ? readdirSync(root).toSorted((a, b) => +b - +a) : [];
  const folder = newest === undefined ? undefined : join(root, newest, 'bin');
  return folder !== undefined && existsSync(join(folder, 'postgres')) ? folder : undefined;
}

/**
 * Whether suites that need PostgreSQL can run; prints a line if they cannot.
 *
 * @throws if `REQUIRE_SERVICES=1` and they cannot
 */
export function hasPostgres(): boolean {
  if (postgresPrograms() !== undefined) return true;
  const sentence =
    'PostgreSQL is not installed: its suites are SKIPPED. apt-get install postgresql';
  if (process.env.REQUIRE_SERVICES === '1') throw new Error(sentence);
  process.stderr.write(`\n*** ${sentence}\n\n`);
  return false;
}

/** Creates a cluster and starts it, which takes about a second. */
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
      // The pool emits an error for each idle connection when the server dies; no query is
      // affected.
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

/** The server refuses to run as root, so it then runs as the user that its package created. */
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

/** Its first process, and the end of its output. */
interface RunningServer {
  readonly child: ChildProcess;
  readonly lastWords: () => string;
}

async function startServer(program: string, data: string, owner: Owner): Promise<RunningServer> {
  // A process group of its own, so that Ctrl-C in the terminal does not reach it.
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
  // An aborted run must not leave a server behind.
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
  // Each connection has a process of its own, which holds shared memory that the next server needs,
  // and our pipe. Only the end of the pipe shows that all of them have ended.
  const closed = new Promise((resolve) => server.once('close', resolve));
  server.kill(signal);
  await closed;
}
