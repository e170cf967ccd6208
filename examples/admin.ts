/** The admin interface beside a gateway: a bearer token signs the operator in. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { createGateway, memoryKeyStore, memoryQuotaStore, staticCatalog } from 'tollgate';
import { adminHandler, createAdmin } from 'tollgate/admin';
import { nodeAdapter } from 'tollgate/node';

const keys = memoryKeyStore();
const quota = memoryQuotaStore();
const catalog = staticCatalog([]);
const gateway = createGateway({ keys, quota, catalog });
const admin = createAdmin({
  gateway,
  keys,
  quota,
  catalog,
  onAudit: (entry) => process.stdout.write(`${JSON.stringify(entry)}\n`),
});

const token = process.env.ADMIN_TOKEN ?? '';

/** Your app has a sign-in of its own: ask it here. */
function authorize({ headers }: IncomingMessage) {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  const isRight = timingSafeEqual(digest(headers.authorization ?? ''), digest(`Bearer ${token}`));
  return token !== '' && isRight ? ({ actor: 'operator', can: 'manage' } as const) : undefined;
}

const handleAdmin = adminHandler(admin, { path: '/admin', authorize });
const handleCalls = nodeAdapter(gateway);

createServer((request, response) => {
  const isAdmin = request.url?.startsWith('/admin/') === true;
  void (isAdmin ? handleAdmin(request, response) : handleCalls(request, response));
}).listen(Number(process.env.PORT ?? 8787), '127.0.0.1');
