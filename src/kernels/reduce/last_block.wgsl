{#
  Split rows that one dispatch reduces (reduction.h): each workgroup publishes its partial result, `split_words` words
  a row, and the last of a row's workgroups to arrive combines them. Partial results and counts are in sync flags
  (gpu/sync_flags.h).

  options:
    joins: flag
    split_words: 1…4
    at_once: 1…4
    partial_out: flag
    partial_in: flag
#}
{% set block = workgroup // threads_per_row * rows_per_thread %}
{% if joins %}
var<workgroup> is_last: u32;
// The index of word w of split q, of row `slot` of the block.
fn partial_at(block: u32, q: u32, w: u32, slot: u32) -> u32 {
  return p.flags_o + p.blocks + ((block * p.splits + q) * {{ split_words }}u + w) * {{ block }}u + slot;
}
// Publishes a word and returns 0, which depends on the word's being there: WGSL orders two atomics in no other way.
fn publish(at: u32, word: u32) -> u32 { return atomicExchange(&flags_buf[at], word) & p.opaque_zero; }
// True if all other workgroups of the block have arrived. `published`: the results of the thread's calls of publish().
fn arrives_last(block: u32, published: u32, tid: u32) -> bool {
  if (published != 0u) { atomicStore(&flags_buf[p.flags_o + block], published); }   // never happens; orders the atomics
  workgroupBarrier();
  if (tid == 0u) {
    let others = atomicAdd(&flags_buf[p.flags_o + block], 1u) + 1u;
    if (others + 1u == p.splits) { atomicStore(&flags_buf[p.flags_o + block], 0xffffffffu); }
    is_last = u32(others + 1u == p.splits);
  }
  return workgroupUniformLoad(&is_last) != 0u;
}
{% endif %}
{# The head of the entry point, for one split or several. #}
{% macro split_place() %}
  let group = group_index(wg, grid);
  let split = group % p.splits;
  let block = group / p.splits;
{% if joins %}
  if (block >= p.blocks) { return; }   // it would be counted as arrived
{% endif %}
  {{ thread_place("block") }}
{% endmacro %}
{# Publishes the words that `word` gives, a macro of a word's number and of [i] for row i of several; all workgroups of
   the block but the last to arrive return. #}
{% macro publish_split(word) %}
  let slot = {{ row_in_group() }} * {{ rows_per_thread }}u;
  var published = 0u;
  if (live && lane == 0u) {
{% for i in range(rows_per_thread) %}
{% for w in range(split_words) %}
    published |= publish(partial_at(block, split, {{ w }}u, slot + {{ i }}u), {{ word(w, "[" ~ i ~ "]" if rows_per_thread == 4 else "") }});
{% endfor %}
{% endfor %}
  }
  if (!arrives_last(block, published, tid)) { return; }
{% endmacro %}
{# Calls `join`, a macro of a number, for each of the lane's splits, whose words are left0_<number>, … of each row, and
   resets the flags. Several at once, to overlap their memory latency. #}
{% macro join_splits(join) %}
  for (var q = lane; q < p.splits; q += {{ at_once * threads_per_row }}u) {
{% for k in range(at_once) %}
    let q{{ k }} = q + {{ k * threads_per_row }}u;
{% for w in range(split_words) %}
{% for i in range(rows_per_thread) %}
    let word{{ w }}_{{ i }}_{{ k }} = atomicLoad(&flags_buf[partial_at(block, min(q{{ k }}, p.splits - 1u), {{ w }}u, slot + {{ i }}u)]);
{% endfor %}
{% endfor %}
{% endfor %}
{% for k in range(at_once) %}
    if (q{{ k }} < p.splits) {
{% for w in range(split_words) %}
{% set word = "word" ~ w ~ "_" %}
{% if rows_per_thread == 4 %}
      let left{{ w }}_{{ k }} = vec4<u32>({{ word }}0_{{ k }}, {{ word }}1_{{ k }}, {{ word }}2_{{ k }}, {{ word }}3_{{ k }});
{% else %}
      let left{{ w }}_{{ k }} = {{ word }}0_{{ k }};
{% endif %}
{% endfor %}
{{ join(k) }}
    }
{% endfor %}
  }
  for (var q = lane; q < p.splits; q += {{ threads_per_row }}u) {
{% for w in range(split_words) %}
{% for i in range(rows_per_thread) %}
    atomicStore(&flags_buf[partial_at(block, q, {{ w }}u, slot + {{ i }}u)], 0xffffffffu);
{% endfor %}
{% endfor %}
  }
{% endmacro %}
