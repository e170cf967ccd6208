// suite: slow host
/** The example with Stripe: its own client against a fake of the four routes that it calls. */
import { createServer } from 'node:http';
import fc from 'fast-check';
import Stripe from 'stripe';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  applyStripeEvent,
  type Billing,
  reportDay,
  startSubscription,
} from '../../examples/stripe.ts';
import { memoryQuotaStore, memoryUsageSink } from '../../src/index.ts';
import { usageRecord } from '../../src/testing/contracts/usage-sink.ts';
import { closed, listening } from '../support/servers.ts';

const webhookSecret = 'whsec_of_the_tests';
const nowMs = Date.UTC(2026, 10, 28);

interface Subscription {
  readonly status: string;
  readonly priceId: string;
}

/** What Stripe has, and what it was sent. */
interface FakeStripe {
  readonly stripe: Stripe;
  readonly sent: URLSearchParams[];
  /** As it is at Stripe now; tests change it. */
  subscription: Subscription;
}

async function fakeStripe(): Promise<FakeStripe> {
  const sent: URLSearchParams[] = [];
  const identifiers = new Set<string>();
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    const form = new URLSearchParams(body);
    const identifier = form.get('identifier');
    // Stripe counts a meter event with a known identifier only once.
    if (identifier === null || !identifiers.has(identifier)) sent.push(form);
    if (identifier !== null) identifiers.add(identifier);
    const reply = replyTo(`${request.method} ${request.url}`, fake.subscription);
    response.writeHead(reply === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(reply ?? { error: { message: `${request.url} is unknown` } }));
  });
  const { hostname: host, port } = new URL(await listening(server));
  onTestFinished(() => closed(server));
  const stripe = new Stripe('sk_test_of_the_tests', { host, port, protocol: 'http' });
  const fake: FakeStripe = {
    stripe,
    sent,
    subscription: { status: 'active', priceId: 'price_pro' },
  };
  return fake;
}

function replyTo(route: string, { status, priceId }: Subscription): object | undefined {
  switch (route) {
    case 'POST /v1/customers':
      return { object: 'customer', id: 'cus_ada' };
    case 'POST /v1/checkout/sessions':
      return { object: 'checkout.session', id: 'cs_1', url: 'https://checkout.example/cs_1' };
    case 'GET /v1/subscriptions/sub_1': {
      const items = { data: [{ price: { id: priceId } }] };
      return { object: 'subscription', id: 'sub_1', status, customer: 'cus_ada', items };
    }
    case 'POST /v1/billing/meter_events':
      return { object: 'billing.meter_event' };
    default:
      return undefined;
  }
}

interface Host extends FakeStripe {
  readonly billing: Billing;
  /** The plan of the user now. */
  plan(): string | undefined;
  /** The money that was paid in. */
  paid(): Promise<bigint | undefined>;
  /** Delivers an event as Stripe does. */
  deliver(type: string, object: object, atMs?: number): Promise<void>;
}

async function host(): Promise<Host> {
  const fake = await fakeStripe();
  const quota = memoryQuotaStore();
  const plans = new Map<string, string>();
  const billing: Billing = {
    ...{ stripe: fake.stripe, webhookSecret, quota },
    planOfPrice: { price_pro: 'pro', price_team: 'team' },
    setPlan: async (customerId, plan) => void plans.set(customerId, plan),
  };
  return Object.assign(fake, {
    billing,
    plan: () => plans.get('cus_ada'),
    paid: async () => (await quota.read('ada', '', 'default'))?.extra,
    deliver: async (type: string, object: object, atMs = nowMs) => {
      const payload = JSON.stringify({ id: 'evt_1', object: 'event', type, data: { object } });
      const timestamp = Math.floor(atMs / 1_000);
      const header = fake.stripe.webhooks.generateTestHeaderString({
        ...{ payload, secret: webhookSecret, timestamp },
      });
      await applyStripeEvent(billing, Buffer.from(payload), header, nowMs);
    },
  });
}

