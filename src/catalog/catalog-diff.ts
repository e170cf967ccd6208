/** What differs between two lists of models, for people: one line for each member. */
import { isJsonObject, items, type JsonValue, jsonWithBigints, member } from '../json.ts';

/** A difference between two versions of a catalog. */
export interface CatalogDifference {
  /** The model, by its id in the catalog. */
  readonly modelId: string;
  /**
   * The member that differs: `price.input`, `channels.openai-1.weight`. `''` for a model that was
   * added or removed as a whole, `order` of the model `*` for another order of the list.
   */
  readonly member: string;
  /**
   * The value as text: that of a string, else JSON; undefined where there is none. Values of
   * headers are left out, and so is all of a URL but its origin.
   */
  readonly before: string | undefined;
  /** The value in the later version, shown as `before` is. */
  readonly after: string | undefined;
}

const maxTextLength = 200;

/** The differences in the order of the newer list; removed models come last. */
export function catalogDiff(
  before: readonly JsonValue[],
  after: readonly JsonValue[],
): readonly CatalogDifference[] {
  const [old, now] = [byId(before), byId(after)];
  const changed = [...now].flatMap(([modelId, model]) => {
    const known = old.get(modelId);
    if (known !== undefined) return modelDiff(modelId, known, model);
    return [{ modelId, member: '', before: undefined, after: summaryOf(model) }];
  });
  const removed = [...old].flatMap(([modelId, model]) =>
    now.has(modelId) ? [] : [{ modelId, member: '', before: summaryOf(model), after: undefined }],
  );
  return [...orderDiff(old, now), ...changed, ...removed];
}

function byId(list: readonly JsonValue[]): ReadonlyMap<string, JsonValue> {
  return new Map(list.map((item, index) => [idOf(item, index), item]));
}

function idOf(item: JsonValue, index: number): string {
  const id = member(item, 'id');
  return typeof id === 'string' ? id : `#${index}`;
}

/** Callers see models in the order of the list. */
function orderDiff(
  old: ReadonlyMap<string, JsonValue>,
  now: ReadonlyMap<string, JsonValue>,
): readonly CatalogDifference[] {
  const before = [...old.keys()].filter((id) => now.has(id));
  const after = [...now.keys()].filter((id) => old.has(id));
  if (before.every((id, index) => id === after[index])) return [];
  const text = (ids: readonly string[]): string => ids.join(', ').slice(0, maxTextLength);
  return [{ modelId: '*', member: 'order', before: text(before), after: text(after) }];
}

/** `token, 2 channels`: what a whole model is, without its members. */
function summaryOf(model: JsonValue): string {
  const { length } = items(member(model, 'channels'));
  const per = member(member(model, 'price'), 'per');
  const priced = per === 'token' || per === 'image' ? `per ${per}` : String(per ?? 'listed price');
  return `${priced}, ${length} ${length === 1 ? 'channel' : 'channels'}`;
}

type Value = JsonValue | undefined;
type Line = (
  member: string,
  before: string | undefined,
  after: string | undefined,
) => CatalogDifference;

function modelDiff(modelId: string, before: JsonValue, after: JsonValue) {
  const line: Line = (name, old, now) => ({ modelId, member: name, before: old, after: now });
  return namesIn(before, after).flatMap((name) => {
    const [old, now] = [member(before, name), member(after, name)];
    return name === 'channels'
      ? channelsDiff(items(old), items(now), line)
      : diff(name, old, now, line);
  });
}

function channelsDiff(before: readonly JsonValue[], after: readonly JsonValue[], line: Line) {
  const [old, now] = [byId(before), byId(after)];
  return [...new Set([...now.keys(), ...old.keys()])].flatMap((id) => {
    const path = `channels.${id}`;
    const [one, other] = [old.get(id), now.get(id)];
    return one === undefined || other === undefined
      ? [line(path, channelText(one), channelText(other))]
      : channelDiff(path, one, other, line);
  });
}

/** They may contain what only the operators of the database should see. */
const shownInPart: ReadonlyMap<string, (value: Value) => string | undefined> = new Map([
  ['headers', hidden],
  ['baseUrl', originText],
]);

function channelDiff(path: string, before: JsonValue, after: JsonValue, line: Line) {
  return namesIn(before, after).flatMap((name) => {
    const [old, now] = [member(before, name), member(after, name)];
    const shown = shownInPart.get(name);
    if (shown === undefined) return diff(`${path}.${name}`, old, now, line);
    return isEqual(old, now) ? [] : [line(`${path}.${name}`, shown(old), shown(now))];
  });
}

function diff(path: string, before: Value, after: Value, line: Line): readonly CatalogDifference[] {
  if (isEqual(before, after)) return [];
  if (!isJsonObject(before) || !isJsonObject(after)) {
    return [line(path, textOf(before), textOf(after))];
  }
  return namesIn(before, after).flatMap((name) =>
    diff(`${path}.${name}`, member(before, name), member(after, name), line),
  );
}

function namesIn(before: JsonValue, after: JsonValue): readonly string[] {
  return [...new Set([...Object.keys(Object(after)), ...Object.keys(Object(before))])];
}

function isEqual(before: Value, after: Value): boolean {
  return jsonWithBigints(before) === jsonWithBigints(after);
}

function textOf(value: Value): string | undefined {
  if (value === undefined) return undefined;
  return (typeof value === 'string' ? value : jsonWithBigints(value)).slice(0, maxTextLength);
}

function hidden(value: Value): string | undefined {
  return value === undefined ? undefined : '(not shown)';
}

/** `openai, https://api.openai.com/…` */
function channelText(channel: Value): string | undefined {
  if (channel === undefined) return undefined;
  return [textOf(member(channel, 'dialect')), originText(member(channel, 'baseUrl'))]
    .filter((text) => text !== undefined)
    .join(', ');
}

function originText(url: Value): string | undefined {
  if (url === undefined) return undefined;
  return typeof url === 'string' && URL.canParse(url) ? `${new URL(url).origin}/…` : '(not a URL)';
}
