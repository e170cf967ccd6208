/**
 * `npm start`: a host app with the gateway and its console, an embedded upstream, and commands to
 * paste. It listens on 127.0.0.1, and the console answers only to host names of this machine.
 * With OPENAI_API_KEY, GEMINI_API_KEY or ANTHROPIC_API_KEY set it calls the real upstreams.
 * Keys, quota and usage are kept in ./.data.
 */
import { createServer } from 'node:http';
import express from 'express';
import { createGateway, staticCatalog } from 'tollgate';
import { createAdmin } from 'tollgate/admin';
import { consoleHandler, consoleSignIn } from 'tollgate/console';
import { expressAdapter } from 'tollgate/express';
import { startFakeUpstream } from 'tollgate/testing';
import { linesToPaste } from './quickstart/lines.ts';
import { demoModels } from './quickstart/models.ts';
import { demoStores } from './quickstart/stores.ts';

const port = Number(process.env.PORT || 8787);
if (!(Number.isInteger(port) && port >= 0 && port <= 65_535)) {
  process.stderr.write('PORT must be a number from 0 to 65535.\n');
  process.exit(1);
}
const upstream = await startFakeUpstream({ paceMs: 40 });
const models = demoModels(process.env, upstream);
const { stores, secrets, callCount, place, close } = await demoStores('.data');
const catalog = staticCatalog(models.all);
const gateway = createGateway({
  ...stores,
  catalog,
  ownerRoutes: true,
  defaultImageModel: models.image,
});

const { keys, quota, usage } = stores;
const admin = createAdmin({ gateway, keys, quota, usage, catalog });
const signIn = consoleSignIn();

const app = express();
app.use(expressAdapter(gateway));
app.use(consoleHandler(admin, { path: '/console', signIn }));
app.get('/', async (_req, res) => {
  res.json({ hello: 'from the host app', calls: await callCount() });
});

const server = createServer(app);
server.once('error', (error) => {
  const taken = 'code' in error && error.code === 'EADDRINUSE';
  const fix = taken ? 'It is taken: set PORT to a free one.' : error.message;
  process.stderr.write(`Can't listen on port ${port}. ${fix}\n`);
  process.exit(1);
});
server.listen(port, '127.0.0.1', () => {
  const address = server.address();
  const bound = typeof address === 'object' && address !== null ? address.port : port;
  const base = `http://localhost:${bound}`;
  const link = signIn.link(`${base}/console`);
  process.stdout.write(linesToPaste({ base, link, secrets, models, place }));
});

async function stop(): Promise<void> {
  process.once('SIGINT', () => process.exit(130));
  server.close();
  await gateway.close({ drainMs: 5_000 });
  admin.close();
  server.closeAllConnections();
  await upstream.close();
  await close();
}

process.once('SIGINT', () => void stop());
process.once('SIGTERM', () => void stop());
