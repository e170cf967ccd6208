/** Decides what became of a feature, by nothing but what went upstream and what came back. */
import type { JsonObject } from '../../../src/json.ts';
import { type Called, called, errorOf } from './call.ts';
import { type Column, isRelay, type RequestColumn } from './columns.ts';
import { holds, textAt } from './json.ts';
import { received } from './received.ts';
import type { ReplyFeature } from './replies.ts';
import type { RequestFeature } from './request-features.ts';
import { plainReplies, scripted } from './upstream-replies.ts';

/** The content of a cell if one side cannot express the feature. */
export const none = '—';

/** The cell of a request's feature. */
export async function requestCell(feature: RequestFeature, column: RequestColumn): Promise<string> {
  const requested = feature[column.protocol];
  if (requested === undefined) return none;
  const outcomes = [false, true].map(async (streamed) => {
    const reply = scripted(column.dialect, plainReplies[column.dialect], streamed);
    const result = await called(column, streamed, requested.body, reply);
    return requestOutcome(feature, column, result);
  });
  return cell(await Promise.all(outcomes));
}

function requestOutcome(feature: RequestFeature, column: RequestColumn, result: Called): string {
  const names = feature[column.protocol]?.names ?? [];
  const isNamed = (name: string): boolean => names.some((one) => name.startsWith(one));
  if (result.answer.status !== 200) return refusal(result, names);
  if (isRelay(column)) return result.isUntouched ? 'relayed' : 'CHANGED';
  const strange = result.dropped.filter((name) => !isNamed(name));
  if (strange.length > 0) return `ALSO LISTED ${strange.join()}`;
  const wanted = feature.carried[column.dialect];
  const spellings: readonly JsonObject[] =
    wanted === undefined ? [] : isList(wanted) ? wanted : [wanted];
  const isCarried = spellings.some((spelling) => holds(result.upstream, spelling));
  if (result.dropped.length > 0) return isCarried ? 'replaced' : 'left out';
  return isCarried ? 'carried' : 'LOST';
}

function isList(wanted: JsonObject | readonly JsonObject[]): wanted is readonly JsonObject[] {
  return Array.isArray(wanted);
}

function refusal({ answer: reply }: Called, names: readonly string[]): string {
  const error = errorOf(reply);
  const text = `${textAt(error, 'param')} ${textAt(error, 'message')}`;
  const isNamed = names.some((name) => text.includes(name));
  if (reply.status !== 400) return `FAILED ${reply.status}`;
  return isNamed ? 'refused' : 'refused, unnamed';
}

/** The cell of a reply's feature. */
export async function replyCell(feature: ReplyFeature, column: Column): Promise<string> {
  const reply = feature.replies[column.dialect];
  if (reply === undefined) return none;
  const { ending = 'whole', statuses } = feature;
  const status = statuses?.[column.dialect] ?? 200;
  const outcomes = [false, true]
    .filter((streamed) => streamed || ending === 'whole')
    .map(async (streamed) => {
      const isStream = streamed && status === 200;
      const sent = { ...scripted(column.dialect, reply, isStream, ending), status };
      const result = await called(column, streamed, askingForAll[column.protocol], sent);
      return replyOutcome(feature, column, result, streamed, sentText(sent.chunks));
    });
  return cell(await Promise.all(outcomes));
}

function sentText(chunks: Iterable<Uint8Array | string> | undefined): string {
  return [...(chunks ?? [])].join('');
}

function replyOutcome(
  feature: ReplyFeature,
  column: Column,
  result: Called,
  streamed: boolean,
  sent: string,
): string {
  const isReceived = feature.isReceived(received(column.protocol, streamed, result.answer));
  if (isRelay(column) && isReceived) return result.answer.text === sent ? 'relayed' : 'carried';
  if (isReceived) return result.dropped.length > 0 ? 'replaced' : 'carried';
  if (result.dropped.length > 0) return 'left out';
  // The headers of a stream are gone before it says what it holds.
  return streamed ? 'unlisted' : 'LOST';
}

/** Whole and streamed in one word where they agree. */
export function cell(outcomes: readonly string[]): string {
  const [whole, streamed] = outcomes;
  if (streamed === undefined || whole === streamed) return whole ?? none;
  return `${whole}; streamed: ${streamed}`;
}

/** Google's and Anthropic's callers see reasoning only if they ask for it. */
const askingForAll = {
  chat: {},
  native: { generationConfig: { thinkingConfig: { includeThoughts: true } } },
  messages: { thinking: { type: 'adaptive' } },
} as const;
