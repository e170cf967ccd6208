/**
 * Plans, credit and usage that Stripe bills: a subscription decides the plan of a user, paid credit
 * is money for a key, and each day's usage becomes one meter event.
 */
import type Stripe from 'stripe';
import type { QuotaStore } from 'tollgate/ports';
import type { UsageQueries } from 'tollgate/postgres';
import { creditPayment } from './plans.ts';

/** The host's table of users, and what the host has from Stripe. */
export interface Billing {
  readonly stripe: Stripe;
  /** `whsec_…`, of the endpoint whose events {@link applyStripeEvent} gets. */
  readonly webhookSecret: string;
  readonly quota: QuotaStore;
  /** The plan for each price of a subscription. */
  readonly planOfPrice: Readonly<Record<string, string>>;
  /** Changes the user's row; forget the user's keys in a `cachedKeyStore` here, too. */
  setPlan(customerId: string, plan: string): Promise<void>;
}

/** A page of Stripe's on which a user subscribes. Store `customerId` with the user. */
export async function startSubscription(
  { stripe }: Pick<Billing, 'stripe'>,
  user: { readonly id: string; readonly email: string; readonly priceId: string },
): Promise<{ readonly customerId: string; readonly url: string | null }> {
  const customer = await stripe.customers.create(
    { email: user.email, metadata: { user: user.id } },
    { idempotencyKey: `customer-${user.id}` },
  );
  const session = await stripe.checkout.sessions.create({
    mode: 'subscription',
    customer: customer.id,
    client_reference_id: user.id,
    line_items: [{ price: user.priceId, quantity: 1 }],
    success_url: 'https://app.example/billing?paid=1',
  });
  return { customerId: customer.id, url: session.url };
}

/**
 * Applies an event of Stripe's webhook. Answer with 400 if it throws: Stripe sends the event again.
 * It also does so after a success whose answer was lost, and in any order, so the subscription is
 * read as it is now, and a payment is credited by its id.
 *
 * @param body the raw bytes, before any body parser
 * @param nowMs Unix ms; a signature that is older than five minutes is refused
 */
export async function applyStripeEvent(
  billing: Billing,
  body: Buffer,
  signature: string,
  nowMs = Date.now(),
): Promise<void> {
  const { stripe, webhookSecret } = billing;
  const check = [body, signature, webhookSecret, 300, undefined, nowMs] as const;
  const event = stripe.webhooks.constructEvent(...check);
  switch (event.type) {
    case 'customer.subscription.created':
    case 'customer.subscription.updated':
    case 'customer.subscription.deleted':
      return applySubscription(billing, event.data.object.id);
    case 'checkout.session.completed':
    case 'checkout.session.async_payment_succeeded':
      return applyPayment(billing, event.data.object);
  }
}

async function applySubscription(billing: Billing, id: string): Promise<void> {
  const { status, items, customer } = await billing.stripe.subscriptions.retrieve(id);
  const priceId = items.data[0]?.price.id ?? '';
  const isPaid = status === 'active' || status === 'trialing';
  const plan = isPaid ? billing.planOfPrice[priceId] : undefined;
  await billing.setPlan(typeof customer === 'string' ? customer : customer.id, plan ?? 'free');
}

/** Credit that was bought once; what a subscription costs is not credit. */
async function applyPayment({ quota }: Billing, session: Stripe.Checkout.Session): Promise<void> {
  const {
    mode,
    payment_status: status,
    client_reference_id: userId,
    amount_total: cents,
  } = session;
  if (mode !== 'payment' || status !== 'paid' || userId === null || cents === null) return;
  // Currencies without cents, such as JPY, need another divisor.
  await creditPayment(quota, { id: session.id, userId, amount: (cents / 100).toFixed(2) });
}

/**
 * Reports what each customer was charged on a day that is over, in millionths of the currency unit.
 * Run it every day. Stripe counts an identifier once, so it may be run again after a failure. The
 * key's `metadata` needs the member `customer`.
 *
 * @param day in UTC: `2026-11-27`
 */
export async function reportDay(
  { stripe }: Pick<Billing, 'stripe'>,
  log: Pick<UsageQueries, 'usageReport'>,
  day: string,
): Promise<number> {
  const fromMs = Date.parse(`${day}T00:00:00Z`);
  const toMs = fromMs + 86_400_000;
  const rows = await log.usageReport({ fromMs, toMs, by: 'metadata.customer' });
  const charged = rows.filter(({ names: [customer], chargeNanos }) => customer && chargeNanos > 0n);
  for (const { names, chargeNanos } of charged) {
    const [customer = ''] = names;
    await stripe.billing.meterEvents.create({
      event_name: 'model_usage',
      identifier: `${customer}:${day}`,
      timestamp: Math.floor(toMs / 1_000) - 1,
      payload: { stripe_customer_id: customer, value: String(chargeNanos / 1_000n) },
    });
  }
  return charged.length;
}
