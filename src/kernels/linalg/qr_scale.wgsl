{#
  The powers of two by which each column of each matrix is scaled, and their inverses, of the bits of qr_magnitude: NaN
  for a matrix that has NaN or an infinity.

  options:
    threads: number
#}
@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let e = group_index(wg, groups) * {{ threads }}u + lid;
  if (e >= p.count * p.n) { return; }
  let matrix = e / p.n * (p.n + 1u);
  let bits = load_bits(matrix + e % p.n);
  let finite = load_bits(matrix + p.n) < kInfinity;
  store_scale(e, select(p.nan, scale_of(bits), finite));
  store_unscale(e, select(p.nan, scale_back(bits), finite));
}
