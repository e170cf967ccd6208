// suite: quick
/** Conversations as they are sent to an OpenAI-compatible upstream. */
import { describe, expect, it } from 'vitest';
import { seal, unseal } from '../../../src/canonical/envelope.ts';
import type { ReasoningPart } from '../../../src/canonical/request.ts';
import { parsed } from '../../support/codec.ts';
import { assistant, user } from '../../support/plain-request.ts';
import { fixture } from '../../support/recorded/fixtures.ts';
import { contentRequest, exchange, messagesOf, text } from './client.ts';

function reasoning(content: string, providerData?: ReasoningPart['providerData']): ReasoningPart {
  return { kind: 'reasoning', text: content, at: 'contents[1].parts[0]', providerData };
}

describe('reasoning in the history', () => {
  it("encrypted details return to their upstream through a caller's envelope", () => {
    const recorded = fixture('openai-compat/openrouter-reasoning-details.2');
    const reply = parsed(Buffer.from(recorded.response).toString());
    const parts = exchange()
      .readReply(reply)
      .flatMap((event) => (event.type === 'reasoning' ? [event] : []))
      .map(({ text: content, providerData }) =>
        reasoning(content, providerData && unseal(seal(providerData))),
      );

    const request = contentRequest({ turns: [user(text('a')), assistant(...parts)] });
    const [, sent] = messagesOf(request, { signatures: true });
    const [, withoutFlag] = messagesOf(request);

    expect(JSON.stringify(withoutFlag ?? null)).not.toContain('reasoning_details');
    expect(sent).toMatchObject({
      reasoning_details: [
        {
          type: 'reasoning.encrypted',
          format: 'openai-responses-v1',
          id: 'rs_0e67143e70e2c03a01690231c4b7c08195b5bfcc5c216e88b2',
        },
      ],
    });
    expect(JSON.stringify(reply)).toContain(
      JSON.stringify(sent).match(/"data":"[^"]+"/)?.[0] ?? '-',
    );
  });
});
