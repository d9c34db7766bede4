/**
 * Who changes what in js/: a field that an exported class declares is written in that class alone, and so is the array, map or set that
 * it holds; others call a method. Whoever has them may write into plain data (an interface, a literal), what the browser gives (elements,
 * contexts, ports), numbers in typed arrays, and what a file makes for itself alone (a class that it does not export).
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { afterAll, beforeAll, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const CHANGES = ["push", "pop", "shift", "unshift", "splice", "sort", "reverse", "fill", "set", "add", "delete", "clear"];
const HOLDERS = ["Array", "Map", "Set"];
const SAMPLE = `
export class Lamp {
  lit = false;
  rows: number[] = [];
  constructor(public colour: string) {}
  like(other: Lamp): void { this.lit = other.lit; other.colour = "red"; }
}
class Own { count = 0; }
export function act(lamp: Lamp, own: Own, plain: { lit: boolean }, bytes: Uint8Array): void {
  lamp.lit = plain.lit;
  [lamp.colour] = ["blue"];
  lamp.rows.push(1);
  lamp.rows[0]!++;
  Object.assign(lamp, plain);
  own.count++;
  plain.lit = lamp.lit;
  bytes[0] = lamp.rows.length;
}`;

/** What a node writes to: properties, elements, or an object as a whole. */
function written(node: ts.Node): ts.Expression[] {
  const { FirstAssignment, LastAssignment } = ts.SyntaxKind;
  if (ts.isBinaryExpression(node) && node.operatorToken.kind >= FirstAssignment && node.operatorToken.kind <= LastAssignment) return apart(node.left);
  if (ts.isDeleteExpression(node)) return [node.expression];
  if (ts.isPrefixUnaryExpression(node) || ts.isPostfixUnaryExpression(node)) {
    return [ts.SyntaxKind.PlusPlusToken, ts.SyntaxKind.MinusMinusToken].includes(node.operator as ts.SyntaxKind.PlusPlusToken) ? [node.operand] : [];
  }
  return [];
}

/** The targets of an assignment that takes a value apart. */
function apart(target: ts.Expression): ts.Expression[] {
  if (ts.isParenthesizedExpression(target)) return apart(target.expression);
  if (ts.isArrayLiteralExpression(target)) return target.elements.flatMap(apart);
  if (!ts.isObjectLiteralExpression(target)) return [target];
  return target.properties.flatMap((one) => (ts.isPropertyAssignment(one) ? apart(one.initializer) : ts.isShorthandPropertyAssignment(one) ? [one.name] : []));
}

function classAround(node: ts.Node): ts.ClassLikeDeclaration | undefined {
  return ts.findAncestor(node, ts.isClassLike);
}

/** The writes into fields of another object, as they are written. */
function foreign(file: ts.SourceFile, checker: ts.TypeChecker): string[] {
  const found: string[] = [];
  const isOthers = (owner: ts.ClassLikeDeclaration | undefined, writer: ts.Node) =>
    owner !== undefined && owner !== classAround(writer) && Boolean(ts.getCombinedModifierFlags(owner) & ts.ModifierFlags.Export);
  /** Whether an expression is a field of another object. */
  const isField = (target: ts.Expression): boolean => {
    if (ts.isNonNullExpression(target)) return isField(target.expression);
    if (!ts.isPropertyAccessExpression(target) || target.expression.kind === ts.SyntaxKind.ThisKeyword) return false;
    const declared = checker.getSymbolAtLocation(target.name)?.declarations?.[0];
    return declared !== undefined && !declared.getSourceFile().isDeclarationFile && isOthers(classAround(declared), target);
  };
  const holds = (target: ts.Expression) => HOLDERS.includes(checker.getNonNullableType(checker.getTypeAtLocation(target)).symbol?.name ?? "");
  const look = (node: ts.Node): void => {
    let targets = written(node).flatMap((one) => (ts.isNonNullExpression(one) ? [one.expression] : [one]));
    targets = targets.flatMap((one) => (!ts.isElementAccessExpression(one) ? [one] : holds(one.expression) ? [one.expression] : []));
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
      const { name, expression } = node.expression;
      if (CHANGES.includes(name.text) && holds(expression)) targets.push(expression);
      const [given] = node.arguments;
      const owner = given && node.expression.getText() === "Object.assign" ? checker.getTypeAtLocation(given).symbol?.valueDeclaration : undefined;
      if (owner && ts.isClassLike(owner) && !owner.getSourceFile().isDeclarationFile && isOthers(owner, node)) found.push(node.getText());
    }
    if (targets.some(isField)) found.push(node.getText());
    ts.forEachChild(node, look);
  };
  look(file);
  return found;
}

let folder: string;
let writes: Map<string, string[]>;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "dshq-owners-"));
  const sample = join(folder, "sample.ts");
  writeFileSync(sample, SAMPLE);
  const { options, fileNames } = ts.parseJsonConfigFileContent(ts.readConfigFile(join(ROOT, "tsconfig.json"), ts.sys.readFile).config, ts.sys, ROOT);
  const sources = fileNames.filter((name) => !/[\\/]tests[\\/]/.test(name));
  const program = ts.createProgram([...sources, sample], { ...options, skipLibCheck: true });
  const checker = program.getTypeChecker();
  writes = new Map([sample, ...sources].map((name) => [relative(name === sample ? folder : ROOT, name), foreign(program.getSourceFile(name)!, checker)]));
}, 300_000);
afterAll(() => rmSync(folder, { recursive: true }));

it("a write into a field of another object is seen", () => {
  expect(writes.get("sample.ts")).toEqual([
    "lamp.lit = plain.lit",
    '[lamp.colour] = ["blue"]',
    "lamp.rows.push(1)",
    "lamp.rows[0]!++",
    "Object.assign(lamp, plain)",
  ]);
});

it("no object writes into a field of another one", () => {
  expect(writes.size).toBeGreaterThan(200);
  expect(Object.fromEntries([...writes].filter(([name, found]) => name !== "sample.ts" && found.length > 0))).toEqual({});
});
