/** A route of the admin interface states its action, or that it only reads, or does not compile. */
import { z } from 'zod';
import { route } from '../../src/admin/http/route.ts';

const inputs = { path: '/x', summary: 'x', query: z.unknown(), body: z.unknown() };
const shape = { ...inputs, run: () => Promise.reject(new Error('unused')) };

route({ ...shape, method: 'POST', action: 'key.issue' });
route({ ...shape, method: 'POST', reads: true });
// @ts-expect-error it would need no `manage`, and leave no entry in the audit trail
route({ ...shape, method: 'POST' });
// @ts-expect-error undefined is no action
route({ ...shape, method: 'POST', action: undefined });
// @ts-expect-error a reader could make the change
route({ ...shape, method: 'POST', action: 'key.issue', reads: true });
// @ts-expect-error a change is a POST, which another site's link or image cannot send
route({ ...shape, method: 'GET', action: 'key.issue' });

const read = { ...inputs, method: 'GET', run: async () => ({ json: { requestId: 'r' } }) } as const;
// @ts-expect-error the reply lacks members of what the OpenAPI document says
route({ ...read, reply: 'CallsOfRequest' });
