/** The recorded replies with reasoning, signatures or calls, for conversations of many turns. */
import type { JsonValue } from '../../src/json.ts';
import { documentsOf, parsed } from '../support/codec.ts';
import { type Fixture, type FixtureCategory, fixtures } from '../support/recorded/fixtures.ts';
import { type Reply, type Upstream, upstreams } from './loop.ts';
import { pick, textAt } from './matrix/json.ts';
import { outputIn } from './responses/model-output.ts';

/** Parts that only their provider understands are not output items. */
const foreign =
  /server_tool_use|_tool_result|compaction|executableCode|inlineData|partialArgs|"fallback"/;
const replyOf = (recording: Fixture): Reply | undefined => {
  const text = Buffer.from(recording.response).toString();
  if (recording.status !== 200 || foreign.test(text)) return undefined;
  if (recording.streamed) return { streamed: true, documents: documentsOf(text) };
  return { streamed: false, documents: [parsed(text)] };
};
const recorded = (category: FixtureCategory, upstream: Upstream, names = /./) =>
  fixtures(category)
    .filter(({ name }) => names.test(name))
    .flatMap((recording) => replyOf(recording) ?? [])
    .filter(({ documents }) => {
      const kinds = outputIn(upstream.dialect, documents).map(([kind]) => kind);
      return kinds.some((kind) => kind !== 'text') && isWhole(upstream, documents);
    });
/** The upstreams, and what each replied. */
export const recordedReplies: readonly [string, Upstream, readonly Reply[]][] = [
  ['Anthropic', upstreams.anthropic, recorded('anthropic', upstreams.anthropic)],
  ['Gemini', upstreams.gemini, recorded('gemini', upstreams.gemini)],
  [
    'a server with reasoning_content',
    upstreams.deepseek,
    recorded('openai-compat', upstreams.deepseek, /zai|xai/),
  ],
  [
    'Google’s compatible API',
    upstreams.google,
    recorded('openai-compat', upstreams.google, /google-compat/),
  ],
];

/** Whether the reply came to its end, so that none of its calls is left out. */
function isWhole({ dialect }: Upstream, documents: readonly JsonValue[]): boolean {
  const finishes = documents.map((one) => {
    if (dialect === 'gemini') return textAt(one, 'candidates', 0, 'finishReason');
    if (dialect === 'openai') return textAt(one, 'choices', 0, 'finish_reason');
    return textAt(one, 'stop_reason') || textAt(pick(one, 'delta'), 'stop_reason');
  });
  return finishes.some((finish) => /^(?:STOP|stop|tool_calls|end_turn|tool_use)$/.test(finish));
}
