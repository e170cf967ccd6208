/** The tables of errors, of failure reasons and of metrics, from those that the code uses. */
import { anthropicErrorText } from '../../../src/dialects/anthropic/errors.ts';
import { geminiErrorText } from '../../../src/dialects/gemini/errors.ts';
import { openaiErrorText } from '../../../src/dialects/openai/errors.ts';
import { type ErrorCode, errorCodes, GatewayError, statusOf } from '../../../src/errors.ts';
import { failureMeanings } from '../../../src/failure-meanings.ts';
import { failureReasons } from '../../../src/failure-reasons.ts';
import { member, parseJson } from '../../../src/json.ts';
import { metricDefinitions } from '../../../src/prometheus/definitions.ts';
import { readText } from '../sources.ts';
import { cell, table } from './table.ts';

/** The table of docs/errors.md. Only what callers do about a code is written there by hand. */
export function errorsTable(): string {
  const page = readText('docs/errors.md');
  const columns = ['code', 'status', 'OpenAI `type` / `code`', 'Google `status`'];
  return table(
    [...columns, 'Anthropic `type`', 'what to do'],
    errorCodes.map((code) => [`\`${code}\``, ...fieldsOf(code), adviceIn(page, code)]),
  );
}

function fieldsOf(code: ErrorCode): readonly string[] {
  const error = new GatewayError(code, 'text');
  const fieldIn = (text: string, name: string): string =>
    String(member(member(parseJson(text) ?? null, 'error'), name));
  const openai = openaiErrorText(error);
  return [
    String(statusOf[code]),
    `${fieldIn(openai, 'type')} / ${fieldIn(openai, 'code')}`,
    fieldIn(geminiErrorText(error), 'status'),
    fieldIn(anthropicErrorText(error, 'request-1'), 'type'),
  ];
}

/** The last cell of the row of a code. */
function adviceIn(page: string, code: ErrorCode): string {
  const [, advice] = new RegExp(`^\\| \`${code}\` \\|.* \\| (.+) \\|$`, 'm').exec(page) ?? [];
  if (advice === undefined) throw new Error(`docs/errors.md needs a row for ${code}.`);
  return advice;
}

/** The reasons of docs/events.md, together where the remedy is the same. */
export function reasonsTable(): string {
  const byRemedy = new Map<string, string[]>();
  for (const reason of failureReasons) {
    const { meaning, remedy = '-' } = failureMeanings[reason];
    const lines = byRemedy.get(remedy) ?? [];
    byRemedy.set(remedy, [...lines, `\`${reason}\`: ${linked(meaning)}`]);
  }
  return table(
    ['reason: what happened', 'what to do'],
    [...byRemedy].map(([remedy, lines]) => [lines.join('<br>'), linked(remedy)]),
  );
}

/** The function is described with what it resolves. */
function linked(text: string): string {
  return cell(text).replace(
    'with `resolveUnknown`',
    'with [`resolveUnknown`](channels.md#an-image-in-doubt)',
  );
}

/** The table of docs/metrics.md. */
export function metricsTable(): string {
  return table(
    ['metric', 'labels', ''],
    Object.entries(metricDefinitions).map(([name, { type, help, labels }]) => [
      `\`tollgate_${name}\``,
      labels.map((label) => `\`${label}\``).join(', ') || 'none',
      `${type}: ${help}`,
    ]),
  );
}
