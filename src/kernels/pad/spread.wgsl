{#
  Tiles and repeats with contiguous rows, in the order of x: a thread takes `taken` adjacent elements of x, whose `run`
  copies each make 16 bytes, and stores these to all their places: `loops` axes of copies, of which a thread takes a
  part of the first. y is counted in units of 16 bytes.

  options:
    taken: 1, 2, 4, 8, 16
    run: 1, 2, 4, 8, 16
    bits: 8, 16, 32
    mask: number
    loops: 1, 2, number
    workgroup: number
#}
{% set per_word = 32 // bits %}
fn word(i: u32) -> u32 { return x_buf[i >> 2u][i & 3u]; }

@compute @workgroup_size({{ workgroup }})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let i = group_index(wg, n) * {{ workgroup }}u + lane;
  if (i >= p.threads) { return; }
  let chunk = i / p.groups;
  let c = coords(i - chunk * p.groups);
  let source = p.x_o * {{ 4 * per_word }}u + p.x_first + at_x(c);
{% if run == 1 %}
  let v = x_buf[source / {{ 4 * per_word }}u];
{% else %}
{% for w in range(4 // run if run < 4 else 1) %}
  let w{{ w }} = word(source / {{ per_word }}u + {{ w }}u){{ " >> (source % " ~ per_word ~ "u * " ~ bits ~ "u)" if taken < per_word }};
{% endfor %}
{% for l in range(taken * run) %}
{% set e = l // run %}
  let e{{ l }} = {{ "w" ~ e if per_word == 1 else "(w" ~ (e // per_word) ~ " >> " ~ (e % per_word * bits) ~ "u) & " ~ mask ~ "u" }};
{% endfor %}
  let v = vec4<u32>({% for w in range(4) %}{% for k in range(per_word) %}{{ " | " if k }}(e{{ w * per_word + k }} << {{ k * bits }}u){% endfor %}{{ ", " if w < 3 }}{% endfor %});
{% endif %}
  let to = p.y_o + at_y(c);
  for (var q0 = chunk * p.chunk; q0 < min((chunk + 1u) * p.chunk, p.copies0); q0++) {
{% for d in range(1, loops) %}
    for (var q{{ d }} = 0u; q{{ d }} < p.copies{{ d }}; q{{ d }}++) {
{% endfor %}
      y_buf[to{% for d in range(loops) %} + q{{ d }} * p.step{{ d }}{% endfor %}] = v;
{% for d in range(1, loops) %}
    }
{% endfor %}
  }
}
