/** The JSON Schemas of the replies of the admin interface, from their TypeScript types. */
import { join } from 'node:path';
import ts from 'typescript';
import { root } from '../sources.ts';

type Schema = Readonly<Record<string, unknown>>;

/** Numbers that need not be whole: durations that a clock measured, and weights. */
const fractions = /^(?:duration|firstByte\w*|oldest|sum|le|bucket|keyCache)Ms$|^weight$/;
/** Numbers and amounts that may be negative. */
const signed: ReadonlySet<string> = new Set([
  'priority',
  'extraNanos',
  'marginNanos',
  'unloggedNanos',
]);

/** The file reply-schemas.json: a line for each reply. */
export function replySchemas(): string {
  const path = join(root, 'src/admin/http/replies.ts');
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, root);
  const program = ts.createProgram([path], options);
  const checker = program.getTypeChecker();
  const file = program.getSourceFile(path);
  const declared = file?.statements.find(
    (node) => ts.isInterfaceDeclaration(node) && node.name.text === 'Replies',
  );
  if (declared === undefined) throw new Error('There is no interface Replies.');
  const replies = checker.getTypeAtLocation(declared).getProperties();
  const named = new Map(replies.map((reply) => [checker.getTypeOfSymbol(reply), reply.name]));
  const lines = [...named].map(
    ([type, name]) => `"${name}": ${JSON.stringify(writer(checker, named, type)(type, name))}`,
  );
  return `{\n${lines.join(',\n')}\n}\n`;
}

/** Writes the schema of a reply; other replies inside it become references. */
function writer(
  checker: ts.TypeChecker,
  named: ReadonlyMap<ts.Type, string>,
  reply: ts.Type,
): (type: ts.Type, name: string) => Schema {
  const schemaOf = (type: ts.Type, name: string): Schema => {
    const reference = type === reply ? undefined : named.get(type);
    if (reference !== undefined) return { $ref: `#/components/schemas/${reference}` };
    if (type.isUnion()) return unionOf(type, name);
    if (type.flags & ts.TypeFlags.StringLike) return stringOf(type);
    if (type.flags & ts.TypeFlags.BooleanLike) return booleanOf(type);
    if (type.flags & ts.TypeFlags.BigIntLike) return amountOf(name);
    if (type.flags & ts.TypeFlags.NumberLike) return numberOf(name);
    if (type.flags & (ts.TypeFlags.Undefined | ts.TypeFlags.Null)) return { type: 'null' };
    const [item] = checker.isArrayType(type) ? checker.getTypeArguments(typeReference(type)) : [];
    if (item !== undefined) return { type: 'array', items: schemaOf(item, name) };
    const value = type.getStringIndexType();
    if (value !== undefined) return { type: 'object', additionalProperties: schemaOf(value, name) };
    return objectOf(type);
  };
  const objectOf = (type: ts.Type): Schema => {
    const members = checker.getPropertiesOfType(type);
    const properties = members.map((member) => {
      const isOptional = (member.flags & ts.SymbolFlags.Optional) !== 0;
      const full = checker.getTypeOfSymbol(member);
      const schema = schemaOf(isOptional ? checker.getNonNullableType(full) : full, member.name);
      return [member.name, { ...schema, ...descriptionOf(member, checker) }] as const;
    });
    const required = members.filter(({ flags }) => !(flags & ts.SymbolFlags.Optional));
    return {
      type: 'object',
      properties: Object.fromEntries(properties),
      ...(required.length === 0 ? {} : { required: required.map(({ name }) => name) }),
      additionalProperties: false,
    };
  };
  const unionOf = (union: ts.UnionType, name: string): Schema => {
    const isEmpty = (type: ts.Type): boolean => (type.flags & ts.TypeFlags.Undefined) !== 0;
    const full = union.types.some(isEmpty) ? checker.getNonNullableType(union) : union;
    if (full !== union) return nullable(schemaOf(full, name));
    if (union.flags & ts.TypeFlags.Boolean) return { type: 'boolean' };
    // Sorted, because the compiler's order depends on what else it has read.
    const texts = union.types.flatMap((type) => (type.isStringLiteral() ? [type.value] : []));
    if (texts.length === union.types.length) return { type: 'string', enum: texts.sort() };
    const variants = union.types.map((type) => schemaOf(type, name));
    return { oneOf: variants.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) };
  };
  return schemaOf;
}

function nullable(schema: Schema): Schema {
  const isPlain = typeof schema.type === 'string' && schema.enum === undefined;
  if (isPlain) return { ...schema, type: [schema.type, 'null'] };
  return { anyOf: [schema, { type: 'null' }] };
}

function stringOf(type: ts.Type): Schema {
  return type.isStringLiteral() ? { type: 'string', const: type.value } : { type: 'string' };
}

function booleanOf(type: ts.Type): Schema {
  if (type.flags & ts.TypeFlags.Boolean) return { type: 'boolean' };
  return { type: 'boolean', const: 'intrinsicName' in type && type.intrinsicName === 'true' };
}

function amountOf(name: string): Schema {
  return { type: 'string', pattern: signed.has(name) ? '^-?\\d{1,30}$' : '^\\d{1,30}$' };
}

function numberOf(name: string): Schema {
  const type = fractions.test(name) ? 'number' : 'integer';
  return signed.has(name) ? { type } : { type, minimum: 0 };
}

function descriptionOf(member: ts.Symbol, checker: ts.TypeChecker): Schema {
  const text = ts.displayPartsToString(member.getDocumentationComment(checker));
  if (text === '') return {};
  const plain = text.replaceAll(/\{@link (\w+)\}/g, '$1').replaceAll(/\s+/g, ' ');
  return { description: plain.replaceAll(/\bundefined\b/g, 'null') };
}

function isReference(type: ts.Type): type is ts.TypeReference {
  return 'target' in type;
}

function typeReference(type: ts.Type): ts.TypeReference {
  if (!isReference(type)) throw new Error('An array is a reference to Array.');
  return type;
}
