// What the composer's editor uses of these libraries. `build` makes static/vendor/prosemirror.js of it.
export { baseKeymap, chainCommands, lift, setBlockType, toggleMark, wrapIn } from "prosemirror-commands";
export { dropCursor } from "prosemirror-dropcursor";
export { buildKeymap } from "prosemirror-example-setup";
export { gapCursor } from "prosemirror-gapcursor";
export { closeHistory, history, redo, undo } from "prosemirror-history";
export { InputRule, inputRules, textblockTypeInputRule, wrappingInputRule } from "prosemirror-inputrules";
export { keymap } from "prosemirror-keymap";
export { MarkdownParser, MarkdownSerializer, defaultMarkdownParser, defaultMarkdownSerializer, schema as basicSchema }
  from "prosemirror-markdown";
export { DOMParser, Fragment, Schema, Slice } from "prosemirror-model";
export { liftListItem, sinkListItem, wrapInList } from "prosemirror-schema-list";
export { SearchQuery, findNext, replaceAll, replaceNext, search, setSearchState }
  from "prosemirror-search";
export { EditorState, NodeSelection, Plugin, PluginKey, Selection, TextSelection } from "prosemirror-state";
export { addColumnAfter, addRowAfter, deleteColumn, deleteRow, deleteTable, goToNextCell, isInTable, tableEditing,
  tableNodes } from "prosemirror-tables";
export { Decoration, DecorationSet, EditorView } from "prosemirror-view";
export { default as footnotes } from "markdown-it-footnote";
export { default as MarkdownIt } from "markdown-it";
