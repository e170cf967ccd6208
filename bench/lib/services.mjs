/**
 * A private Redis and a private PostgreSQL for the benchmarks: in temporary folders, on unix
 * sockets, removed at the end of the run. Undefined if a server is not installed.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
const startWithinMs = 20_000;

/**
 * A Redis that writes its append-only file and leaves the sync to the kernel, because the cost per
 * request is measured here and not the disk.
 */
export async function startRedis() {
  const program = await run('redis-server', ['--version']).catch(() => undefined);
  if (program === undefined) return undefined;
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-bench-redis-'));
  const path = join(folder, 'redis.sock');
  const options = ['--port', '0', '--unixsocket', path, '--dir', folder, '--save', ''];
  const durable = ['--appendonly', 'yes', '--appendfsync', 'no'];
  return started('redis-server', [...options, ...durable], { folder, path });
}

/** A PostgreSQL whose commits wait for the disk only with `fsync`, for the same reason. */
export async function startPostgres({ fsync = false } = {}) {
  const programs = postgresPrograms();
  if (programs === undefined) return undefined;
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-bench-postgres-'));
  const owner = await ownerOf(folder);
  const data = join(folder, 'data');
  const making = ['-D', data, '-U', 'tollgate', '-A', 'trust', '-E', 'UTF8', '--no-sync'];
  await run(join(programs, 'initdb'), [...making, '--no-locale'], owner);
  const settings = [
    `unix_socket_directories=${folder}`,
    'listen_addresses=',
    `fsync=${fsync}`,
    `full_page_writes=${fsync}`,
    'max_connections=200',
    'shared_buffers=64MB',
  ].flatMap((setting) => ['-c', setting]);
  const path = join(folder, '.s.PGSQL.5432');
  return started(join(programs, 'postgres'), ['-D', data, ...settings], { folder, path, owner });
}

/** The newest version in the folders of Debian's packages. */
function postgresPrograms() {
  const versions = '/usr/lib/postgresql';
  const [newest] = existsSync(versions) ? readdirSync(versions).sort((a, b) => b - a) : [];
  const folder = join(versions, newest ?? '', 'bin');
  return existsSync(join(folder, 'postgres')) ? folder : undefined;
}

/** PostgreSQL refuses to run as root; then the user that its package created is used. */
async function ownerOf(folder) {
  if (process.getuid?.() !== 0) return {};
  const id = async (kind) => Number((await run('id', [kind, 'postgres'])).stdout);
  const owner = { uid: await id('-u'), gid: await id('-g') };
  await chown(folder, owner.uid, owner.gid);
  return owner;
}

/** Starts a server in its folder; resolves when its socket accepts connections. */
async function started(program, options, { folder, path, owner = {} }) {
  const child = spawn(program, options, { ...owner, stdio: 'ignore' });
  // SIGQUIT ends both immediately, PostgreSQL with its children, also when this run is aborted.
  const end = () => child.kill('SIGQUIT');
  process.once('exit', end);
  await untilListening(child, path);
  return {
    path,
    pid: child.pid,
    folder,
    async stop() {
      process.off('exit', end);
      const ended = once(child, 'exit');
      end();
      await ended;
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

async function untilListening(child, path) {
  const latest = Date.now() + startWithinMs;
  while (!(await listens(path))) {
    if (child.exitCode !== null || Date.now() > latest) {
      throw new Error(`${child.spawnfile} did not start`);
    }
    await wait(50);
  }
  // A server that is still loading its files already listens, and refuses connections.
  await wait(500);
}

function listens(path) {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
