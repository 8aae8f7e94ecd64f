/** What every shell reads the same way: the grammar of POSIX, without what bash and its like add to it. */
import { forEachChild, parse } from "unbash"
import type { SyntaxNode } from "unbash"

/** Deeper trees are not walked. */
const maxDepth = 200

const always: ReadonlySet<string> = new Set([
  "Script",
  "Statement",
  "CompoundList",
  "AndOr",
  "Negation",
  "If",
  "Elif",
  "For",
  "While",
  "Subshell",
  "BraceGroup",
  "Case",
  "Redirected",
  "Word",
  "Literal",
  "SingleQuoted",
  "DoubleQuoted",
  "Default",
  "Remove",
  "HereDoc",
  "HereDocDelimiter",
  "HereDocBody",
  "FileDescriptor"
])

/** Sums over plain names and numbers, without what only some shells count. */
const sum = /^\$\(\((?!.*(?:\+\+|--|\*\*))[\w\s+*/%()<>=!&|^~?:-]*\)\)$/s

/** Whether a node by itself, whatever is in it, is of the common grammar. */
const isCommon = (node: SyntaxNode, line: string): boolean => {
  switch (node.type) {
    case "Command": {
      const isEcho = node.name?.value === "echo"
      return !(isEcho && node.args.some((arg) => arg.text.includes("\\")))
    }
    case "Pipeline":
      return node.operators.every((operator) => operator === "|") &&
        node.prefixes.every((prefix) => prefix.type === "Negation")
    case "Function":
      return !line.slice(node.pos).startsWith("function")
    case "CaseItem":
      return node.terminator === undefined || node.terminator === ";;"
    case "Assignment":
      return node.append !== true && node.index === undefined && node.value.type === "Word"
    case "SimpleExpansion":
      return /^\$(?:[A-Za-z_]\w*|[0-9@*#?$!-])$/.test(node.text)
    case "ParameterExpansion":
      return node.prefix !== "!" && node.index === undefined &&
        (node.operation === undefined || node.operation.type === "Default" || node.operation.type === "Remove")
    case "ArithmeticExpansion":
      return sum.test(node.text)
    // Between backquotes, positions are those of another text.
    case "CommandExpansion":
      return node.text.startsWith("$")
    case "Glob":
      return !node.text.startsWith("[^")
    case "Redirect":
      return !node.operator.startsWith("&") &&
        (!/^[<>]&$/.test(node.operator) || /^(?:\d|-)$/.test(node.target?.text ?? "")) &&
        (node.descriptor === undefined || (node.descriptor.type === "FileDescriptor" && node.descriptor.value < 10))
    default:
      return always.has(node.type)
  }
}

/** Whether a script means the same to every shell, as far as its grammar goes. */
export const isPosix = (line: string): boolean => {
  const root = parse(line)
  if (root.errors !== undefined && root.errors.length > 0) return false
  const visit = (node: SyntaxNode, depth: number): boolean => {
    if (depth > maxDepth || !isCommon(node, line)) return false
    let common = true
    if (node.type !== "ArithmeticExpansion") {
      forEachChild(node, (child) => {
        common &&= visit(child, depth + 1)
      })
    }
    return common
  }
  return visit(root, 0)
}
