/** A gateway whose callers bring their own provider keys: Alice, Bob, and the operator's own. */
import { perKey } from '../../../src/index.ts';
import type { ApiKey } from '../../../src/ports/keys/key-store.ts';
import type { Channel } from '../../../src/ports/models/catalog.ts';
import type { CallHandler, DrivenCall } from '../../support/driven-upstream.ts';
import {
  type CallerReply,
  gatewayInProcess,
  type InProcessGateway,
} from '../../support/gateway-in-process.ts';
import { channel, completeReply, model, sampleRequests } from '../../support/models.ts';

export type User = 'alice' | 'bob' | 'operator';

export const users: readonly User[] = ['alice', 'bob', 'operator'];
export const operatorSecret = 'sk-operator-0123456789';
/** Alice's key is the bad one. */
export const secretOfUser = { alice: 'sk-alice-9876543210', bob: 'sk-bob-5555555555' };

export type Credential = Exclude<Channel['credential'], string>;

/** Users who brought a key use it; the operator's key is for the others. */
export const ownKeys: Credential = perKey(async ({ key: { id } }) =>
  id === 'alice' || id === 'bob' ? { secret: secretOfUser[id], account: id } : operatorSecret,
);

export interface Tenants
  extends Pick<InProcessGateway, 'clock' | 'events' | 'gateway' | 'records'> {
  /** Calls as this user. */
  as(user: User): Promise<CallerReply>;
  /** The secrets that were sent upstream, in order. */
  sent(): readonly string[];
}

/**
 * A gateway whose callers are the users. `bad` may treat a call, by the secret that was sent; then
 * it returns true.
 */
export function tenants(
  channels: readonly Partial<Channel>[],
  bad: (call: DrivenCall, user: string) => boolean = () => false,
): Tenants {
  const good = completeReply('chat');
  const handler: CallHandler = (up) => {
    if (!bad(up, secretIn(up))) good(up);
  };
  const harness = gatewayInProcess({
    models: [
      model({
        channels: channels.map((change, index) => channel({ id: `c${index}`, ...change })),
      }),
    ],
    handlers: Array.from({ length: 400 }, () => handler),
    options: { keys: { find: (secret) => keyOf(secret) } },
  });
  return {
    ...harness,
    as: (user) => harness.call({ ...sampleRequests.chat, headers: bearer(user) }),
    sent: () => harness.upstream.calls.map(secretIn),
  };
}

export function bearer(user: User): { readonly authorization: string } {
  return { authorization: `Bearer ${user}` };
}

export function keyOf(id: string): ApiKey {
  const quota = [{ id, period: 'total', limitNanos: 1_000_000n }] as const;
  return { id, group: 'staff', disabled: false, quota };
}

export function secretIn({ request }: DrivenCall): string {
  return String(request.headers.authorization).slice('Bearer '.length);
}
