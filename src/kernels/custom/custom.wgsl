{#
  A user's text, followed by the entry point for kernels of one element.

  options:
    text: text
    each: flag
    workgroup: number
#}
{{ text }}
{% if each %}
@compute @workgroup_size({{ workgroup }})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let i = group_index(wg, n) * {{ workgroup }}u + lane;
  if (i < p.threads) { kernel(i); }
}
{% endif %}
