/** The simple commands of a command line, wherever they stand in it. */
import { forEachChild, parse } from "unbash"
import type { Assignment, Command, Redirection, SyntaxNode, Word, WordPart } from "unbash"
import * as CommandOptions from "./commandOptions.js"
import { argumentLists, dynamic, resolve, type Variables } from "./shellWords.js"

/** Where a command reads from or writes to. `targets` are what the word can come to. */
export interface Redirect {
  readonly operator: string
  readonly targets: ReadonlyArray<string>
}

/** A command with its arguments, and what it is fed with. */
export interface Simple {
  /** Lists of arguments, the name first, that it can come to; undefined: too many to follow. */
  readonly lists: ReadonlyArray<ReadonlyArray<string>> | undefined
  readonly redirects: ReadonlyArray<Redirect>
  /** Commands whose output it reads. */
  readonly upstream: ReadonlyArray<Simple>
  /** Texts that it is fed with by the command line itself. */
  readonly inputs: ReadonlyArray<string>
  /** Commands in the substitutions of its words. */
  readonly nested: ReadonlyArray<Simple>
}

/** All that a command line runs. */
export interface Commands {
  readonly simple: ReadonlyArray<Simple>
  /** What the parser did not understand. */
  readonly errors: ReadonlyArray<string>
  /** Texts in which the shell or a program looks for commands although they stand in no place of one. */
  readonly scripts: ReadonlyArray<string>
  /** Whether a function calls itself more than once. */
  readonly forkBomb: boolean
}

interface Context {
  readonly upstream: ReadonlyArray<Simple>
  readonly inputs: ReadonlyArray<string>
}

/** Deeper trees are not walked. */
const maxDepth = 200

/** Of longer scripts the rest is not looked at. */
const maxCommands = 1_000

/** What variables are set to anywhere in the script; loops count as assignments. */
const variablesOf = (root: SyntaxNode): Variables => {
  const found = new Map<string, ReadonlyArray<string>>()
  const add = (name: string, words: ReadonlyArray<Word>) => {
    const values = words.flatMap((word) => resolve(word, found))
    found.set(name, [...new Set([...found.get(name) ?? [], ...values])].slice(0, 8))
  }
  const visit = (node: SyntaxNode, depth: number): void => {
    if (depth > maxDepth) return
    if (node.type === "Assignment") {
      add(node.name, node.value.type === "Word" ? [node.value] : node.value.elements)
    }
    if ((node.type === "For" || node.type === "Select") && node.wordlist !== undefined) {
      add(node.name.value, node.wordlist)
    }
    forEachChild(node, (child) => visit(child, depth + 1))
  }
  visit(root, 0)
  return found
}

const inputsOf = (redirects: ReadonlyArray<Redirection>, variables: Variables): ReadonlyArray<string> =>
  redirects.flatMap((redirect) =>
    redirect.type === "HereDoc"
      ? [redirect.body.text]
      : redirect.type === "HereString" && redirect.target !== undefined
      ? resolve(redirect.target, variables)
      : []
  )

const targetsOf = (redirects: ReadonlyArray<Redirection>, variables: Variables): ReadonlyArray<Redirect> =>
  redirects.flatMap((redirect) =>
    redirect.type === "Redirect" && redirect.target !== undefined
      ? [{ operator: redirect.operator, targets: resolve(redirect.target, variables) }]
      : []
  )

/** Calls of a function in its own body that run next to each other or in the background. */
const bombs = (name: string, body: SyntaxNode): boolean => {
  let calls = 0
  let side = false
  const visit = (node: SyntaxNode, depth: number): void => {
    if (depth > maxDepth) return
    if (node.type === "Command" && node.name?.value === name) calls++
    if (node.type === "Statement" && node.background === true) side = true
    if (node.type === "Pipeline" && node.commands.length > 1) side = true
    forEachChild(node, (child) => visit(child, depth + 1))
  }
  visit(body, 0)
  return calls > 0 && side
}