describe('examples/stripe', () => {
  it('opens a page for the subscription of one customer', async () => {
    const { billing, sent } = await host();
    const user = { id: 'ada', email: 'ada@example.com', priceId: 'price_pro' };
    const started = await startSubscription(billing, user);

    expect(started).toEqual({ customerId: 'cus_ada', url: 'https://checkout.example/cs_1' });
    expect(sent.map((form) => form.get('metadata[user]') ?? form.get('mode'))).toEqual([
      'ada',
      'subscription',
    ]);
  });

  it('gives the plan that the subscription has now, in whatever order events arrive', async () => {
    const status = fc.constantFrom('active', 'trialing', 'past_due', 'canceled', 'unpaid');
    const priceId = fc.constantFrom('price_pro', 'price_team', 'price_unknown');
    const word = fc.constantFrom('created', 'updated', 'deleted');
    const changes = fc.array(fc.record({ status, priceId, word }), { minLength: 1, maxLength: 6 });
    const ada = await host();
    await fc.assert(
      fc.asyncProperty(changes, async (all) => {
        for (const { word, ...subscription } of all) {
          ada.subscription = subscription;
          // The event itself may be an old one.
          await ada.deliver(`customer.subscription.${word}`, { id: 'sub_1', status: 'active' });
        }

        const isPaid = ['active', 'trialing'].includes(ada.subscription.status);
        const plan = { price_pro: 'pro', price_team: 'team' }[ada.subscription.priceId] ?? 'free';
        expect(ada.plan()).toBe(isPaid ? plan : 'free');
      }),
      { numRuns: 20 },
    );
  });

  it('credits each payment once, and no payment that is open or for a subscription', async () => {
    const { deliver, paid } = await host();
    const session = {
      ...{ id: 'cs_1', mode: 'payment', payment_status: 'paid' },
      ...{ client_reference_id: 'ada', amount_total: 2_550 },
    };
    for (let time = 0; time < 3; time += 1) await deliver('checkout.session.completed', session);
    await deliver('checkout.session.completed', { ...session, id: 'cs_2', mode: 'subscription' });
    await deliver('checkout.session.completed', {
      ...session,
      id: 'cs_3',
      payment_status: 'unpaid',
    });

    expect(await paid()).toBe(25_500_000_000n);
  });

  it('refuses an event of somebody else, and one that is old', async () => {
    const { billing, deliver, plan } = await host();
    const event = Buffer.from('{"type":"customer.subscription.updated"}');
    const old = deliver('customer.subscription.updated', { id: 'sub_1' }, nowMs - 301_000);

    await expect(old).rejects.toThrow(/Timestamp outside the tolerance zone/);
    await expect(applyStripeEvent(billing, event, 't=1,v1=00', nowMs)).rejects.toThrow(/signature/);
    expect(plan()).toBeUndefined();
  });

  it('reports what each customer was charged on a day, once', async () => {
    const { billing, sent } = await host();
    const log = memoryUsageSink();
    const of = (customer: string | undefined, startedAtMs: number, chargeNanos: bigint) => {
      const metadata = customer === undefined ? undefined : { customer };
      return usageRecord({ metadata, startedAtMs, chargeNanos, reservationId: `${startedAtMs}` });
    };
    const dayMs = 86_400_000;
    await log.record(of('cus_ada', nowMs - dayMs, 1_250_000n));
    await log.record(of('cus_ada', nowMs - 1, 250_000n));
    await log.record(of('cus_ada', nowMs, 77_000_000n));
    await log.record(of(undefined, nowMs - 2, 5_000_000n));
    await log.record(of('cus_eve', nowMs - 3, 0n));

    expect(await reportDay(billing, log, '2026-11-27')).toBe(1);
    expect(await reportDay(billing, log, '2026-11-27')).toBe(1);
    expect(sent.map((form) => Object.fromEntries(form))).toEqual([
      {
        event_name: 'model_usage',
        identifier: 'cus_ada:2026-11-27',
        timestamp: `${nowMs / 1_000 - 1}`,
        'payload[stripe_customer_id]': 'cus_ada',
        'payload[value]': '1500',
      },
    ]);
  });
});
