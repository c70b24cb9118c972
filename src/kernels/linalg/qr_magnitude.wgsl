{#
  Of each column the bits of its largest magnitude, and of each matrix those of all of them: bits [matrix, p.n + 1], which
  is 0 before. A workgroup takes `width` columns and p.chunk rows.

  options:
    threads: number
    width: number
#}
@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let group = group_index(wg, groups);
  let matrix = group / (p.tiles * p.chunks);
  let j = group / p.chunks % p.tiles * {{ width }}u + lid % {{ width }}u;
  if (matrix >= p.count || j >= p.n) { return; }
  let a0 = at_a(coords(matrix)) + j * p.a_column;
  let first = group % p.chunks * p.chunk;
  let end = min(first + p.chunk, p.m);
  var most = 0u;
  for (var i = first + lid / {{ width }}u; i < end; i += {{ threads // width }}u) {
    most = max(most, magnitude_bits(load_a(a0 + i * p.a_row)));
  }
  let bits = p.bits_o + matrix * (p.n + 1u);
  atomicMax(&bits_buf[bits + j], most);
  atomicMax(&bits_buf[bits + p.n], most);
}
