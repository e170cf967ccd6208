/** nginx `proxy_pass` with keep-alive to the upstream; its CPU is the sum of its processes'. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { childrenOf, processMicros } from '../lib/machine.mjs';
import { measured, options } from './measured.mjs';

const configuration = (port, folder) => `
worker_processes 1;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log;
events { worker_connections 16384; }
http {
  access_log off;
  client_max_body_size 64m;
  client_body_buffer_size 8m;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  keepalive_requests 1000000;
  upstream bench { server 127.0.0.1:${options.upstreamPort}; keepalive 1024; }
  server {
    listen 127.0.0.1:${port} backlog=8192;
    location / {
      proxy_pass http://bench${options.prefix || ''};
      proxy_http_version 1.1;
      proxy_set_header connection "";
      proxy_buffering off;
    }
  }
}
`;

async function freePort() {
  const probe = createServer();
  await new Promise((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

function untilListening(port) {
  return new Promise((resolve) => {
    const probe = connect(port, '127.0.0.1');
    probe.once('connect', () => resolve(probe.destroy()));
    probe.once('error', () => setTimeout(() => resolve(untilListening(port)), 50));
  });
}

const folder = mkdtempSync(join(tmpdir(), 'bench-nginx-'));
const port = await freePort();
const file = join(folder, 'nginx.conf');
writeFileSync(file, configuration(port, folder));
const nginx = spawn('nginx', ['-p', folder, '-c', file, '-g', 'daemon off;'], { stdio: 'inherit' });
process.on('exit', () => {
  nginx.kill();
  rmSync(folder, { recursive: true });
});
await untilListening(port);

await measured({
  port,
  usage: () => {
    const all = [nginx.pid, ...childrenOf(nginx.pid)];
    const sum = (values) => values.reduce((total, value) => total + value, 0);
    return { cpuMicros: sum(all.map((pid) => processMicros(pid))) };
  },
});
