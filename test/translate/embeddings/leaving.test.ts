// suite: quick
/**
 * A caller that leaves an embedding call of several requests pays for those that have replies and
 * for the one in flight, and never for those that were not sent.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { untouched } from '../../support/gateway-in-process.ts';
import { runsOf } from '../../support/sample.ts';
import type { ScriptedReply } from '../../support/scripted-upstream.ts';
import { answering, embedGateway, openaiCall, type SentRequest } from './embed-gateway.ts';

/** The most inputs that Gemini takes at once. */
const batch = 100;
const tokensOfInput = 3;

const plans = fc
  .record({
    inputs: fc.array(
      fc.integer({ min: 1, max: 200 }).map((length) => 'x'.repeat(length)),
      { minLength: batch + 1, maxLength: 5 * batch },
    ),
    /** Whether the reply to a request has usage. */
    states: fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }),
    leavesAt: fc.nat(4),
    failsFirst: fc.boolean(),
  })
  .map((plan) => {
    const requests = Math.ceil(plan.inputs.length / batch);
    return { ...plan, leavesAt: plan.leavesAt % requests };
  });

function replyTo({ body }: SentRequest, hasUsage: boolean): ScriptedReply {
  const count: number = body.requests.length;
  const embeddings = Array.from({ length: count }, () => ({ values: [0.5, 0.25] }));
  const usageMetadata = hasUsage ? { promptTokenCount: count * tokensOfInput } : undefined;
  return { chunks: [JSON.stringify({ embeddings, usageMetadata })] };
}

/** What a whole call with these inputs is charged if no reply states usage. */
async function estimateOf(inputs: readonly string[]): Promise<bigint> {
  const upstream = answering((sent) => replyTo(sent, false));
  const gateway = embedGateway({ dialect: 'gemini', upstream });
  await gateway.call(openaiCall({ input: inputs }));
  return (await gateway.nextRecord()).chargeNanos;
}

it('costs what was sent', async () => {
  await fc.assert(
    fc.asyncProperty(plans, async ({ inputs, states, leavesAt, failsFirst }) => {
      let leave = (): void => {};
      let failed = false;
      let replied = 0;
      const upstream = answering((sent) => {
        if (failsFirst && !failed) {
          failed = true;
          return { status: 500, chunks: ['{"error":{"code":500}}'] };
        }
        if (replied === leavesAt) leave();
        replied += 1;
        return replyTo(sent, states[replied - 1] === true);
      });
      const gateway = embedGateway({ dialect: 'gemini', upstream });
      const call = gateway.start(openaiCall({ input: inputs }));
      leave = call.disconnect;
      const { chargeNanos, heldNanos, usage } = await gateway.nextRecord();
      await call.reply;

      let expected = 0n;
      for (let at = 0; at <= leavesAt; at += 1) {
        const part = inputs.slice(at * batch, (at + 1) * batch);
        const isStated = at < leavesAt && states[at] === true;
        expected += isStated ? BigInt(part.length * tokensOfInput) : await estimateOf(part);
      }
      expect(upstream.sent).toHaveLength(leavesAt + 1 + (failsFirst ? 1 : 0));
      expect(chargeNanos).toBe(expected);
      expect(chargeNanos).toBeLessThanOrEqual(heldNanos);
      expect(usage?.inputTokens).toBe(Number(expected));
      expect(await gateway.state()).toEqual({ ...untouched, used: expected });
    }),
    { numRuns: runsOf(200) },
  );
});
