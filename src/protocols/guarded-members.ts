/**
 * The request members that raise a call's cost or reach beyond it, for all protocols. Members
 * without a row pass, except tools: those that are not known to run at the caller
 * (`guarded-tools.ts`) and have no row are in the row `other_tools`. Paths are written in
 * snake_case and also match camelCase. `tools[]` is every element of the list; wherever a path has
 * an object, one object, a list of them and lists of lists are all visited. `toolTypes` match the
 * beginning of a tool's `type`, whatever its case and separators: `web_search` also matches
 * `webSearch`, `web-search_20250305` and `openrouter:web_search`. Tools are also found in the
 * namespaces, the input items, the messages and the blocks that may hold them. Every top-level path
 * is also checked inside `extra_body`, which some servers merge into the body.
 */
import type { CostMember } from '../money.ts';
import type { ReachMember } from '../ports/models/reach-members.ts';

export type GuardedRow = GuardedPlaces &
  (
    | { readonly row: CostMember; readonly class: 'cost'; readonly raises: string }
    | { readonly row: ReachMember; readonly class: 'reach'; readonly raises: string }
  );

interface GuardedPlaces {
  readonly places?: readonly string[];
  /** Prefixes of a tool's `type`. */
  readonly toolTypes?: readonly string[];
  /** A tool of these types runs at the caller, and costs nothing, if this member says so. */
  readonly unless?: { readonly path: readonly string[]; readonly value: string };
  /** Values without effect, in addition to null, an empty list, object or string. */
  readonly neutral?: readonly (string | number | boolean)[];
  /** A list that has only neutral values is neutral too. */
  readonly isList?: true;
  /** A number of tokens, which is neutral up to the output bound of the call. */
  readonly isTokens?: true;
  /** An object has an effect even if it is empty. */
  readonly isSwitch?: true;
  /** An object of `edits` has no effect if their types all match. */
  readonly neutralEdits?: RegExp;
  /** An object with `mode: "off"` has no effect. */
  readonly hasOffMode?: true;
  /** Only the provider of a relayed call acts on it: a translation leaves it out or refuses it. */
  readonly isRelayedOnly?: true;
  /** Only these values have an effect. */
  readonly effective?: readonly string[];
}

const cost = (row: CostMember, raises: string, places: GuardedPlaces): GuardedRow => ({
  row,
  class: 'cost',
  raises,
  ...places,
});
const reach = (row: ReachMember, raises: string, places: GuardedPlaces): GuardedRow => ({
  row,
  class: 'reach',
  raises,
  ...places,
});

export const modelsRow: GuardedRow = reach('models', 'names other models', { places: ['models'] });

/** Tools that are not known to run at the caller, and have no row of their own. */
export const otherTools: GuardedRow = reach(
  'other_tools',
  'declares a tool that may run at the provider',
  { neutral: [false], isSwitch: true },
);

