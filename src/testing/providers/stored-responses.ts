/** What the fake OpenAI keeps of its Responses, so that later calls can refer to them by id. */
import { isJsonObject, items, type JsonObject, member } from '../../json.ts';
import { openaiError } from './openai-errors.ts';
import { json, type Script } from './scripts.ts';

export interface StoredResponse {
  readonly response: JsonObject;
  /** The items of its input, those of the responses before it included. */
  readonly input: readonly JsonObject[];
}

export class StoredResponses {
  readonly #responses = new Map<string, StoredResponse>();
  readonly #outputItems = new Map<string, JsonObject>();

  add(id: string, stored: StoredResponse): void {
    this.#responses.set(id, stored);
    for (const item of outputOf(stored)) this.#outputItems.set(String(item.id), item);
  }

  find(id: string): StoredResponse | undefined {
    return this.#responses.get(id);
  }

  /** The output item with this id, or undefined. */
  item(id: string): JsonObject | undefined {
    return this.#outputItems.get(id);
  }

  remove(id: string): void {
    for (const item of outputOf(this.find(id))) this.#outputItems.delete(String(item.id));
    this.#responses.delete(id);
  }

  clear(): void {
    this.#responses.clear();
    this.#outputItems.clear();
  }
}

export function outputOf(stored: StoredResponse | undefined): readonly JsonObject[] {
  return items(member(stored?.response, 'output')).filter(isJsonObject);
}

/** The reply to a request below `/v1/responses/`, or undefined where there is no such path. */
export function storedScript(
  method: string,
  below: string,
  stored: StoredResponses,
): Script | undefined {
  const [id = '', resource, ...rest] = below.split('/');
  if (rest.length > 0) return undefined;
  const found = stored.find(id);
  const isKnown =
    resource === undefined
      ? method === 'GET' || method === 'DELETE'
      : resource === 'input_items' && method === 'GET';
  if (!isKnown) return undefined;
  if (found === undefined) return openaiError(404, `Response with id '${id}' not found.`);
  if (resource !== undefined) return json(200, listOf(found.input));
  if (method === 'GET') return json(200, found.response);
  stored.remove(id);
  return json(200, { id, object: 'response', deleted: true });
}

/** The items with ids, the newest first. */
function listOf(input: readonly JsonObject[]): JsonObject {
  const data = input.map((item, index) => ({ id: `msg_${index + 1}`, ...item })).reverse();
  const [first, last] = [data[0]?.id ?? null, data.at(-1)?.id ?? null];
  return { object: 'list', data, first_id: first, last_id: last, has_more: false };
}