/** `name=value` among the arguments, as one word. */
const asWord = ({ end, name, pos, text, value }: Assignment): Word => {
  if (value.type === "ArrayValue") return { type: "Word", text, value: text, pos, end }
  const start: WordPart = { type: "Literal", text: `${name}=`, value: `${name}=`, pos, end }
  const rest: ReadonlyArray<WordPart> = value.parts ??
    [{ type: "Literal", text: value.text, value: value.value, pos, end }]
  return { type: "Word", text, value: `${name}=${value.value}`, pos, end, parts: [start, ...rest] }
}

/** Reads a command line. */
export const read = (script: string): Commands => {
  const root = parse(script)
  const variables = variablesOf(root)
  const simple: Array<Simple> = []
  const errors: Array<string> = []
  const scripts: Array<string> = []
  let forkBomb = false
  let depth = 0

  const words = (command: Command): ReadonlyArray<Word> => [
    ...(command.name === undefined ? [] : [command.name]),
    ...command.args.map((arg) => arg.type === "Word" ? arg : asWord(arg))
  ]

  /** Answers the commands that were added. */
  const within = (node: SyntaxNode, context: Context): ReadonlyArray<Simple> => {
    const before = simple.length
    visit(node, context)
    return simple.slice(before)
  }

  const children = (node: SyntaxNode, context: Context): void => forEachChild(node, (child) => visit(child, context))

  const visitCommand = (command: Command, context: Context): void => {
    const before = simple.length
    children(command, { upstream: [], inputs: [] })
    const nested = simple.slice(before)
    simple.push({
      lists: argumentLists(words(command), variables),
      redirects: targetsOf(command.redirects, variables),
      upstream: context.upstream,
      inputs: [...context.inputs, ...inputsOf(command.redirects, variables)],
      nested
    })
  }

  const visit = (node: SyntaxNode, context: Context): void => {
    if (depth >= maxDepth || simple.length >= maxCommands) {
      errors.push(depth >= maxDepth ? "nested too deep" : "too many commands")
      return
    }
    depth++
    visitNode(node, context)
    depth--
  }

  const again = (words: ReadonlyArray<Word>) =>
    scripts.push(...words.flatMap((word) => resolve(word, variables)).flatMap(CommandOptions.expandedAgain))

  const visitNode = (node: SyntaxNode, context: Context): void => {
    switch (node.type) {
      case "Assignment":
        if (node.value.type === "Word" && CommandOptions.isRun(node.name)) {
          scripts.push(...resolve(node.value, variables))
        }
        return children(node, context)
      // As a prompt: what is substituted in the value is run.
      case "ParameterExpansion":
        if (node.operation?.type === "Transform" && node.operation.operand.value === "P") scripts.push(dynamic)
        return children(node, context)
      case "TestUnary":
        if (/^-[vR]$/.test(node.operator)) again([node.operand])
        return children(node, context)
      case "TestBinary":
        if (/^-(?:eq|ne|lt|le|gt|ge)$/.test(node.operator)) again([node.left, node.right])
        return children(node, context)
      case "Script":
        errors.push(...(node.errors ?? []).map(({ message }) => message))
        return children(node, context)
      case "Command":
        return visitCommand(node, context)
      case "Pipeline": {
        let { upstream } = context
        for (const command of node.commands) upstream = [...upstream, ...within(command, { ...context, upstream })]
        return
      }
      case "Redirected": {
        const before = simple.length
        visit(node.command, { ...context, inputs: [...context.inputs, ...inputsOf(node.redirects, variables)] })
        for (const redirect of node.redirects) children(redirect, { upstream: [], inputs: [] })
        simple.push({
          lists: [[]],
          redirects: targetsOf(node.redirects, variables),
          upstream: [],
          inputs: [],
          nested: simple.slice(before)
        })
        return
      }
      case "Function":
        forkBomb ||= bombs(node.name.value, node.body)
        return children(node, context)
      default:
        return children(node, context)
    }
  }

  visit(root, { upstream: [], inputs: [] })
  return { simple, errors, scripts, forkBomb }
}
