/** The upstream of the kill test; it is not killed, and records which calls ran. */
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { type Draw, drawn } from '../support/seeds.ts';
import { closed, listening } from '../support/servers.ts';
import { maxTokens } from './parameters.ts';

/** A running upstream. */
export interface Upstream {
  readonly openaiBaseUrl: string;
  /** The numbers of the calls that it has run. */
  readonly ran: ReadonlySet<string>;
  close(): Promise<void>;
}

const sent = z.object({ messages: z.tuple([z.object({ content: z.string() })]) });

/** Replies after up to 30 ms, with random usage. */
export async function startUpstream(seed: number): Promise<Upstream> {
  const draw = drawn(seed);
  const ran = new Set<string>();
  const server = createServer(async (request, response) => {
    const { messages } = sent.parse(JSON.parse(await text(request)));
    // From here on the call has run and must be charged.
    ran.add(messages[0].content);
    setTimeout(() => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(replyOf(draw)));
    }, draw(30));
  });
  const origin = await listening(server);
  return { openaiBaseUrl: `${origin}/v1`, ran, close: () => closed(server) };
}

function replyOf(draw: Draw): object {
  const [input, output] = [5 + draw(5), 1 + draw(maxTokens)];
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_767_225_600,
    model: 'm',
    choices: [
      { index: 0, message: { role: 'assistant', content: 'Done.' }, finish_reason: 'stop' },
    ],
    usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
  };
}
