{# Rows in parts that one dispatch reduces and joins (reduction.h): each workgroup leaves what its part of its rows came to,
   `part_words` words a row, and the last of a row's workgroups to do so joins what all have left. All that is left and
   counted lies in words that rest (gpu/resting_words.h). #}
{% set block = workgroup // team * rows_per_team %}
{% if joins %}
var<workgroup> is_last: u32;
// Where word w of part q of a row's is, which is number `slot` of those that workgroups of `block` share.
fn left_at(block: u32, q: u32, w: u32, slot: u32) -> u32 {
  return p.rest_o + p.blocks + ((block * p.parts + q) * {{ part_words }}u + w) * {{ block }}u + slot;
}
// Leaves a word, and returns 0, which is known only when it is there: WGSL has no other order between two atomics.
fn leave(at: u32, word: u32) -> u32 { return atomicExchange(&rest_buf[at], word) & p.nothing; }
// Whether no other workgroup of the block is still to come. `waited`: what the thread's calls of leave() returned.
fn comes_last(block: u32, waited: u32, tid: u32) -> bool {
  if (waited != 0u) { atomicStore(&rest_buf[p.rest_o + block], waited); }   // never
  workgroupBarrier();
  if (tid == 0u) {
    let others = atomicAdd(&rest_buf[p.rest_o + block], 1u) + 1u;
    if (others + 1u == p.parts) { atomicStore(&rest_buf[p.rest_o + block], 0xffffffffu); }
    is_last = u32(others + 1u == p.parts);
  }
  return workgroupUniformLoad(&is_last) != 0u;
}
{% endif %}
{# The entry point's head, in one part or in several. #}
{% macro parts_place() %}
  let group = group_index(wg, grid);
  let part = group % p.parts;
  let block = group / p.parts;
{% if joins %}
  if (block >= p.blocks) { return; }   // others would count it
{% endif %}
  {{ thread_place("block") }}
{% endmacro %}
{# Leaves the words that `word`, a macro of a word's number and of [i] for row i of several, says; then only the last of
   the block's workgroups goes on. #}
{% macro leave_parts(word) %}
  let slot = {{ team_in_group() }} * {{ rows_per_team }}u;
  var waited = 0u;
  if (live && member == 0u) {
{% for i in range(rows_per_team) %}
{% for w in range(part_words) %}
    waited |= leave(left_at(block, part, {{ w }}u, slot + {{ i }}u), {{ word(w, "[" ~ i ~ "]" if rows_per_team == 4 else "") }});
{% endfor %}
{% endfor %}
  }
  if (!comes_last(block, waited, tid)) { return; }
{% endmacro %}
{# Calls `join`, a macro of a number, for each of the member's parts, whose words are left0_<number>, … of each of the
   team's rows; and lays them to rest. Some at once, since each takes as long as a wait for memory. #}
{% macro join_parts(join) %}
  for (var q = member; q < p.parts; q += {{ at_once * team }}u) {
{% for k in range(at_once) %}
    let q{{ k }} = q + {{ k * team }}u;
{% for w in range(part_words) %}
{% for i in range(rows_per_team) %}
    let word{{ w }}_{{ i }}_{{ k }} = atomicLoad(&rest_buf[left_at(block, min(q{{ k }}, p.parts - 1u), {{ w }}u, slot + {{ i }}u)]);
{% endfor %}
{% endfor %}
{% endfor %}
{% for k in range(at_once) %}
    if (q{{ k }} < p.parts) {
{% for w in range(part_words) %}
{% set word = "word" ~ w ~ "_" %}
{% if rows_per_team == 4 %}
      let left{{ w }}_{{ k }} = vec4<u32>({{ word }}0_{{ k }}, {{ word }}1_{{ k }}, {{ word }}2_{{ k }}, {{ word }}3_{{ k }});
{% else %}
      let left{{ w }}_{{ k }} = {{ word }}0_{{ k }};
{% endif %}
{% endfor %}
{{ join(k) }}
    }
{% endfor %}
  }
  for (var q = member; q < p.parts; q += {{ team }}u) {
{% for w in range(part_words) %}
{% for i in range(rows_per_team) %}
    atomicStore(&rest_buf[left_at(block, q, {{ w }}u, slot + {{ i }}u)], 0xffffffffu);
{% endfor %}
{% endfor %}
  }
{% endmacro %}
