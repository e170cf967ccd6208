/** The table of events, from the comments of their types and the levels that the code uses. */
import ts from 'typescript';
import type { EventType } from '../../../src/events/events.ts';
import { levelOf } from '../../../src/events/filter.ts';
import { parse, readText } from '../sources.ts';
import { cell, table } from './table.ts';

/** What operators look up on the page; the members of other events are in the types. */
const withMembers: ReadonlySet<EventType> = new Set([
  'call_refused',
  'attempt_ended',
  'port_failed',
]);

/** The table of docs/events.md, in the order of the types. */
export function eventsTable(): string {
  return table(
    ['event', 'level', 'when, and what to do'],
    eventsIn('src/events/events.ts', 'GatewayEvent').map(({ type, text, members }) => [
      `\`${type}\``,
      levelText(type),
      cell([text, ...(withMembers.has(type) ? members : [])].join(' ')),
    ]),
  );
}

interface DescribedEvent {
  readonly type: EventType;
  readonly text: string;
  readonly members: readonly string[];
}

/** The members of a union of object types, each with the comment before it. */
function eventsIn(path: string, name: string): readonly DescribedEvent[] {
  const file = parse(path, readText(path));
  const union = file.statements.find(
    (statement) => ts.isTypeAliasDeclaration(statement) && statement.name.text === name,
  );
  if (union === undefined || !ts.isTypeAliasDeclaration(union)) throw new Error(`No ${name}.`);
  if (!ts.isUnionTypeNode(union.type)) throw new Error(`${name} is no union.`);
  return union.type.types.flatMap((node) => {
    // What upstreams report about usage has a file of its own.
    if (ts.isTypeReferenceNode(node)) return eventsIn('src/events/usage.ts', node.getText());
    const type = /readonly type: '(\w+)'/.exec(node.getText())?.[1];
    if (!isEvent(type)) throw new Error(`What is this event: ${node.getText()}?`);
    return [{ type, text: commentBefore(file, node), members: membersIn(node) }];
  });
}

function isEvent(type: string | undefined): type is EventType {
  return type !== undefined;
}

/** Members of a union have no documentation in the syntax tree. */
function commentBefore(file: ts.SourceFile, node: ts.Node): string {
  const [comment] = ts.getLeadingCommentRanges(file.text, node.pos) ?? [];
  // The first comment of all is before the bar of the union.
  const before = file.text.slice(0, node.getStart()).replace(/\s*\|?\s*$/, '');
  const range = comment ?? { pos: before.lastIndexOf('/**'), end: before.length };
  const text = file.text.slice(range.pos, range.end);
  if (!text.startsWith('/**')) throw new Error(`An event needs a comment: ${node.getText()}`);
  return text
    .slice(3, -2)
    .replaceAll(/^ *\* ?/gm, '')
    .trim();
}

/** `member`: its comment. Those of an event itself, and of the reference that it is made of. */
function membersIn(node: ts.Node): readonly string[] {
  if (ts.isParenthesizedTypeNode(node)) return membersIn(node.type);
  if (ts.isIntersectionTypeNode(node)) return node.types.flatMap(membersIn);
  const members = ts.isTypeLiteralNode(node) ? node.members : portFailure(node);
  return members.flatMap((member) => {
    const [comment] = ts.getJSDocCommentsAndTags(member);
    const text = ts.getTextOfJSDocComment(comment?.comment);
    return text === undefined ? [] : [`\`${member.name?.getText()}\`: ${text}`];
  });
}

function portFailure(node: ts.Node): readonly ts.TypeElement[] {
  if (node.getText() !== 'PortFailure') return [];
  const path = 'src/ports/port-failure.ts';
  return parse(path, readText(path)).statements.flatMap((statement) =>
    ts.isInterfaceDeclaration(statement) ? [...statement.members] : [],
  );
}

const callerLeft = { reason: 'caller_left', when: 'if the caller has left' };
const exceptions: Partial<
  Record<EventType, { readonly reason?: string; readonly state?: string; readonly when: string }>
> = {
  call_refused: callerLeft,
  part_failed: callerLeft,
  attempt_ended: { reason: 'failed', when: 'after a failure' },
  channel_changed: { state: 'ready', when: 'to `ready`' },
};

/** The level of an event, and that of its exception: warn, info to `ready`. */
function levelText(type: EventType): string {
  const { when, ...head } = exceptions[type] ?? {};
  const usual = levelOf({ type });
  return when === undefined ? usual : `${usual}, ${levelOf({ type, ...head })} ${when}`;
}
