/** Writes a reasoning item: its summary, and the envelope that its provider needs back. */
import { quoted, quotedLine } from '../../../../canonical/raw-json.ts';
import { addItem, endItem, type ItemPlace, type ItemStatus } from './item-place.ts';

export interface OpenReasoning {
  add(text: string): void;
  /** Writes the last events of the item, and returns it as JSON text. */
  end(ending: ReasoningEnd): string;
}

export interface ReasoningEnd {
  /** Undefined if nobody signed the reasoning. */
  readonly envelope: string | undefined;
  readonly status: ItemStatus;
}

/** Begins a reasoning item. It has a summary only if text is added. */
export function openReasoning(place: ItemPlace): OpenReasoning {
  const { id, index, log } = place;
  const at = `"item_id":${quoted(id)},"output_index":${index},"summary_index":0`;
  const delta = log.repeated('response.reasoning_summary_text.delta', at);
  let text = '';
  addItem(place, reasoningText(id, []));
  return {
    add: (more) => {
      if (text === '') {
        log.add('response.reasoning_summary_part.added', `${at},"part":${summaryPart('""')}`);
      }
      text += more;
      delta(more);
    },
    end: ({ envelope, status }) => {
      const json = quotedLine(text);
      const part = summaryPart(json);
      if (text !== '') {
        log.add('response.reasoning_summary_text.done', `${at},"text":${json}`);
        log.add('response.reasoning_summary_part.done', `${at},"part":${part}`);
      }
      const members = [
        ...(envelope === undefined ? [] : [`"encrypted_content":${quoted(envelope)}`]),
        // OpenAI's reasoning items state a status only in special cases.
        ...(status === 'incomplete' ? ['"status":"incomplete"'] : []),
      ];
      return endItem(place, reasoningText(id, text === '' ? [] : [part], members));
    },
  };
}

function summaryPart(text: string): string {
  return `{"type":"summary_text","text":${text}}`;
}

function reasoningText(
  id: string,
  summary: readonly string[],
  members: readonly string[] = [],
): string {
  const rest = members.map((one) => `,${one}`).join('');
  return `{"id":${quoted(id)},"type":"reasoning","summary":[${summary.join(',')}]${rest}}`;
}
