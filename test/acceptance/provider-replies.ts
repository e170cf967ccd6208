/** Replies of each dialect for the tests of translated calls, queued at the fake upstream. */
import type { JsonObject } from '../../src/json.ts';
import type { DialectName } from '../../src/ports/models/capabilities.ts';
import { json, type Script, sse } from '../../src/testing/providers/scripts.ts';

/** A stream that begins with the text `one` and continues when the promise resolves. */
export function beginning(dialect: DialectName, continues: Promise<void>): Script {
  switch (dialect) {
    case 'openai':
      return sse([{ choices: [{ index: 0, delta: { content: 'one' } }] }, continues]);
    case 'gemini':
      return sse([{ candidates: [{ content: { parts: [{ text: 'one' }] } }] }, continues], '\r\n');
    case 'anthropic':
      return sse([
        { type: 'message_start', message: claudeMessage([], {}) },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'one' } },
        continues,
      ]);
  }
}

/** The text `Half`, and the provider's own reason for its end. */
export function ended(dialect: DialectName, reason: string): Script {
  switch (dialect) {
    case 'openai': {
      const message = { role: 'assistant', content: 'Half' };
      return json(200, {
        id: 'chatcmpl-1',
        choices: [{ index: 0, message, finish_reason: reason }],
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      });
    }
    case 'gemini':
      return json(200, {
        candidates: [{ content: { parts: [{ text: 'Half' }] }, finishReason: reason }],
        usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
      });
    case 'anthropic':
      return json(200, claudeMessage([{ type: 'text', text: 'Half' }], { stop_reason: reason }));
  }
}

/** A 400 with this message. */
export function refused(dialect: DialectName, message: string): Script {
  const type = 'invalid_request_error';
  switch (dialect) {
    case 'openai':
      return json(400, { error: { message, type, param: null, code: null } });
    case 'gemini':
      return json(400, { error: { code: 400, message, status: 'INVALID_ARGUMENT' } });
    case 'anthropic':
      return json(400, { type: 'error', error: { type, message } });
  }
}

function claudeMessage(content: readonly JsonObject[], end: JsonObject): JsonObject {
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude',
    content,
    ...end,
    usage: { input_tokens: 1, output_tokens: 1 },
  };
}