/** The table. `raises` completes the error message "`service_tier` …". */
export const guardedRows: readonly GuardedRow[] = [
  cost('service_tier', 'selects another price', {
    places: ['service_tier'],
    neutral: ['auto', 'default', 'flex', 'standard', 'standard_only'],
  }),
  cost('speed', 'selects another price', { places: ['speed'], neutral: ['standard', 1] }),
  cost('inference_geo', 'selects another price', {
    places: ['inference_geo'],
    neutral: ['global'],
  }),
  cost('best_of', 'generates more completions than `n`', {
    places: ['best_of', 'num_return_sequences', 'num_generations', 'candidate_count'],
    neutral: [1],
  }),
  cost('web_search', 'searches the web for a fee', {
    places: [
      ...['web_search_options', 'web_search', 'enable_search', 'tools[].google_search'],
      ...['tools[].google_search_retrieval', 'tools[].enterprise_web_search', 'tools[].web_search'],
      ...['tools[].exa_ai_search', 'tools[].parallel_ai_search'],
    ],
    toolTypes: [
      ...['web_search', 'google_search', 'enterprise_web_search', 'exa_ai_search'],
      ...['parallel_ai_search', 'x_search', 'live_search', 'browser_search', 'web_browser'],
    ],
    neutral: [false],
    isSwitch: true,
  }),
  cost('web_search', 'searches the web for a fee', {
    places: ['search_parameters'],
    neutral: [false],
    isSwitch: true,
    // For xAI, whose search has no other way to be off.
    hasOffMode: true,
  }),
  cost('web_fetch', 'fetches pages of unlimited size', {
    places: ['tools[].url_context'],
    toolTypes: ['web_fetch', 'url_context'],
    isSwitch: true,
  }),
  cost('maps', 'queries Google Maps for a fee', {
    places: ['tools[].google_maps', 'tools[].maps'],
    toolTypes: ['google_maps', 'maps'],
    isSwitch: true,
  }),
  cost('code_execution', 'runs code at the provider', {
    places: ['tools[].code_execution'],
    toolTypes: [
      'code_execution',
      'bash_code_execution',
      'text_editor_code_execution',
      'programmatic_tool_calling',
    ],
    isSwitch: true,
  }),
  cost('image_generation', 'generates images in addition to the reply', {
    toolTypes: ['image_generation'],
    isSwitch: true,
  }),
  cost(
    'tool_search',
    'searches for tools at the provider, which runs the model again with what it found',
    {
      toolTypes: ['tool_search'],
      isRelayedOnly: true,
      // A provider searches unless the caller offers to.
      unless: { path: ['execution'], value: 'client' },
    },
  ),
  cost('compaction', 'generates a summary in addition to the reply', {
    places: ['context_management', 'compaction'],
    // Anthropic's other edits shorten the prompt, and coding agents ask for them in every call.
    neutralEdits: /^clear_/,
  }),
  cost('num_images', 'generates more images than `n`', {
    places: [
      ...['num_images', 'number_of_images', 'num_outputs', 'sample_count', 'samples', 'batch_size'],
    ],
    neutral: [1],
  }),
  cost('image_size', 'chooses another image price', {
    places: [
      ...['image_size', 'resolution', 'width', 'height', 'image_config.image_size'],
      ...['generation_config.image_config.image_size'],
    ],
    neutral: ['1K', 'auto'],
  }),
  cost('output_format', 'generates several frames, or a drawing by another model', {
    places: ['output_format'],
    neutral: ['png'],
    // Messages have a member of this name too, which is an object.
    effective: ['gif', 'svg'],
  }),
  cost('complexity', 'plans the image for longer', { places: ['complexity'], neutral: ['low'] }),
  cost('frame_count', 'generates more frames than one', { places: ['frame_count'], neutral: [1] }),
  cost('input_fidelity', 'reads images in more tokens', {
    places: ['input_fidelity'],
    neutral: ['low'],
  }),
  cost('partial_images', 'generates images in addition to the result', {
    places: ['partial_images'],
    neutral: [0],
  }),
  cost('output_modalities', 'generates more than text', {
    places: ['modalities', 'audio', 'response_modalities', 'generation_config.response_modalities'],
    neutral: ['text'],
    isList: true,
  }),
  cost('reasoning_budget', 'requests more reasoning tokens than the output bound', {
    // Gemini's budget is part of `maxOutputTokens`, and costs nothing extra.
    places: ['reasoning.max_tokens', 'thinking.budget_tokens', 'thinking_budget'],
    isTokens: true,
  }),
  cost('reasoning_mode', 'reasons more than once', {
    places: ['reasoning.mode'],
    neutral: ['standard'],
  }),
  reach('fallbacks', 'names other models', {
    places: ['fallbacks', 'fallback_models', 'context_window_fallbacks'],
  }),
  modelsRow,
  reach('svg', 'names the model that draws', { places: ['svg'] }),
  reach('models', 'names other models', {
    places: [
      'generation_config.routing_config.manual_mode',
      'generation_config.routing_config.auto_mode',
    ],
    isSwitch: true,
  }),
  reach('route', 'chooses other models', { places: ['route'] }),
  reach('provider', 'chooses the provider that serves the call', { places: ['provider'] }),
  reach('plugins', 'runs tools at the provider', { places: ['plugins'] }),
  reach('preset', 'names settings of the upstream account', { places: ['preset', 'prompt.id'] }),
  reach('advisor', 'names another model', { toolTypes: ['advisor'], isSwitch: true }),
  reach('file_id', 'names files of the upstream account', {
    places: ['file_id', 'file_ids', 'attachments', 'tools[].input_image_mask.file_id'],
    toolTypes: ['container_upload'],
  }),
  reach('container', 'names a container of the upstream account', { places: ['container'] }),
  reach('thread', 'refers to what the upstream account stores', {
    places: [
      ...['thread', 'thread_id', 'assistant_id', 'conversation'],
      ...['prompt_cache_options.comparison_response_id', 'diagnostics.previous_message_id'],
    ],
  }),
  reach('mcp', 'calls servers that the caller chooses', {
    places: ['mcp_servers', 'mcp', 'tools[].mcp_servers'],
    toolTypes: ['mcp'],
    isSwitch: true,
  }),
  reach('file_search', 'searches files of the upstream account', {
    places: ['data_sources', 'tools[].file_search', 'tools[].retrieval'],
    toolTypes: [
      ...['file_search', 'retrieval', 'collections_search', 'document_library'],
      ...['attachment_search'],
    ],
    isSwitch: true,
  }),
  reach('code_interpreter', 'runs code in containers of the upstream account', {
    places: ['tools[].code_interpreter'],
    toolTypes: ['code_interpreter'],
    isSwitch: true,
  }),
  reach('shell', 'runs commands in containers of the upstream account', {
    // Callers run the commands of `local_shell` and `apply_patch` themselves.
    toolTypes: ['shell'],
    unless: { path: ['environment', 'type'], value: 'local' },
    isSwitch: true,
  }),
  otherTools,
  reach('endpoint', 'names a server or an account of the caller’s choice', {
    places: ['api_base', 'base_url', 'api_key'],
  }),
  reach('billing_policy', 'changes who is billed', {
    places: ['billing_policy', 'fallback_credit_token'],
  }),
];
