/** Writes Markdown tables from comments and other texts of the code. */
import ts from 'typescript';
import { parse, readText } from '../sources.ts';

/** A member of an interface, with its comment. */
export interface Described {
  readonly name: string;
  readonly isOptional: boolean;
  readonly text: string;
  /** The text of `@defaultValue`. */
  readonly byDefault: string | undefined;
}

/** A table with a row for each item. */
export function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [columns, columns.map(() => '---'), ...rows];
  return lines.map((cells) => `| ${cells.join(' | ')} |\n`.replaceAll('|  |', '| |')).join('');
}

/** The text on one line; the pages that it names become links for a page in docs. */
export function cell(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .replaceAll('|', '\\|')
    .replaceAll(/\bdocs\/(([\w-]+\.md)(?:#[\w-]+)?)/g, '[$2]($1)');
}

/** The members of an interface, in the order of the file. */
export function membersOf(path: string, name: string): readonly Described[] {
  const found = parse(path, readText(path)).statements.find(
    (statement) => ts.isInterfaceDeclaration(statement) && statement.name.text === name,
  );
  if (found === undefined || !ts.isInterfaceDeclaration(found)) {
    throw new Error(`${path} has no interface ${name}.`);
  }
  return found.members.map(described);
}

function described(member: ts.TypeElement): Described {
  const name = member.name?.getText() ?? '';
  const [comment] = ts.getJSDocCommentsAndTags(member);
  const text = ts.getTextOfJSDocComment(comment?.comment);
  if (text === undefined) throw new Error(`The member ${name} needs a comment.`);
  const tag = ts.getJSDocTags(member).find(({ tagName }) => tagName.text === 'defaultValue');
  const byDefault = ts.getTextOfJSDocComment(tag?.comment);
  return { name, isOptional: member.questionToken !== undefined, text, byDefault };
}
