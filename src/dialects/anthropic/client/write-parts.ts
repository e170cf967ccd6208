/** Writes the parts of a turn as Anthropic's content blocks, in order. */

import { argumentsObject } from '../../../canonical/arguments.ts';
import type { ProviderData } from '../../../canonical/provider-data.ts';
import { rawJson } from '../../../canonical/raw-json.ts';
import type {
  MediaPart,
  Part,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from '../../../canonical/request.ts';
import { notPortable } from '../../not-portable.ts';
import { writeMedia } from './write-media.ts';
import { joined, type PartTarget, textBlock, type WrittenBlocks } from './written.ts';

/** The API requires tool results first in the message that follows the calls. */
export function writeUserParts(parts: readonly Part[], target: PartTarget): WrittenBlocks {
  const results = parts.filter((part) => part.kind === 'tool_result');
  const others = parts.filter((part) => part.kind !== 'tool_result');
  const media = results.flatMap((result) => mediaAfterResults(result, target));
  return joined([
    ...results.map((result) => writeResult(result, target)),
    ...media.map((part) => writeMedia(part, target.capabilities)),
    ...withBlanksJoined(others).map((part) => writePart(part, target)),
  ]);
}

/**
 * Writes the blocks of an assistant turn in their order. Anthropic checks the order of thinking and
 * calls. It accepts text between and after calls, where Codex puts messages: five models did so in
 * a test (gotgenes/pi-anthropic-auth#66).
 */
export function writeAssistantParts(parts: readonly Part[], target: PartTarget): WrittenBlocks {
  return joined(
    withBlanksJoined(parts).map((part) => {
      // Anthropic's own replies have blank text in front of thinking, and no way to send it back.
      if (isBlankText(part)) return nothing;
      if (part.kind !== 'media') return writePart(part, target);
      if (part.isGenerated === true) return { blocks: [], dropped: [part.at] };
      throw notPortable(
        part.at,
        "This model doesn't accept media in an assistant message; send it in a user message.",
      );
    }),
  );
}

const nothing: WrittenBlocks = { blocks: [], dropped: [] };

/** Writes the text of a system message, which may have no other parts. */
export function writeSystemParts(parts: readonly Part[]): WrittenBlocks {
  return joined(
    withBlanksJoined(parts).map((part) => {
      if (part.kind === 'text') return writeText(part);
      throw notPortable(
        part.at,
        'A system message can only be text; send this part in a user message.',
      );
    }),
  );
}

function writePart(part: Part, target: PartTarget): WrittenBlocks {
  switch (part.kind) {
    case 'text':
      return writeText(part);
    case 'reasoning':
      return writeReasoning(part);
    case 'media':
      return writeMedia(part, target.capabilities);
    case 'tool_call':
      return writeCall(part, target);
    case 'tool_result':
      return writeResult(part, target);
    case 'provider_specific':
      return part.provider === 'anthropic'
        ? { blocks: [part.value], dropped: [] }
        : { blocks: [], dropped: [part.at] };
  }
}

function writeText({ text, cacheControl, at }: TextPart): WrittenBlocks {
  const block = textBlock(text, cacheControl);
  if (block !== undefined) return { blocks: [block], dropped: [] };
  return { blocks: [], dropped: text === '' ? [] : [at] };
}

/** Anthropic accepts only reasoning that it signed itself, including signatures without text. */
function writeReasoning({ text, providerData, at, displayOnly }: ReasoningPart): WrittenBlocks {
  if (!isAnthropic(providerData)) return { blocks: [], dropped: displayOnly ? [] : [at] };
  if (providerData.kind === 'encrypted') {
    return { blocks: [{ type: 'redacted_thinking', data: providerData.data }], dropped: [] };
  }
  return {
    blocks: [{ type: 'thinking', thinking: text, signature: providerData.data }],
    dropped: [],
  };
}

function isAnthropic(providerData: ProviderData | undefined): providerData is ProviderData {
  return providerData?.provider === 'anthropic' && providerData.data !== '';
}

function writeCall(part: ToolCallPart, { names }: PartTarget): WrittenBlocks {
  const { json, isWrapped: isReplaced } = argumentsObject(part.arguments);
  const block = {
    type: 'tool_use',
    id: part.id,
    name: names.upstream(part.name),
    input: rawJson(json),
    cache_control: part.cacheControl,
  };
  return { blocks: [block], dropped: isReplaced ? [part.at] : [] };
}

function writeResult(part: ToolResultPart, { capabilities }: PartTarget): WrittenBlocks {
  const content = joined(
    withBlanksJoined(part.content).map((one) => {
      if (one.kind === 'text') return writeText(one);
      return capabilities.resultMedia ? writeMedia(one, capabilities) : attachedNote;
    }),
  );
  const block = {
    type: 'tool_result',
    tool_use_id: part.callId,
    content: content.blocks.length === 0 ? undefined : content.blocks,
    is_error: part.isError ? true : undefined,
    cache_control: part.cacheControl,
  };
  return { blocks: [block], dropped: content.dropped };
}

const attachedNote: WrittenBlocks = {
  blocks: [{ type: 'text', text: '[see attached image]' }],
  dropped: [],
};

/** Some upstreams don't accept media inside results, so that it follows all results. */
function mediaAfterResults(
  part: ToolResultPart,
  { capabilities }: PartTarget,
): readonly MediaPart[] {
  if (capabilities.resultMedia) return [];
  return part.content.filter((one) => one.kind === 'media');
}

/**
 * Anthropic refuses blocks of blank text, such as the line break of a program that was streamed in
 * pieces. The parts of one turn, system prompt or result, with each blank text joined to the text
 * beside it, else to the last one before it. A blank text without one before it is left:
 * Anthropic's own replies have such texts in front of thinking.
 */
function withBlanksJoined<P extends Part>(parts: readonly P[]): readonly P[] {
  if (!parts.some(isBlankText)) return parts;
  const joined: P[] = [];
  let waiting: (TextPart & P) | undefined;
  let last: { readonly part: P & TextPart; readonly at: number } | undefined;
  const place = (): void => {
    if (waiting === undefined) return;
    if (last === undefined) joined.push(waiting);
    else {
      const part = withText(last.part, last.part.text + waiting.text, waiting);
      joined[last.at] = part;
      last = { part, at: last.at };
    }
    waiting = undefined;
  };
  for (const part of parts) {
    if (!isText(part)) {
      place();
      joined.push(part);
    } else if (isBlankText(part)) {
      waiting = waiting === undefined ? part : withText(part, waiting.text + part.text, waiting);
    } else {
      const text = waiting === undefined ? part : withText(part, waiting.text + part.text, waiting);
      waiting = undefined;
      last = { part: text, at: joined.length };
      joined.push(text);
    }
  }
  place();
  return joined;
}

function isBlankText(part: Part): boolean {
  return part.kind === 'text' && part.text.trim() === '';
}

function isText<P extends Part>(part: P): part is P & TextPart {
  return part.kind === 'text';
}

function withText<P extends Part>(part: P, text: string, blank: TextPart): P {
  return { ...part, text, cacheControl: part.cacheControl ?? blank.cacheControl };
}
