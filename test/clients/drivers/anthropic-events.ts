/** The two ways to read a stream with `@anthropic-ai/sdk`: its events, and the helper. */
import type { default as AnthropicSdk } from '@anthropic-ai/sdk';
import type { Messages } from '@anthropic-ai/sdk/resources/messages/messages';
import type { Request } from './anthropic-requests.ts';
import type { SendOptions } from './sdk.ts';

/** An app that reads the events itself. */
export async function createStreamed(
  sdk: AnthropicSdk,
  request: Request,
  { signal, onText }: SendOptions,
): Promise<Messages.Message> {
  const stream = await sdk.messages.create({ ...request, stream: true }, { signal });
  const assembly = assembled();
  for await (const event of stream) {
    if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') {
      onText?.(event.delta.text);
    }
    assembly.add(event);
  }
  // The package ends an aborted stream without an error.
  signal?.throwIfAborted();
  return assembly.message();
}

/** The state of an app that reads the events itself. */
function assembled() {
  let message: Messages.Message | undefined;
  let json = '';
  let isComplete = false;
  const add = (event: Messages.RawMessageStreamEvent): void => {
    if (event.type === 'message_start') message = structuredClone(event.message);
    if (event.type === 'message_stop') isComplete = true;
    if (message === undefined) return;
    if (event.type === 'message_delta') {
      Object.assign(message, event.delta);
      message.usage = { ...message.usage, ...knownOf(event.usage) };
    }
    if (event.type === 'content_block_start') {
      if (event.index !== message.content.length) throw new Error('A block is out of order.');
      message.content.push({ ...event.content_block });
      json = '';
    }
    const block = message.content.at(-1);
    if (event.type === 'content_block_delta') {
      const { delta } = event;
      if (block?.type === 'text' && delta.type === 'text_delta') block.text += delta.text;
      if (block?.type === 'thinking' && delta.type === 'thinking_delta') {
        block.thinking += delta.thinking;
      }
      if (block?.type === 'thinking' && delta.type === 'signature_delta') {
        block.signature += delta.signature;
      }
      if (block?.type === 'text' && delta.type === 'citations_delta') {
        block.citations = [...(block.citations ?? []), delta.citation];
      }
      if (delta.type === 'input_json_delta') json += delta.partial_json;
    }
    const isCall = block?.type === 'tool_use' || block?.type === 'server_tool_use';
    if (event.type === 'content_block_stop' && isCall && json !== '') {
      block.input = parsedOrCut(json);
    }
  };
  return {
    add,
    message: (): Messages.Message => {
      if (message === undefined || !isComplete) throw new Error('The stream ended early.');
      return message;
    },
  };
}

/** Arguments that the output limit cut are not valid JSON. */
function parsedOrCut(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return {};
  }
}

function knownOf(usage: Messages.MessageDeltaUsage): Partial<Messages.Usage> {
  return Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== null));
}

/** The helper that assembles the message. */
export async function streamHelper(
  sdk: AnthropicSdk,
  request: Request,
  { signal, onText }: SendOptions,
): Promise<Messages.Message> {
  const stream = sdk.messages.stream(request, { signal });
  stream.on('text', (text) => onText?.(text));
  return stream.finalMessage();
}
