/** Sign-in links for others, which whoever has a token may make: `POST {path}/links`. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import type { Admin } from '../admin/admin.ts';
import { AdminError } from '../admin/admin-error.ts';
import { sendJson } from '../admin/http/reply.ts';
import { type AdminAccess, checkChange, readJson } from '../admin/http/request.ts';
import { checkedBy, shortText } from '../admin/http/route.ts';
import type { ConsoleSignIn } from './sign-in.ts';

/** Below the path of the console. */
export const linksPath = '/links';

const bodySchema = z.strictObject({ actor: shortText, can: z.enum(['read', 'manage']) });

interface LinkRequest {
  readonly admin: Admin;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The path of the console. */
  readonly base: string;
}

/**
 * Answers with a path that signs in once. It needs a token: with a session, whoever has stolen one
 * could renew it for ever.
 */
export async function answerLink(
  { admin, request, response, base }: LinkRequest,
  signIn: ConsoleSignIn,
  access: AdminAccess,
): Promise<void> {
  if (request.method !== 'POST') throw new AdminError('method_not_allowed', 'Send POST.');
  const subject = { actor: access.actor, action: 'console.link', target: undefined } as const;
  if (access.via !== 'token' || access.can !== 'manage') {
    await admin.audit.refused({ ...subject, change: {} }, 'read_only');
    throw new AdminError('read_only', 'A sign-in link for others needs a token that can manage.');
  }
  checkChange(request, access.via);
  const { actor, can } = checkedBy(bodySchema, await readJson(request, admin.clock));
  const path = await admin.audit.run({ ...subject, target: actor, change: { can } }, async () =>
    signIn.link(`http://console${base}`, { actor, can }).replace('http://console', ''),
  );
  sendJson(response, 201, { path });
}
